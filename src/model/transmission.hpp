// How actuators and tendons act on the joints: lengths and their gradients (moments).
#pragma once

#include <span>
#include <vector>

#include "touchstone/math/spatial.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

// The kinematic quantities a transmission needs, wherever they were computed.
struct KinematicsView {
  const std::vector<Pose>& X_WB;             // nbody
  const std::vector<Motion>& S;              // nv
  const std::vector<Vec3>& reference_point;  // ntree
  std::span<const double> loop_memory;       // nloop: State::loop_q
};

double tendon_length(const Model& model, const Tendon& tendon, const ConstVectorRef& q);

// How far a tendon of this length is beyond the band in which its spring is slack; 0 within it.
double tendon_stretch(const Parameters& parameters, int tendon, double length);

// Whether the length of a transmission tells where it is. That of free joints and of sites without a reference is zero.
bool has_length(const Model& model, const Actuator& actuator);

// Whether an actuator pulls at one joint with one dof.
bool is_on_one_dof(const Model& model, const Actuator& actuator);

// The deepest dof that moves both bodies, -1 if none.
int common_dof(const Model& model, int body_a, int body_b);

// Length of the actuator's transmission and its gradient by the configuration (tangent space, nv entries).
double transmission_length(const Model& model, const KinematicsView& kinematics, const Actuator& actuator,
                           const ConstVectorRef& q, VectorRef moment);

// Adds to tau the generalised force of a wrench on a body: force and torque in world axes, acting at `point` (world).
void add_wrench(const Model& model, const KinematicsView& kinematics, int body, Vec3 point, Vec3 force, Vec3 torque,
                VectorRef tau);

}  // namespace touchstone
