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

// Turns the rows into the factor. False if a pivot is not positive.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool factorize(const Team& team, const ModelView& m, Scratch<Real>& s) {
  bool ok = true;
  for (int k = m.sizes.nv - 1; k >= 0; --k) {
    double* row = s.L + m.row_start[k];
    const int count = m.row_start[k + 1] - m.row_start[k] - 1;  // ancestors
    const double pivot = row[count];
    ok = ok && pivot > 0.0;
    const double inverse = 1.0 / pivot;
    // An ancestor's row is a prefix of this one: entry (i, j) of the ancestors loses row_i row_j / D.
    TOUCHSTONE_ROLLED
    for (int e = m.update_start[k] + team.lane(); e < m.update_start[k + 1]; e += team.size()) {
      const int pair = m.update_pair[e];
      s.L[m.update_entry[e]] -= row[pair >> 8] * row[pair & 255] * inverse;
    }
    team.sync();
    TOUCHSTONE_ROLLED
    for (int j = team.lane(); j < count; j += team.size()) row[j] *= inverse;
    if (team.lane() == 0) s.D_inverse[k] = inverse, s.D_root[k] = sqrt(inverse);
    team.sync();
  }
  return ok;
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

// x <- L^-1 x. Dofs of one depth do not depend on each other.
template <typename Team, typename Real>
TOUCHSTONE_LANE void other_half_solve(const Team& team, const ModelView& m, const Scratch<Real>& s, double* x) {
  TOUCHSTONE_ROLLED
  for (int depth = 1; depth < m.sizes.depths; ++depth) {
    TOUCHSTONE_ROLLED
    for (int i = m.depth_start[depth] + team.lane(); i < m.depth_start[depth + 1]; i += team.size()) {
      const int k = m.depth_dof[i], start = m.row_start[k];
      double sum = 0.0;
      for (int j = 0; j < depth; ++j) sum += s.L[start + j] * x[m.row_dof[start + j]];
      x[k] -= sum;
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
