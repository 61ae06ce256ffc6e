// Passive forces, actuators, applied wrenches, and the free motion that the contact problem starts from.
#pragma once

#include <cstdint>

#include "touchstone/dynamics/data.hpp"

namespace touchstone {

// data.tendon_length and tendon_velocity.
void compute_tendons(const Model& model, const ConstVectorRef& q, const ConstVectorRef& v, Data& data);

// data.passive: joint and tendon springs and dampers, gravity compensation. Needs forward_kinematics and
// compute_tendons.
void compute_passive(const Model& model, const Parameters& parameters, const ConstVectorRef& q, const ConstVectorRef& v,
                     Data& data);

// The part of data.passive that compensates gravity (nv), in scope. False, and nothing of use in `force`, if there is
// none. Needs forward_kinematics.
bool passive_compensation(const Model& model, const Parameters& parameters, const Data& data, VectorRef force);

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

// Where in a step the springs of joints and tendons are taken (compute_free_motion).
enum class SpringRule : std::uint8_t { kEnd, kMiddle };

// Whether forward_kinematics has been made for the state already.
enum class Kinematics : std::uint8_t { kNew, kKnown };

// Everything above in order, for one state: kinematics, M, bias, passive, actuation -> data.smooth_force.
void compute_smooth_force(const Model& model, const Parameters& parameters, const State& state, const Input& input,
                          double h, Data& data, Kinematics kinematics = Kinematics::kNew);

// The same, then a = M^-1 smooth_force (MuJoCo's qacc_smooth). False if M is not positive definite (see factorize).
[[nodiscard]] bool forward_dynamics(const Model& model, const Parameters& parameters, const State& state,
                                    const Input& input, Data& data, VectorRef a);

// The free motion of a step h: the factor of A = M + implicit terms in data.L, and data.v_free. False as above.
//
// Implicit (taken at the end of the step, backward Euler) are springs and dampers of joints and tendons, and servos: an
// actuator whose force falls with length (kp) and velocity (kd) of its transmission. What A has entries for (all that
// acts on one joint, or on a fixed tendon whose joints lie on one path) adds (h kd + h^2 kp) m m' to A, m its moment.
//   A (v_free - v) = h (smooth_force - h K v)         K the stiffness of all implicit springs and servos
// What joins branches or trees cannot be in A, and what is near a force limit (of the actuator, or one that the
// actuators of a joint or tendon share) must not be. With near_limits = kBounded both are left to the contact problem,
// take no part in A and v_free, and the caller adds for each a block of one row (data.servo_block)
//   Box[h lo, h hi],   R = 1/gain,   b = -(h force / gain + m v),
// for tendons an equality with R = 1/tendon_block_gain, b = -h tendon_block_force R. With kExplicit they are constant,
// the clamped force of the start. So are gains of the wrong sign, and actuators with different gears near the limit of
// one tendon.
// Springs at the middle (SpringRule::kMiddle) are for a state whose configuration is that of the step's start moved by
// h v/2: there they are taken where the mean of both velocities would have led. That adds h^2 K/4 to A, takes nothing
// from smooth_force, and loses no energy.
[[nodiscard]] bool compute_free_motion(const Model& model, const Parameters& parameters, const State& state,
                                       const Input& input, double h, Data& data,
                                       ServoMode near_limits = ServoMode::kExplicit,
                                       SpringRule springs = SpringRule::kEnd, Kinematics kinematics = Kinematics::kNew);
// Again with other servo modes, for the same state and forces.
[[nodiscard]] bool repeat_free_motion(const Model& model, const State& state, double h, Data& data);
// Makes implicit servos bounded whose force exceeds its limits if the step ends with v_next. False if there are none.
bool bound_exceeding_servos(const Model& model, const ConstVectorRef& v, const ConstVectorRef& v_next, double h,
                            Data& data);

// The free motion with all forces explicit: the factor of M, and v_free = v + h M^-1 smooth_force. False as above.
[[nodiscard]] bool compute_explicit_motion(const Model& model, const Parameters& parameters, const State& state,
                                           const Input& input, double h, Data& data,
                                           Kinematics kinematics = Kinematics::kNew);
// Then the factor of M - h df/dv in data.damped, with joint dampers alone or also with dampers of tendons and
// actuators: what MuJoCo's Euler and implicitfast integrators advance the velocity with.
[[nodiscard]] bool factorize_damped(const Model& model, const Parameters& parameters, bool joints_alone, double h,
                                    Data& data);

// The factor of M + time^2 K, K the stiffness of springs and servos as far as A can hold it: how bodies give way to a
// displacement that takes so long. Needs compute_free_motion. False if there is none, or M is not positive definite.
[[nodiscard]] bool factorize_stiff(const Model& model, const Parameters& parameters, double time, const Data& data,
                                   TreeFactor& factor);

// What actuators and dampers did in a step of compute_free_motion that ended with the velocity v_next: generalised
// impulses (nv; servos that are blocks are not included, tendons that are blocks if asked for), and the forces of all
// actuators (nu) as applied.
void actuator_impulse(const Model& model, const Data& data, const ConstVectorRef& v, const ConstVectorRef& v_next,
                      double h, VectorRef impulse);
void damper_impulse(const Model& model, const Parameters& parameters, const Data& data, const ConstVectorRef& v_next,
                    double h, VectorRef impulse, bool with_blocks = true);
void applied_actuator_forces(const Model& model, const Data& data, const ConstVectorRef& v,
                             const ConstVectorRef& v_next, double h, VectorRef force);

}  // namespace touchstone
