// The matrix A = M + implicit terms in the sparse rows of a tree, its factor L' D L, and solves with it (Featherstone,
// ch. 6 and 8.5). Row i holds the entries of dof i against its ancestors from the root, the diagonal last.
#pragma once

#include "touchstone/gpu/kinematics.hpp"

namespace touchstone::gpu {

// M with armature, from the inertias of subtrees.
template <typename Team, typename Real>
TOUCHSTONE_LANE void compute_mass(const Team& team, const ModelView& m, Scratch<Real>& s) {
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) {
    const Wrench f = times(s.subtree + kSubtree * m.dof_body[i], load_motion(s.S + 6 * i));
    for (int k = m.row_start[i]; k < m.row_start[i + 1]; ++k) s.L[k] = dot(load_motion(s.S + 6 * m.row_dof[k]), f);
    s.L[m.row_start[i + 1] - 1] += m.dof_armature[i];
  }
  team.sync();
}

// What the dofs first to end, descendants of i, take from an entry of its row: sum U_ki U_kj / D_k with rows U = D L.
// Entry -1: from x.
template <typename Real>
TOUCHSTONE_LANE double taken_from(const ModelView& m, const Scratch<Real>& s, int i, int entry, int first, int end,
                                  const double* x) {
  const int start = m.row_start[i], place = m.row_start[i + 1] - start - 1, other = entry - start;
  double sum = 0.0;
  for (int k = first; k < end; ++k) {
    const int row = m.row_start[k];
    sum += s.L[row + place] * s.D_inverse[k] * (entry < 0 ? x[k] : s.L[row + other]);
  }
  return sum;
}

// Turns the rows into the factor, and x into D^-1/2 L^-T x. False if a pivot is not positive.
//   By depths, from the leaves: a row U = D L follows from those of its descendants, so that a depth waits for the one
//   below it and for nothing else. What free joints take from the whole tree is summed at once, before the first of
//   their dofs is reached.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool factorize(const Team& team, const ModelView& m, Scratch<Real>& s, double* x) {
  bool broken = false;
  TOUCHSTONE_ROLLED
  for (int depth = m.sizes.depths - 1; depth >= 0; --depth) {
    if (depth == kFreeDofs - 1) {
      const int entries = m.sizes.base_entries, all = entries + m.sizes.base_dofs;
      TOUCHSTONE_ROLLED
      for (int e = team.lane(); e < all; e += team.size()) {
        const int i = e < entries ? m.base_entry_dof[e] : m.base_dof[e - entries];
        const int entry = e < entries ? m.base_entry[e] : -1;
        (entry < 0 ? x[i] : s.L[entry]) -= taken_from(m, s, i, entry, m.dof_near_end[i], m.dof_end[i], x);
      }
      team.sync();
    }
    const int first = m.order_start[depth], entries = m.order_start[depth + 1] - first;
    const int first_dof = m.depth_start[depth], all = entries + m.depth_start[depth + 1] - first_dof;
    TOUCHSTONE_ROLLED
    for (int e = team.lane(); e < all; e += team.size()) {
      const int i = e < entries ? m.order_dof[first + e] : m.depth_dof[first_dof + e - entries];
      const int entry = e < entries ? m.order_entry[first + e] : -1;
      double& own = entry < 0 ? x[i] : s.L[entry];
      const double value = own - taken_from(m, s, i, entry, i + 1, m.dof_near_end[i], x);
      own = value;
      if (entry != m.row_start[i + 1] - 1) continue;
      const double root = inverse_root(value);
      broken = broken || !(value > 0.0);
      s.D_root[i] = root;
      s.D_inverse[i] = root * root;
    }
    team.sync();
  }
  TOUCHSTONE_ROLLED
  for (int e = team.lane(); e < m.sizes.mass_entries; e += team.size())
    s.L[m.order_entry[e]] *= s.D_inverse[m.order_dof[e]];
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) x[i] *= s.D_root[i];
  team.sync();
  return !team.any(broken);
}

// x <- L^-T x.
template <typename Team, typename Real>
TOUCHSTONE_LANE void half_solve(const Team& team, const ModelView& m, const Scratch<Real>& s, double* x) {
  for (int k = m.sizes.nv - 1; k > 0; --k) {
    const int start = m.row_start[k], count = m.row_start[k + 1] - start - 1;
    const double own = x[k];
    TOUCHSTONE_ROLLED
    for (int j = team.lane(); j < count; j += team.size()) x[m.row_dof[start + j]] -= s.L[start + j] * own;
    team.sync();
  }
}

// x <- L^-1 x, by depths from the roots: once a depth is done, all dofs below it lose what its dofs take.
template <typename Team, typename Real>
TOUCHSTONE_LANE void other_half_solve(const Team& team, const ModelView& m, const Scratch<Real>& s, double* x) {
  if (m.sizes.nv <= team.size()) {  // a lane a dof, its number in a register
    const int i = team.lane(), start = i < m.sizes.nv ? m.row_start[i] : 0;
    const int above = i < m.sizes.nv ? m.row_start[i + 1] - start - 1 : 0;
    double own = i < m.sizes.nv ? x[i] : 0.0;
    TOUCHSTONE_ROLLED
    for (int depth = 0; depth < m.sizes.depths - 1; ++depth) {
      if (depth < above) own -= s.L[start + depth] * x[m.row_dof[start + depth]];
      if (depth + 1 == above) x[i] = own;
      team.sync();
    }
    return;
  }
  TOUCHSTONE_ROLLED
  for (int depth = 0; depth < m.sizes.depths - 1; ++depth) {
    TOUCHSTONE_ROLLED
    for (int e = m.depth_start[depth + 1] + team.lane(); e < m.sizes.nv; e += team.size()) {
      const int i = m.depth_dof[e], k = m.row_start[i] + depth;
      x[i] -= s.L[k] * x[m.row_dof[k]];
    }
    team.sync();
  }
}

// x <- A^-1 x.
template <typename Team, typename Real>
TOUCHSTONE_LANE void solve(const Team& team, const ModelView& m, const Scratch<Real>& s, double* x) {
  half_solve(team, m, s, x);
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) x[i] *= s.D_inverse[i];
  team.sync();
  other_half_solve(team, m, s, x);
}

// The whitened form D^-1/2 L^-T J' of one row of J, by one lane; nonzero on the paths to two dofs (or -1). `L` and
// `D_half` (D^-1/2) in the numbers of the row.
template <typename Number>
TOUCHSTONE_LANE void whiten_row(const ModelView& m, const Number* L, const Number* D_half, int leaf_a, int leaf_b,
                                Number* x) {
  while (leaf_a >= 0 || leaf_b >= 0) {
    const int k = leaf_a > leaf_b ? leaf_a : leaf_b;
    const int start = m.row_start[k], count = m.row_start[k + 1] - start - 1;
    const Number own = x[k];
    for (int j = 0; j < count; ++j) x[m.row_dof[start + j]] -= L[start + j] * own;
    x[k] = own * D_half[k];
    if (leaf_a == k) leaf_a = m.dof_parent[k];
    if (leaf_b == k) leaf_b = m.dof_parent[k];
  }
}

// The same for a row with entries anywhere.
TOUCHSTONE_LANE void whiten_dense_row(const ModelView& m, const double* L, const double* D_root, double* x) {
  for (int k = m.sizes.nv - 1; k >= 0; --k) {
    const double own = x[k];
    if (own == 0.0) continue;
    const int start = m.row_start[k], count = m.row_start[k + 1] - start - 1;
    for (int j = 0; j < count; ++j) x[m.row_dof[start + j]] -= L[start + j] * own;
    x[k] = own * D_root[k];
  }
}

// z = D^1/2 L v, so that J v = Y z for the whitened rows Y of J.
template <typename Team, typename Real>
TOUCHSTONE_LANE void whiten_velocity(const Team& team, const ModelView& m, const Scratch<Real>& s, const double* v,
                                     double* z) {
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < m.sizes.nv; k += team.size()) {
    const int start = m.row_start[k], count = m.row_start[k + 1] - start - 1;
    double sum = v[k];
    for (int j = 0; j < count; ++j) sum += s.L[start + j] * v[m.row_dof[start + j]];
    z[k] = sum / s.D_root[k];
  }
  team.sync();
}

// x <- L^-1 D^-1/2 x, so that A^-1 J' lambda comes of Y' lambda.
template <typename Team, typename Real>
TOUCHSTONE_LANE void unwhiten(const Team& team, const ModelView& m, const Scratch<Real>& s, double* x) {
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) x[i] *= s.D_root[i];
  team.sync();
  other_half_solve(team, m, s, x);
}

}  // namespace touchstone::gpu
