// What a step does where its loops are, before they are eliminated: coordinates of loop joints, and actuators at them,
// whose moments are known only then. Their servos are blocks, as those that join branches of a tree are.
#pragma once

#include "touchstone/gpu/equalities.hpp"
#include "touchstone/gpu/forces.hpp"

namespace touchstone::gpu {

// Forces of actuators at loop joints; those that are no blocks change the free motion.
template <typename Team, typename Real>
TOUCHSTONE_LANE void drive_loops(const Team& team, const ModelView& m, const WorldState& world, Scratch<Real>& s) {
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < m.sizes.loop_actuators; k += team.size()) {
    const int u = m.loop_actuator[k];
    begin_actuator(m, world, s, false, u, length_of_actuator<Team>(m, s, u), rate_of_actuator<Team>(m, s, u, s.v));
  }
  team.sync();
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) {
    double impulse = 0.0;
    for (int k = 0; k < m.sizes.loop_actuators; ++k) {
      const int u = m.loop_actuator[k];
      if (s.servo_mode[u] == kBoundedServo) continue;
      impulse += m.settings.time_step * s.servo_force[u] * s.J_c[m.actuator_q[u] * m.sizes.nv + i];
    }
    s.work[i] = impulse;
  }
  team.sync();
  half_solve(team, m, s, s.work);
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) s.work[i] *= s.D_root[i];
  team.sync();
  unwhiten(team, m, s, s.work);
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) s.v_free[i] += s.work[i];
  team.sync();
}

// Needs the free motion of the tree; each time that it was computed, once.
template <typename Team, typename Real>
TOUCHSTONE_LANE void begin_loops(const Team& team, const ModelView& m, const WorldState& world, Scratch<Real>& s) {
  if constexpr (Team::kFull) {
    place_coordinates(team, m, world, s);
    if (m.sizes.loop_actuators > 0) drive_loops(team, m, world, s);
  }
  begin_equalities(team, m, world, s);
}

}  // namespace touchstone::gpu
