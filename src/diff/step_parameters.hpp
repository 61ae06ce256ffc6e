// Which parameters a step is differentiated by (Parameters; theta of StepDerivatives). Columns follow in this order.
#pragma once

#include <vector>

#include "touchstone/model/model.hpp"

namespace touchstone {

struct StepParameters {
  bool gravity = false;              // 3 columns
  std::vector<int> inertias;         // bodies, 10 columns each: pi (diff/inertial_parameters.hpp)
  std::vector<int> frictions;        // shapes, 1 column each: sliding friction, where it decides (as the greater one)
  std::vector<int> restitutions;     // shapes, 1 column each: where it decides, as friction
  std::vector<int> stiffnesses;      // shapes, 1 column each: stiffness, or Young's modulus where it is given
  std::vector<int> dissipations;     // shapes, 1 column each: of Hunt and Crossley
  std::vector<int> relaxations;      // shapes, 1 column each: relaxation time of a linear damper
  std::vector<int> gains;            // actuators, 6 columns each: actuator_gain, actuator_bias
  std::vector<int> dampings;         // dofs, 1 column each
  std::vector<int> armatures;        // dofs, 1 column each
  std::vector<int> joint_frictions;  // dofs, 1 column each: dry friction

  int size() const;
  // Columns of materials, from frictions to relaxations.
  int materials() const;
  // Throws Error for numbers that the model does not have.
  void validate(const Model& model) const;
  // theta of these parameters, and parameters with another theta. Throws Error for a mass that is not positive.
  VectorX read(const Parameters& parameters) const;
  void write(const ConstVectorRef& theta, Parameters& parameters) const;
};

}  // namespace touchstone
