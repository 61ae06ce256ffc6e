// What an actuator moves: a joint, or the joints of a fixed tendon. Models with the latter have a GeneralTeam.
#pragma once

#include "touchstone/gpu/world.hpp"

namespace touchstone::gpu {

TOUCHSTONE_LANE bool is_at_tendon(const ModelView& m, int u) {
  return m.sizes.tendon_actuators > 0 && m.actuator_dof[u] < 0;
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

}  // namespace touchstone::gpu
