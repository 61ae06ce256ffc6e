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

// The part of data.passive that compensates gravity (nv). Needs forward_kinematics.
void passive_compensation(const Model& model, const Parameters& parameters, const Data& data, VectorRef force);

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

// Everything above in order, for one state: kinematics, M, bias, passive, actuation -> data.smooth_force.
void compute_smooth_force(const Model& model, const Parameters& parameters, const State& state, const Input& input,
                          double h, Data& data);

// The same, then a = M^-1 smooth_force (MuJoCo's qacc_smooth). False if M is not positive definite (see factorize).
[[nodiscard]] bool forward_dynamics(const Model& model, const Parameters& parameters, const State& state,
                                    const Input& input, Data& data, VectorRef a);

// The free motion of a step h: the factor of A = M + implicit terms in data.L, and data.v_free. False as above.
//
// Implicit (taken at the end of the step, backward Euler) are springs and dampers of joints, springs, dampers and
// servos on fixed tendons whose joints lie on one path, and servos on joints: an actuator whose force falls with
// length (kp) and velocity (kd) of its transmission adds (h kd + h^2 kp) m m' to A, m its moment. All other forces are
// those of the start.
//   A (v_free - v) = h (smooth_force - h K v)         K the stiffness of all implicit springs and servos
// A servo whose force at the end of the free motion would be beyond its limit (of the actuator or of the joint) pushes
// with the limit instead, and its gains leave A; which ones do is found by repeating the solution until nothing
// changes, at most kServoRounds times. Contacts do not take part in that decision: a servo that a contact drives into
// its limit within one step exceeds it in this step.
[[nodiscard]] bool compute_free_motion(const Model& model, const Parameters& parameters, const State& state,
                                       const Input& input, double h, Data& data);
constexpr int kServoRounds = 6;

// What actuators and dampers did in a step of compute_free_motion that ended with the velocity v_next: generalised
// impulses (nv), and the forces of the actuators (nu) as applied.
void actuator_impulse(const Model& model, const Data& data, const ConstVectorRef& v, const ConstVectorRef& v_next,
                      double h, VectorRef impulse);
void damper_impulse(const Model& model, const Parameters& parameters, const Data& data, const ConstVectorRef& v_next,
                    double h, VectorRef impulse);
void applied_actuator_forces(const Model& model, const Data& data, const ConstVectorRef& v,
                             const ConstVectorRef& v_next, double h, VectorRef force);

}  // namespace touchstone
