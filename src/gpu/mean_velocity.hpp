// What loops take of the midpoint rule, for a FullTeam: they hold for the mean of two velocities, J(q_m) (v + v')/2 =
// 0, and the bias is that of this mean, found by solving again (sim/integrators/moreau_midpoint.cpp). The old velocity
// loses a share of what alternates in the last four (sim/integrators/loop_velocity.hpp).
#pragma once

#include "touchstone/gpu/forces.hpp"

namespace touchstone::gpu {

constexpr int kMeanRounds = 6;                           // solves after the first one
constexpr double kMeanSettled = 1e-9;                    // of the largest velocity
constexpr double kAlternationShare = 0.25;               // that a step takes away
constexpr double kFastest = 1e300, kNoVelocity = 1e305;  // what is not below the first, NaN included, is no velocity

// Whether the velocity is what the step before has left: then loops hold for a mean, else for the next velocity alone.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool begin_mean(const Team& team, const ModelView& m, const WorldState& world, Scratch<Real>& s) {
  const int nv = m.sizes.nv;
  if (m.sizes.old_velocity == 0) return false;
  bool differs = false, is_short = false;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < nv; i += team.size()) {
    differs = differs || !(world.old_velocity[i] == world.v[i]);
    for (int k = 1; k < 4; ++k) is_short = is_short || !(fabs(world.old_velocity[k * nv + i]) < kFastest);
  }
  const bool follows = !team.any(differs), damps = !team.any(is_short);
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < nv; i += team.size()) {
    const double* old = world.old_velocity + i;
    s.mean_velocity[i] = world.v[i];
    s.held_velocity[i] = follows ? world.v[i] : 0.0;
    if (follows && damps)
      s.held_velocity[i] -= kAlternationShare / 8.0 * (old[0] - old[3 * nv] + 3.0 * (old[2 * nv] - old[nv]));
  }
  team.sync();
  return follows;
}

// Takes the mean of both velocities. False where it is that of the solve before.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool mean_moves(const Team& team, const ModelView& m, Scratch<Real>& s) {
  double size = 0.0, change = 0.0;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) {
    const double mean = 0.5 * (s.v[i] + s.v_next[i]);
    size = most(size, fabs(mean));
    change = most(change, fabs(mean - s.mean_velocity[i]));
    s.mean_velocity[i] = mean;
  }
  size = team.max(size);
  change = team.max(change);
  team.sync();
  return change > kMeanSettled * size && change < kFastest;
}

// The free motion again with the bias of the mean velocity; velocities of bodies, which rows read, stay those of the
// start. The spin of free bodies is in that bias. False if there is no factor.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool take_bias_at_mean(const Team& team, const ModelView& m, const WorldState& world,
                                       Scratch<Real>& s) {
  double* const start = s.v;
  s.v = s.mean_velocity;
  TOUCHSTONE_ROLLED
  for (int b = 1 + team.lane(); b < m.sizes.bodies; b += team.size()) move_body(m, s, b);
  team.sync();
  compute_bias(team, m, s);
  s.v = start;
  body_velocities(team, m, s, s.v, s.velocity);
  begin_forces(team, m, world, s, true);
  compute_mass(team, m, s);
  if (!compute_free_motion(team, m, s)) return false;
  if (m.sizes.equality_rows == 0) body_velocities(team, m, s, s.v_free, s.free_velocity);
  return true;
}

// Puts the new velocity before the older ones of the same motion.
template <typename Team>
TOUCHSTONE_LANE void leave_velocity(const Team& team, const ModelView& m, WorldState& world, bool follows) {
  const int nv = m.sizes.nv;
  if (m.sizes.old_velocity == 0) return;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < nv; i += team.size()) {
    double* old = world.old_velocity + i;
    for (int k = 3; k > 0; --k) old[k * nv] = follows ? old[(k - 1) * nv] : kNoVelocity;
    old[0] = world.v[i];
  }
  team.sync();
}

}  // namespace touchstone::gpu
