// What an actuator moves: a joint, the joints of a fixed tendon, or the coordinates of a loop joint. Models with
// tendons have a GeneralTeam, those with loop joints a FullTeam.
#pragma once

#include "touchstone/gpu/loop_coordinates.hpp"

namespace touchstone::gpu {

TOUCHSTONE_LANE bool is_at_tendon(const ModelView& m, int u) {
  return m.sizes.tendon_actuators > 0 && m.actuator_dof[u] == -1;
}

TOUCHSTONE_LANE bool is_at_loop(const ModelView& m, int u) {
  return m.sizes.loop_actuators > 0 && m.actuator_dof[u] == -2;
}

// Calls use(dof, moment): how fast the length of the transmission changes with the dof.
template <typename Use>
TOUCHSTONE_LANE void for_moments(const ModelView& m, int u, const Use& use) {
  const double gear = m.actuator_gear[u];
  if (!is_at_tendon(m, u)) return use(m.actuator_dof[u], gear);
  for (int k = m.pull_start[u]; k < m.pull_start[u + 1]; ++k) use(m.pull_dof[k], gear * m.pull_coefficient[k]);
}

TOUCHSTONE_LANE double actuator_length(const ModelView& m, int u, const double* q) {
  const double gear = m.actuator_gear[u];
  if (!is_at_tendon(m, u)) return gear * q[m.actuator_q[u]];
  double sum = 0.0;
  for (int k = m.pull_start[u]; k < m.pull_start[u + 1]; ++k) sum += gear * m.pull_coefficient[k] * q[m.pull_q[k]];
  return sum;
}

TOUCHSTONE_LANE double actuator_rate(const ModelView& m, int u, const double* v) {
  double sum = 0.0;
  for_moments(m, u, [&](int dof, double moment) { sum += moment * v[dof]; });
  return sum;
}

// How the rate changes from one velocity to another.
TOUCHSTONE_LANE double change_of_rate(const ModelView& m, int u, const double* from, const double* to) {
  double sum = 0.0;
  for_moments(m, u, [&](int dof, double moment) { sum += moment * (to[dof] - from[dof]); });
  return sum;
}

// --- the same for every actuator of a team ---

template <typename Team, typename Real, typename Use>
TOUCHSTONE_LANE void for_moments_of(const ModelView& m, const Scratch<Real>& s, int u, const Use& use) {
  if constexpr (Team::kFull) {
    if (is_at_loop(m, u)) return for_coordinate(m, s, m.actuator_q[u], use);
  }
  for_moments(m, u, use);
}

template <typename Team, typename Real>
TOUCHSTONE_LANE double length_of_actuator(const ModelView& m, const Scratch<Real>& s, int u) {
  if constexpr (Team::kFull) {
    if (is_at_loop(m, u)) return s.coordinate[m.actuator_q[u]];
  }
  return actuator_length(m, u, s.q);
}

template <typename Team, typename Real>
TOUCHSTONE_LANE double rate_of_actuator(const ModelView& m, const Scratch<Real>& s, int u, const double* v) {
  if constexpr (Team::kFull) {
    if (is_at_loop(m, u)) return coordinate_velocity(m, s, m.actuator_q[u], v);
  }
  return actuator_rate(m, u, v);
}

template <typename Team, typename Real>
TOUCHSTONE_LANE double change_of_actuator_rate(const ModelView& m, const Scratch<Real>& s, int u, const double* from,
                                               const double* to) {
  if constexpr (Team::kFull) {
    if (is_at_loop(m, u))
      return coordinate_velocity(m, s, m.actuator_q[u], to) - coordinate_velocity(m, s, m.actuator_q[u], from);
  }
  return change_of_rate(m, u, from, to);
}

}  // namespace touchstone::gpu
