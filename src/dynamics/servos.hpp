// Actuators whose force falls with length or velocity, as a step sees them: who takes care of their gains (forces.hpp).
// Inside of dynamics/.
#pragma once

#include "touchstone/dynamics/data.hpp"

namespace touchstone {

// Calls use(dof) for the dofs that an actuator moves. Needs compute_actuation.
template <typename Use>
void for_dofs(const Model& model, const Data& data, int actuator, Use use) {
  const int dof = data.actuator_dof[static_cast<std::size_t>(actuator)];
  if (dof >= 0) return use(dof);
  const Actuator& a = model.actuators[static_cast<std::size_t>(actuator)];
  if (a.transmission == TransmissionType::kTendon) {
    for (const Tendon::Term& term : model.tendons[static_cast<std::size_t>(a.target)].terms) {
      use(model.joint_dof[static_cast<std::size_t>(term.joint)]);
    }
  } else {
    for (int i = 0; i < model.nv; ++i) {
      if (data.actuator_moment(i, actuator) != 0.0) use(i);
    }
  }
}

// How fast the force falls with length (kp) and velocity (kd); a force that grows is left explicit.
struct ServoGains {
  double kp = 0.0, kd = 0.0;
};
ServoGains servo_gains(const Model& model, const Parameters& parameters, const Data& data, int actuator);

// Whether A has entries for the products of an actuator's moments.
bool fits_tree(const Model& model, const Data& data, int actuator);

// The limits of one actuator: its own, and those of its joint as if it had that to itself.
Vector2 servo_range(const Model& model, const Data& data, int actuator);
bool is_beyond(double force, const Vector2& range);

// Gains, forces and modes of all actuators at the start of a step.
void begin_servos(const Model& model, const Parameters& parameters, double h, ServoMode near_limits, Data& data);
// data.servo_actuation: forces that are constant in the step, and the part of implicit servos at the velocity of the
// start. What is a block of the contact problem is left to it: data.servo_block.
void sum_servo_actuation(const Model& model, Data& data);
// Adds gain m m', m the moments of an actuator that fits the tree; the second form, those of all implicit servos.
void add_servo_gain(const Model& model, const Data& data, int actuator, double gain, VectorX& rows);
void add_servo_gains(const Model& model, const Data& data, VectorX& rows);

}  // namespace touchstone
