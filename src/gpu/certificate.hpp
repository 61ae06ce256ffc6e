// The certificate of a step, in double: v' from the impulses by the tree, then natv of every block as contact/certify
// defines it. Nothing of it comes from the sweeps' own rows but the scale d of a block.
#pragma once

#include "touchstone/gpu/sweeps.hpp"

namespace touchstone::gpu {

// tau = J' lambda of contacts and single rows, block by block: the same sums whatever the team.
template <typename Team, typename Real>
TOUCHSTONE_LANE void gather_forces(const Team& team, const ModelView& m, const Scratch<Real>& s, double* tau) {
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) tau[i] = 0.0;
  team.sync();
  TOUCHSTONE_ROLLED
  for (int side = 0; side < 2 * s.block_count; ++side) {
    const Block<Real>& block = s.blocks[side / 2];
    if (block.kind != BlockKind::kContact) continue;
    const Contact& c = s.contacts[block.index];
    const int body = m.shape_body[side % 2 == 0 ? m.pair_a[c.pair] : m.pair_b[c.pair]], last = m.body_last_dof[body];
    if (last < 0) continue;
    const double sign = side % 2 == 0 ? -1.0 : 1.0;
    const ContactWrench impulse = block_wrench<Team>(s, block);
    const Vec f = sign * impulse.force;
    Wrench wrench{cross(c.position - reference_point(m, s, body), f), f};
    if constexpr (Team::kGeneral) wrench.n = wrench.n + sign * impulse.torque;
    TOUCHSTONE_ROLLED
    for (int k = m.row_start[last] + team.lane(); k < m.row_start[last + 1]; k += team.size())
      tau[m.row_dof[k]] += dot(load_motion(s.S + 6 * m.row_dof[k]), wrench);
    team.sync();
  }
  if (team.lane() == 0) {
    TOUCHSTONE_ROLLED
    for (int k = 0; k < s.block_count; ++k) {
      const Block<Real>& block = s.blocks[k];
      const double lambda = static_cast<double>(s.lambda[block.row]);
      for_entries<Team>(m, s, block, [&](int dof, double factor) { tau[dof] += factor * lambda; });
    }
  }
  team.sync();
}

// With equalities: z = D^1/2 L v_free + D^-1/2 L^-T J' lambda, and what holds them, in which v_next is L^-1 D^-1/2 z.
// Leaves the velocities of the free motion along them in along_e, and their impulses in lambda_e.
template <typename Team, typename Real>
TOUCHSTONE_LANE void advance_held(const Team& team, const ModelView& m, Scratch<Real>& s) {
  const int n = m.sizes.equality_rows, nv = m.sizes.nv;
  const bool pushed = s.block_count > 0;
  if (pushed) {
    gather_forces(team, m, s, s.v_next);
    half_solve(team, m, s, s.v_next);
    TOUCHSTONE_ROLLED
    for (int i = team.lane(); i < nv; i += team.size()) s.v_next[i] *= s.D_root[i];
  }
  whiten_velocity(team, m, s, s.v_free, s.work);
  measure_equalities(team, m, s, s.work);
  TOUCHSTONE_ROLLED
  for (int r = team.lane(); r < n; r += team.size())
    s.lambda_e[r] = -s.along_e[r] - (pushed ? along_equality(m, s, r, s.v_next) : 0.0);
  team.sync();
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < nv; i += team.size())
    s.v_next[i] = pushed ? s.v_next[i] + s.work[i] + held_by_equalities(m, s, i) : s.v_base[i];
  team.sync();
  if (pushed) unwhiten(team, m, s, s.v_next);
  finish_equalities(team, m, s);
}

// v_next = v_free + A^-1 J' lambda, equalities held.
template <typename Team, typename Real>
TOUCHSTONE_LANE void advance_velocity(const Team& team, const ModelView& m, Scratch<Real>& s) {
  if (m.sizes.equality_rows > 0) return advance_held(team, m, s);
  const bool pushed = s.block_count > 0;
  if (pushed) {
    gather_forces(team, m, s, s.v_next);
    solve(team, m, s, s.v_next);
  }
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) s.v_next[i] = s.v_free[i] + (pushed ? s.v_next[i] : 0.0);
  team.sync();
}

// |d lambda - P(d lambda - u^)| for the friction cone, u^ = u + (0, 0, mu |u_t|).
TOUCHSTONE_LANE double contact_residual(Vec lambda, Vec u, double mu, double d) {
  const Vec x = d * lambda, shifted{u.x, u.y, u.z + mu * sqrt(u.x * u.x + u.y * u.y)};
  const Vec w = x - shifted;
  const double t = sqrt(w.x * w.x + w.y * w.y);
  Vec projected = w;
  if (mu * t <= -w.z) {
    projected = {0, 0, 0};
  } else if (t > mu * w.z) {
    const double n = (w.z + mu * t) / (1.0 + mu * mu), scale = t > 0.0 ? mu * n / t : 0.0;
    projected = {scale * w.x, scale * w.y, n};
  }
  return length(x - projected);
}

struct BlockResidual {
  double natv, free_speed;
};

template <typename Team, typename Real>
TOUCHSTONE_LANE BlockResidual block_residual(const ModelView& m, const Scratch<Real>& s, const Block<Real>& block) {
  const Real* impulses = s.lambda + block.row;
  const double d = block.scale;
  if constexpr (Team::kGeneral) {
    if (block.type == BlockType::kCone) {
      double free = 0.0;
      const double natv = cone_residual(m, s, block, free);
      return {natv, free};
    }
  }
  if (block.type == BlockType::kCoulomb) {
    const Contact& c = s.contacts[block.index];
    const Vec lambda{static_cast<double>(impulses[0]), static_cast<double>(impulses[1]),
                     static_cast<double>(impulses[2])};
    const Vec bias{0, 0, block.bias};
    const auto rows = [&](Vec v) { return Vec{dot(c.t1, v), dot(c.t2(), v), dot(c.normal, v)} + bias; };
    const Vec u = rows(contact_velocity(m, s, c, s.next_velocity)),
              free = rows(contact_velocity(m, s, c, s.free_velocity));
    return {contact_residual(lambda, u, m.pair_friction[c.pair], d),
            most(fabs(free.x), most(fabs(free.y), fabs(free.z)))};
  }
  const double len = block.length, lambda = static_cast<double>(impulses[0]) / len;
  double u = 0.0, free = 0.0;
  if (block.kind == BlockKind::kContact) {
    const Contact& c = s.contacts[block.index];
    u = dot(c.normal, contact_velocity(m, s, c, s.next_velocity)) + block.bias;
    free = dot(c.normal, contact_velocity(m, s, c, s.free_velocity)) + block.bias;
  } else {
    u = single_velocity<Team>(m, s, block, s.v_next) + static_cast<double>(block.compliance * impulses[0]);
    free = single_velocity<Team>(m, s, block, s.v_free);
  }
  const double scaled = d * len * len, x = scaled * lambda, w = x - len * u;
  double projected = most(w, 0.0);
  if (block.type == BlockType::kBox)
    projected = clamp(w, scaled * static_cast<double>(block.lo) / len, scaled * static_cast<double>(block.hi) / len);
  return {fabs(x - projected), fabs(len * free)};
}

// Of one equality, after measure_equalities.
template <typename Real>
TOUCHSTONE_LANE double equality_residual(const ModelView& m, const Scratch<Real>& s, int e) {
  double sum = 0.0;
  for (int r = m.equality_row[e]; r < m.equality_row[e] + equality_rows(m, e); ++r) {
    const double u = equality_velocity(m, s, r) + m.equality_compliance[r] * s.lambda_e[r];
    sum += m.equality_length[r] * u * m.equality_length[r] * u;
  }
  return sqrt(sum);
}

// The largest natv of all blocks, relative to the free velocities; NaN if anything is. After advance_velocity.
template <typename Team, typename Real>
TOUCHSTONE_LANE double certify(const Team& team, const ModelView& m, Scratch<Real>& s) {
  if (s.contact_count > 0) body_velocities(team, m, s, s.v_next, s.next_velocity);
  double natv = 0.0, free = 0.0;
  const auto raise = [](double& worst, double value) { worst = value <= worst ? worst : value; };
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < s.block_count; k += team.size()) {
    const BlockResidual block = block_residual<Team>(m, s, s.blocks[k]);
    raise(natv, block.natv);
    raise(free, block.free_speed);
  }
  if (m.sizes.equality_rows > 0) {
    TOUCHSTONE_ROLLED
    for (int r = team.lane(); r < m.sizes.equality_rows; r += team.size())
      raise(free, fabs(m.equality_length[r] * equality_velocity(m, s, r)));  // along_e is of the free motion
    team.sync();
    whiten_velocity(team, m, s, s.v_next, s.work);
    measure_equalities(team, m, s, s.work);
    TOUCHSTONE_ROLLED
    for (int e = team.lane(); e < m.sizes.equalities; e += team.size()) raise(natv, equality_residual(m, s, e));
  }
  natv = team.max(natv);
  free = team.max(free);
  return natv / most(free, kGravity * m.settings.time_step);
}

}  // namespace touchstone::gpu
