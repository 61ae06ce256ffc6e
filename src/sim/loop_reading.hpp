// What a loop joint does: its coordinates now, and the forces of the last step.
#pragma once

#include <array>
#include <span>

#include "touchstone/dynamics/data.hpp"
#include "touchstone/model/loop_joint.hpp"
#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone {

struct LoopReading {
  int coordinates = 0;                                  // how many it has
  std::array<double, kMostLoopCoordinates> position{};  // m or rad, angles with their turns
  std::array<double, kMostLoopCoordinates> velocity{};  // m/s or rad/s
  std::array<double, kMostLoopCoordinates>
      force{};                  // N or N m: limits, friction, spring, damper, armature; no actuators
  double position_error = 0.0;  // m: how far the joint is open
  double rotation_error = 0.0;  // rad
  // [force; torque] of the held motions on body b at the origin of frame b, in the axes of frame a: N, N m.
  Vector6 reaction = Vector6::Zero();
};

// Position, velocity and errors where `data` is (forward_kinematics, forward_velocity); `memory`: State::loop_memory().
LoopReading read_loop_joint(const Model& model, const Data& data, std::span<const double> memory, int joint);
// Adds the forces of a step of length h with these impulses; `scene` is where it was assembled.
void add_loop_forces(const ConstraintScene& scene, const Constraints& constraints, const VectorX& lambda, double h,
                     int joint, LoopReading& reading);

}  // namespace touchstone
