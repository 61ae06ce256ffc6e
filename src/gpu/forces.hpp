// Forces of joints and actuators, and the free motion of a step: dynamics/free_motion.cpp for models whose actuators
// act at hinges, slides, screws and fixed tendons. Springs, dampers and servos are implicit (dynamics/forces.hpp
// derives the terms).
#pragma once

#include "touchstone/gpu/tendons.hpp"

namespace touchstone::gpu {

enum ServoMode { kExplicitServo, kImplicitServo, kBoundedServo };

// The part of the limits' half width within which a force is not expected to reach them in the next step.
constexpr double kFarFromLimits = 0.9;
constexpr double kShortestFilter = 1e-15;  // s: a filter without a time constant follows at once

TOUCHSTONE_LANE bool is_near_limits(double force, const double* range) {
  return fabs(force - 0.5 * (range[0] + range[1])) > kFarFromLimits * 0.5 * (range[1] - range[0]);
}

TOUCHSTONE_LANE bool is_beyond_limits(double force, const double* range) {
  constexpr double kSlack = 1e-9;  // rounding is no reason to repeat a step
  const double slack = kSlack * (1.0 + most(fabs(range[0]), fabs(range[1])));
  return force < range[0] - slack || force > range[1] + slack;
}

TOUCHSTONE_LANE double next_activation(const ModelView& m, int u, double activation, double rate) {
  const double h = m.settings.time_step, tau = most(m.actuator_time_constant[u], kShortestFilter);
  double next = activation + h * rate;
  if (m.actuator_dynamics[u] == kExactFilterActivation) next = activation - rate * tau * expm1(-h / tau);
  const double* range = m.actuator_activation_range + 2 * u;
  return (m.actuator_flags[u] & kActivationLimited) != 0 ? clamp(next, range[0], range[1]) : next;
}

// What the force follows, and the activation at the end of the step.
template <typename Real>
TOUCHSTONE_LANE double actuator_signal(const ModelView& m, const WorldState& world, Scratch<Real>& s, int u) {
  const int flags = m.actuator_flags[u], k = m.actuator_activation[u];
  double signal = world.control[u];
  const double* range = m.actuator_control_range + 2 * u;
  if ((flags & kControlLimited) != 0 && m.settings.clamp_controls != 0) signal = clamp(signal, range[0], range[1]);
  if (k < 0) return signal;
  const double now = world.activation[k];
  const double rate = m.actuator_dynamics[u] == kIntegratorActivation
                          ? signal
                          : (signal - now) / most(m.actuator_time_constant[u], kShortestFilter);
  s.activation[k] = next_activation(m, u, now, rate);
  return (flags & kEarlyActivation) != 0 ? s.activation[k] : now;
}

// Mode, force and gain of an actuator: force at the start of the step for explicit ones, else with the velocity of the
// start and the position a step ahead. `position` and `rate` are those of its transmission.
template <typename Real>
TOUCHSTONE_LANE void begin_actuator(const ModelView& m, const WorldState& world, Scratch<Real>& s, bool again, int u,
                                    double position, double rate) {
  const bool was_bounded = again && s.servo_mode[u] == kBoundedServo;
  const int flags = m.actuator_flags[u];
  const double h = m.settings.time_step, gear = m.actuator_gear[u];
  const double signal = actuator_signal(m, world, s, u);
  const double *gain = m.actuator_gain + 3 * u, *bias = m.actuator_bias + 3 * u;
  double law = gain[0] * signal, kp = 0.0, kd = 0.0;
  if ((flags & kAffineGain) != 0) {
    law += (gain[1] * position + gain[2] * rate) * signal;
    kp -= gain[1] * signal;
    kd -= gain[2] * signal;
  }
  if ((flags & kAffineBias) != 0) {
    law += bias[0] + bias[1] * position + bias[2] * rate;
    kp -= bias[1];
    kd -= bias[2];
  }
  kp = most(kp, 0.0);
  kd = most(kd, 0.0);
  const bool is_limited = (flags & kForceLimited) != 0, fits_tree = (flags & kJoinsBranches) == 0;
  const double* range = m.actuator_force_range + 2 * u;
  const double implicit = h * kd + h * h * kp;
  s.servo_gain[u] = 0.0;
  if (m.settings.pass_interval > 0.0)
    s.servo_stiffness[u] = !fits_tree || (is_limited && is_beyond_limits(law, range)) ? 0.0 : kp;
  s.servo_force[u] = is_limited ? clamp(law, range[0], range[1]) : law;
  s.servo_mode[u] = kExplicitServo;
  if (implicit == 0.0 || gear == 0.0) return;
  const bool is_bounded = !fits_tree || (is_limited && (was_bounded || is_near_limits(law, range)));
  s.servo_mode[u] = is_bounded ? kBoundedServo : kImplicitServo;
  s.servo_gain[u] = implicit;
  s.servo_force[u] = law - h * kp * rate;
}

template <typename Real>
TOUCHSTONE_LANE void add_spring(const ModelView& m, Scratch<Real>& s, int j) {
  const double k = m.joint_stiffness[j], h = m.settings.time_step;
  if (k == 0.0) return;
  int i = m.joint_q[j], dof = m.joint_dof[j];
  const int type = m.joint_type[j];
  if (type == kFreeJoint) {
    for (int c = 0; c < 3; ++c) s.tau[dof + c] -= k * (s.q[i + c] - m.spring_reference[i + c] + h * s.v[dof + c]);
    i += 3;
    dof += 3;
  }
  if (type == kFreeJoint || type == kBallJoint) {
    const Quaternion rest = unit(load_quaternion(m.spring_reference + i)), now = unit(load_quaternion(s.q + i));
    const Vec turn = logarithm(Quaternion{rest.w, -rest.v} * now);
    for (int c = 0; c < 3; ++c) s.tau[dof + c] -= k * (entry(turn, c) + h * s.v[dof + c]);
  } else {
    s.tau[dof] -= k * (s.q[i] - m.spring_reference[i] + h * s.v[dof]);
  }
}

// Everything but the servos: tau = passive + applied - bias.
template <typename Team, typename Real>
TOUCHSTONE_LANE void begin_forces(const Team& team, const ModelView& m, const WorldState& world, Scratch<Real>& s,
                                  bool again) {
  TOUCHSTONE_ROLLED
  for (int u = team.lane(); u < m.sizes.nu; u += team.size()) {
    if constexpr (Team::kFull) {
      if (is_at_loop(m, u)) continue;  // drive_loops
    }
    begin_actuator(m, world, s, again, u, actuator_length(m, u, s.q), actuator_rate(m, u, s.v));
  }
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size())
    s.tau[i] += world.applied_force[i] - m.dof_damping[i] * s.v[i];
  team.sync();
  TOUCHSTONE_ROLLED
  for (int j = team.lane(); j < m.sizes.joints; j += team.size()) add_spring(m, s, j);
  team.sync();
  if constexpr (Team::kGeneral) {
    if (team.lane() == 0) add_tendon_forces(m, s);
    team.sync();
  }
}

// Force and gain of the actuators at a dof; bounded servos are blocks of the contact problem.
template <typename Real>
TOUCHSTONE_LANE void add_actuators(const ModelView& m, const Scratch<Real>& s, int dof, double& force, double& gain) {
  for (int k = m.dof_actuator_start[dof]; k < m.dof_actuator_start[dof + 1]; ++k) {
    const int u = m.dof_actuator[k];
    const double gear = m.actuator_gear[u];
    if (s.servo_mode[u] == kBoundedServo) continue;
    force += gear * s.servo_force[u];
    if (s.servo_mode[u] == kImplicitServo) gain += gear * gear * s.servo_gain[u];
  }
}

// The same for actuators at tendons, by one lane: h times their forces, and their gains in L.
template <typename Real>
TOUCHSTONE_LANE void add_pulls(const ModelView& m, Scratch<Real>& s) {
  for (int u = 0; u < m.sizes.nu; ++u) {
    if (!is_at_tendon(m, u) || s.servo_mode[u] == kBoundedServo) continue;
    const double impulse = m.settings.time_step * s.servo_force[u];
    for_moments(m, u, [&](int dof, double moment) { s.v_free[dof] += moment * impulse; });
    if (s.servo_mode[u] == kImplicitServo) add_pull_gain(m, u, s.servo_gain[u], s.L);
  }
}

// The factor of A and v_free. Needs the mass matrix in L. False if A is not positive definite.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool compute_free_motion(const Team& team, const ModelView& m, Scratch<Real>& s) {
  const double h = m.settings.time_step;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) {
    double force = s.tau[i], gain = h * m.dof_damping[i] + h * h * m.joint_stiffness[m.dof_joint[i]];
    add_actuators(m, s, i, force, gain);
    s.L[m.row_start[i + 1] - 1] += gain;
    s.v_free[i] = h * force;
  }
  team.sync();
  if constexpr (Team::kGeneral) {
    if (team.lane() == 0) {
      add_tendon_gains(m, s);
      if (m.sizes.tendon_actuators > 0) add_pulls(m, s);
    }
    team.sync();
  }
  const bool ok = factorize(team, m, s, s.v_free);
  unwhiten(team, m, s, s.v_free);
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) s.v_free[i] += s.v[i];
  team.sync();
  return ok;
}

// Whether servos that were taken for free of limits end the step beyond them; those are bounded from here on.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool bound_exceeding_servos(const Team& team, const ModelView& m, Scratch<Real>& s) {
  bool exceeds = false;
  TOUCHSTONE_ROLLED
  for (int u = team.lane(); u < m.sizes.nu; u += team.size()) {
    if (s.servo_mode[u] != kImplicitServo || (m.actuator_flags[u] & kForceLimited) == 0) continue;
    const double change = change_of_rate(m, u, s.v, s.v_next);
    const double force = s.servo_force[u] - s.servo_gain[u] / m.settings.time_step * change;
    if (!is_beyond_limits(force, m.actuator_force_range + 2 * u)) continue;
    s.servo_mode[u] = kBoundedServo;
    exceeds = true;
  }
  team.sync();
  return team.any(exceeds);
}

}  // namespace touchstone::gpu
