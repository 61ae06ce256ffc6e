// Brings violated contacts, limits and loops back after a step: moves the configuration, not the velocity. What it
// solves and why is said in sim/position_pass.hpp; it runs on the worlds that need it, after their state has moved.
#pragma once

#include "touchstone/gpu/pass_solve.hpp"

namespace touchstone::gpu {

// How stiff springs and servos hold a dof.
template <typename Real>
TOUCHSTONE_LANE double dof_stiffness(const ModelView& m, const Scratch<Real>& s, int dof) {
  double k = most(0.0, m.joint_stiffness[m.dof_joint[dof]]);
  for (int i = m.dof_actuator_start[dof]; i < m.dof_actuator_start[dof + 1]; ++i) {
    const int u = m.dof_actuator[i];
    k += m.actuator_gear[u] * m.actuator_gear[u] * s.servo_stiffness[u];
  }
  return k;
}

// The factor of M + T^2 K in the memory of the pass, and a scratch that has it. False if there are no springs or
// servos, or no factor.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool stiffen(const Team& team, const ModelView& m, const Scratch<Real>& s, PassMemory& p,
                             Scratch<Real>& metric) {
  bool any = false;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) any = any || dof_stiffness(m, s, i) > 0.0;
  if constexpr (Team::kGeneral) {
    for (int t = 0; t < m.sizes.tendon_springs; ++t) any = any || tendon_spring(m, s, t).stiffness > 0.0;
    for (int u = 0; m.sizes.tendon_actuators > 0 && u < m.sizes.nu; ++u)
      any = any || (is_at_tendon(m, u) && s.servo_stiffness[u] > 0.0);
  }
  if (!team.any(any)) return false;
  Scratch<Real> stiff = s;
  stiff.L = p.L;
  stiff.D_root = p.D_root;
  stiff.D_inverse = p.D_inverse;
  stiff.subtree = p.subtree;
  TOUCHSTONE_ROLLED
  for (int b = 1 + team.lane(); b < m.sizes.bodies; b += team.size()) {
    double* own = p.subtree + kSubtree * b;
    spatial_inertia(m, b, load_pose(s.X + 12 * b), reference_point(m, s, b), own);
    for (int k = kWrench; k < kSubtree; ++k) own[k] = 0.0;
  }
  team.sync();
  sum_subtrees(team, m, p.subtree);
  compute_mass(team, m, stiff);
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) {
    stiff.L[m.row_start[i + 1] - 1] += kPassStiffTime * kPassStiffTime * dof_stiffness(m, s, i);
    p.z[i] = 0.0;
  }
  team.sync();
  if constexpr (Team::kGeneral) {
    constexpr double kLong = kPassStiffTime * kPassStiffTime;
    for (int t = 0; team.lane() == 0 && t < m.sizes.tendon_springs; ++t)
      add_tendon_gain(m, t, kLong * tendon_spring(m, s, t).stiffness, stiff.L);
    for (int u = 0; team.lane() == 0 && m.sizes.tendon_actuators > 0 && u < m.sizes.nu; ++u) {
      if (is_at_tendon(m, u)) add_pull_gain(m, u, kLong * s.servo_stiffness[u], stiff.L);
    }
    team.sync();
  }
  if (!factorize(team, m, stiff, p.z)) return false;
  metric = stiff;
  return true;
}

// Solves the islands one by one. Returns whether any of them moves.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool solve_islands(const Team& team, const ModelView& m, const Scratch<Real>& s, double time,
                                   PassMemory& p) {
  const int blocks = s.block_count, candidates = blocks + m.sizes.equality_rows;
  bool moved = false;
  TOUCHSTONE_ROLLED
  for (int island = 0; island < m.sizes.bodies; ++island) {
    int n = 0;
    TOUCHSTONE_ROLLED
    for (int c = 0; c < candidates; ++c) {  // the same in all lanes
      if (p.island[c] != island) continue;
      if (team.lane() == 0) p.member[n] = c;
      ++n;
    }
    team.sync();
    if (n == 0) continue;
    const double longest = set_ways(team, m, blocks, time, n, p);
    if (longest == 0.0) continue;
    bool usable = false;
    if (n <= kPassPivotRows) {
      build_dense(team, m, s.stride, n, p);
      usable = pivot(team, n, blocks, longest, p);
    }
    if (!usable) usable = sweep_rows(team, m, s.stride, n, blocks, p);
    if (!usable) {
      TOUCHSTONE_ROLLED
      for (int k = team.lane(); k < n; k += team.size()) p.lambda[p.member[k]] = 0.0;
    }
    team.sync();
    moved = moved || usable;
  }
  return moved;
}

// No dof farther than `reach`, islands as a whole. Returns the largest motion of a dof, m.
template <typename Team>
TOUCHSTONE_LANE double limit_motion(const Team& team, const ModelView& m, double reach, PassMemory& p) {
  const auto island = [&](int dof) { return p.label[m.body_root[m.dof_body[dof]]]; };
  TOUCHSTONE_ROLLED
  for (int b = team.lane(); b < m.sizes.bodies; b += team.size()) {
    double motion = 0.0;
    for (int i = 0; i < m.sizes.nv; ++i) {
      if (island(i) == b) motion = most(motion, fabs(p.z[i]) * m.dof_length[i]);
    }
    p.longest[b] = motion;
  }
  team.sync();
  double farthest = 0.0;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) {
    const double motion = p.longest[island(i)];
    farthest = most(farthest, least(motion, reach));
    if (motion > reach) p.z[i] *= reach / motion;
  }
  farthest = team.max(farthest);
  team.sync();
  return farthest;
}

// After wants_pass: moves world.q. The arrays of the step are those at its start.
template <typename Team, typename Real>
TOUCHSTONE_LANE void recover(const Team& team, const ModelView& m, WorldState& world, Scratch<Real>& s, PassMemory& p) {
  team.sync();  // wants_pass has written since_pass in one lane
  const int nv = m.sizes.nv, candidates = s.block_count + m.sizes.equality_rows;
  const double margin = m.settings.contact_margin, reach = most(*world.reach, 0.5 * margin), time = *world.since_pass;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < nv; i += team.size()) p.velocity[i] = world.v[i];
  team.sync();
  if (team.lane() == 0) *world.reach = 0.0;
  find_asking(team, m, s, p);
  const double longest = choose_rows(team, m, s, p);
  if (longest < 0.0) return;
  // What moves by less than the slop in all rises no farther.
  Scratch<Real> metric = s;
  if (longest > m.settings.slop) stiffen(team, m, s, p, metric);
  make_pass_rows(team, m, metric, p);
  if (!solve_islands(team, m, metric, time, p)) return;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < nv; i += team.size()) {
    double sum = 0.0;
    for (int c = 0; c < candidates; ++c) {
      if (p.island[c] >= 0) sum += p.Y[c * s.stride + i] * p.lambda[c];
    }
    p.z[i] = sum;
  }
  team.sync();
  unwhiten(team, m, metric, p.z);
  const double farthest = limit_motion(team, m, reach, p);
  bool broken = false;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < nv; i += team.size()) broken = broken || !(fabs(p.z[i]) < 1e100);
  if (team.any(broken)) return;
  integrate(team, m, world.q, p.z, 1.0, world.q);
  if (team.lane() != 0) return;
  *world.since_pass = 0.0;
  if (farthest > 0.25 * margin) *world.reach = m.settings.recovery_speed * m.settings.pass_interval;
}

}  // namespace touchstone::gpu
