// The numbers one may vary per world, while running, or differentiate by. Every dynamics call takes
// (model, parameters, state); Model::defaults holds the values of the file.
#pragma once

#include <array>
#include <vector>

#include "touchstone/math/spatial.hpp"
#include "touchstone/model/elements.hpp"

namespace touchstone {

struct Parameters {
  Vector3 gravity{0.0, 0.0, -9.81};                  // m/s^2
  std::vector<BodyInertia> body_inertia;             // nbody
  VectorX body_gravity_compensation;                 // nbody
  VectorX joint_stiffness;                           // njoint
  VectorX spring_reference;                          // nq: rest configuration of the joint springs
  VectorX dof_armature;                              // nv
  VectorX dof_damping;                               // nv
  VectorX dof_friction;                              // nv
  VectorX tendon_stiffness;                          // ntendon
  VectorX tendon_damping;                            // ntendon
  VectorX tendon_armature;                           // ntendon
  VectorX tendon_friction;                           // ntendon
  std::vector<Vector2> tendon_spring_length;         // ntendon: dead band
  std::vector<std::array<double, 3>> actuator_gain;  // nu
  std::vector<std::array<double, 3>> actuator_bias;  // nu
  std::vector<Material> shape_material;              // nshape
  std::vector<Vector6> shape_surface_velocity;       // nshape: ShapeElement::surface_velocity

  double mass(int body) const { return body_inertia[body].mass; }
  MassProperties mass_properties(int body) const;
  void set_mass_properties(int body, const MassProperties& properties);
};

}  // namespace touchstone
