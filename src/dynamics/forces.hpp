// Passive forces, actuators, applied wrenches, and the free motion that the contact problem starts from.
#pragma once

#include "touchstone/dynamics/data.hpp"

namespace touchstone {

// data.tendon_length and tendon_velocity.
void compute_tendons(const Model& model, const ConstVectorRef& q, const ConstVectorRef& v, Data& data);

// data.passive: joint and tendon springs and dampers, gravity compensation. Needs forward_kinematics and
// compute_tendons.
void compute_passive(const Model& model, const Parameters& parameters, const ConstVectorRef& q, const ConstVectorRef& v,
                     Data& data);

// data.actuator_length, _velocity, _moment, _force, activation_rate and actuation. Needs forward_kinematics,
// compute_tendons and, with gravity compensation by actuators, compute_passive. The step h matters only to actuators
// that use their activation at the end of the step.
void compute_actuation(const Model& model, const Parameters& parameters, const State& state, const Input& input,
                       double h, Data& data);

// Adds the generalised force of the wrenches [force; torque] at the bodies' centres of mass. Needs forward_kinematics.
void add_applied_wrenches(const Model& model, const Parameters& parameters, const std::vector<Vector6>& wrenches,
                          const Data& data, VectorRef tau);

// The activation after a step h with the given rate, within its range.
double next_activation(const Actuator& actuator, double activation, double rate, double h);

// Everything above in order, for one state: kinematics, M, bias, passive, actuation -> data.smooth_force; then
// a = M^-1 smooth_force (MuJoCo's qacc_smooth). False if M is not positive definite (see factorize).
[[nodiscard]] bool forward_dynamics(const Model& model, const Parameters& parameters, const State& state,
                                    const Input& input, Data& data, VectorRef a);

// The factor of A = M + h D + h^2 K (M with armature; joint damping D and springs K implicit) in data.L, and
// data.v_free = v + h A^-1 (smooth_force - h K v). False as above.
[[nodiscard]] bool compute_free_motion(const Model& model, const Parameters& parameters, const State& state,
                                       const Input& input, double h, Data& data);

}  // namespace touchstone
