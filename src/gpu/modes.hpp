// What sweeps do not end: Newton's method on the modes of the blocks, in the third tier.
//
// Where contacts jam, sweeps circle around the solution or creep past it, however many there are. Here every block says
// by its exact local solution, the others held, whether it is open, sticks or slides (a limit: free or at its bound).
// With these modes the law is a system of equations that is linear but for the direction in which a contact slides:
//   sticks:  u = 0
//   slides:  u_n = 0,  u_t + a l = 0,  |l| = mu (nu - c . l),  with the multiplier a as one more unknown,
// in the coordinates of the sweeps (l: impulses of the tangents, nu: of the normal row, c: its shear; mu is 1 for
// cones.hpp). One Newton step about the local solution, with a proximal term as contacts may say the same; then a
// sweep, which puts impulses back into their cones and tells the next modes (solvers/newton/mode_newton.hpp, where it
// is from). Cost: (rows + sliding contacts)^3 / 3 a step, by all lanes.
#pragma once

#include "touchstone/gpu/certificate.hpp"
#include "touchstone/gpu/pass_rows.hpp"

namespace touchstone::gpu {

enum BlockMode { kHeldMode, kFreeMode, kSlideMode };  // impulse known; velocity zero; on the border of the cone

constexpr int kModeRounds = 12;            // Newton steps of a call
constexpr double kModeProximal = 1e-9;     // of the diagonal: what rows that say the same are told apart by
constexpr double kModeStays = 1e-9;        // of b: below, the velocity of a tangent is zero
constexpr double kModeLeastPivot = 1e-14;  // of the largest diagonal

// A contact in the coordinates of the sweeps.
template <typename Real>
struct LocalContact {
  int k;  // tangents
  Real mu;
  const Real *diagonal, *shear;
};

template <typename Team, typename Real>
TOUCHSTONE_LANE LocalContact<Real> local_contact(const Scratch<Real>& s, const Block<Real>& block) {
  if constexpr (Team::kGeneral) {
    if (block.type == BlockType::kCone) {
      const Cone<Real>& cone = s.cones[block.side];
      return {cone.rows - 1, Real(1), cone.diagonal, cone.shear};
    }
  }
  return {2, block.friction, block.tangent, block.shear};
}

template <typename Real>
TOUCHSTONE_LANE bool is_contact_block(const Block<Real>& block) {
  return block.type == BlockType::kCoulomb || block.type == BlockType::kCone;
}

// Velocity of a row: Y_r . y + g_r.
template <typename Real>
TOUCHSTONE_LANE Real row_velocity(const ModelView& m, const Scratch<Real>& s, int row) {
  const Real* Y = s.Y + row * s.stride;
  Real sum = s.g[row];
  for (int i = 0; i < m.sizes.nv; ++i) sum += Y[i] * s.y[i];
  return sum;
}

// The mode of a contact, its local solution (l, nu) in f_1, and its multiplier in block.alpha.
template <typename Team, typename Real>
TOUCHSTONE_LANE int contact_mode(const ModelView& m, Scratch<Real>& s, Block<Real>& block) {
  const LocalContact<Real> local = local_contact<Team>(s, block);
  const int k = local.k;
  Real u[kMostTangents + 1], old[kMostTangents + 1], next[kMostTangents + 1];
  Real old_nu = s.lambda[block.row + k];
  for (int r = 0; r <= k; ++r) {
    u[r] = row_velocity(m, s, block.row + r);
    old[r] = s.lambda[block.row + r];
    if (r < k) old_nu += local.shear[r] * old[r];
  }
  if constexpr (Team::kGeneral) {
    if (block.type == BlockType::kCone)
      with_tangents(k, [&](auto t) {
        solve_cone<decltype(t)::value>(block.normal, local.diagonal, local.shear, u, old, old_nu, block.alpha, next);
      });
  }
  if (block.type == BlockType::kCoulomb) solve_contact(block, u, old, old_nu, next);
  if (!(next[k] > Real(0))) return kHeldMode;
  Real nu = next[k], moves = Real(0), scale = Real(0), size = Real(0);
  for (int c = 0; c < k; ++c) {
    const Real b = u[c] - local.diagonal[c] * old[c], left = b + local.diagonal[c] * next[c];
    moves += left * left;
    scale += b * b;
    size += next[c] * next[c];
    nu += local.shear[c] * next[c];
    s.f_1[block.row + c] = next[c];
  }
  s.f_1[block.row + k] = nu;
  return size > Real(0) && moves > Real(kModeStays * kModeStays) * scale ? kSlideMode : kFreeMode;
}

// The mode of a single row, and the impulse that it has if that is known.
template <typename Real>
TOUCHSTONE_LANE int single_mode(const ModelView& m, Scratch<Real>& s, const Block<Real>& block) {
  const Real old = s.lambda[block.row];
  const Real u = row_velocity(m, s, block.row) + block.compliance * old;
  const Real next = block.diagonal > Real(0) ? old - u / block.diagonal : Real(0);
  const bool is_box = block.type == BlockType::kBox;
  const Real lo = is_box ? block.lo : Real(0), hi = is_box ? block.hi : next;
  s.f_1[block.row] = next < lo ? lo : (next > hi ? hi : next);
  return next >= lo && next <= hi && block.diagonal > Real(0) ? kFreeMode : kHeldMode;
}

// Modes in p.asks and places of the unknowns in p.member, block by block. Returns how many unknowns there are.
template <typename Team, typename Real>
TOUCHSTONE_LANE int number_modes(const Team& team, const ModelView& m, Scratch<Real>& s, PassMemory& p) {
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < s.block_count; k += team.size()) {
    Block<Real>& block = s.blocks[k];
    p.asks[k] = is_contact_block(block) ? contact_mode<Team>(m, s, block) : single_mode(m, s, block);
    if (is_contact_block(block) && p.asks[k] == kHeldMode)
      for (int r = 0; r < rows_of<Team>(s, block); ++r) s.f_1[block.row + r] = Real(0);
  }
  team.sync();
  int unknowns = 0;
  TOUCHSTONE_ROLLED
  for (int k = 0; k < s.block_count; ++k) {  // the same in all lanes
    if (team.lane() == 0) p.member[k] = unknowns;
    if (p.asks[k] == kHeldMode) continue;
    unknowns += rows_of<Team>(s, s.blocks[k]) + (p.asks[k] == kSlideMode ? 1 : 0);
  }
  team.sync();
  return unknowns;
}

// Products of the rows of two blocks in the matrix; the right side by the first of them.
template <typename Team, typename Real>
TOUCHSTONE_LANE void fill_products(const ModelView& m, const Scratch<Real>& s, int a, int b, int n, PassMemory& p) {
  if (p.asks[a] == kHeldMode || p.asks[b] == kHeldMode) return;
  const Block<Real>&A = s.blocks[a], &B = s.blocks[b];
  const int rows_a = rows_of<Team>(s, A), rows_b = rows_of<Team>(s, B);
  for (int i = 0; i < rows_a; ++i) {
    const Real* x = s.Y + (A.row + i) * s.stride;
    double* out = p.G + (p.member[a] + i) * n + p.member[b];
    for (int j = 0; j < rows_b; ++j) {
      const Real* y = s.Y + (B.row + j) * s.stride;
      double sum = 0.0;
      for (int c = 0; c < m.sizes.nv; ++c) sum += static_cast<double>(x[c]) * static_cast<double>(y[c]);
      out[j] = sum;
    }
    if (p.asks[b] == kSlideMode) out[rows_b] = 0.0;
  }
  if (p.asks[a] != kSlideMode) return;
  double* cone = p.G + (p.member[a] + rows_a) * n + p.member[b];  // the equation of the cone
  for (int j = 0; j < rows_b + (p.asks[b] == kSlideMode ? 1 : 0); ++j) cone[j] = 0.0;
}

// The rest of the equations of a block: compliance, proximal term, right side; the multiplier and the cone of one that
// slides. The multiplier is measured in what makes its column as large as the others.
template <typename Team, typename Real>
TOUCHSTONE_LANE void fill_own(const ModelView& m, const Scratch<Real>& s, int b, int n, PassMemory& p) {
  const Block<Real>& block = s.blocks[b];
  const int first = p.member[b], rows = rows_of<Team>(s, block), k = rows - 1;
  for (int r = 0; r < rows; ++r) {
    const Real* Y = s.Y + (block.row + r) * s.stride;
    double& own = p.G[(first + r) * n + first + r];
    double right = -static_cast<double>(s.g[block.row + r]);
    for (int i = 0; i < m.sizes.nv; ++i) right -= static_cast<double>(Y[i]) * static_cast<double>(s.y_1[i]);
    const double near = kModeProximal * own;
    own += near + (rows == 1 ? static_cast<double>(block.compliance) : 0.0);
    p.b[first + r] = right + near * static_cast<double>(s.f_1[block.row + r]);
    p.w[first + r] = inverse_root(own);
  }
  if (p.asks[b] != kSlideMode) return;
  const LocalContact<Real> local = local_contact<Team>(s, block);
  const Real* x = s.f_1 + block.row;
  const double a = static_cast<double>(block.alpha), mu = static_cast<double>(local.mu);
  double size = 0.0, scale = 0.0;
  for (int c = 0; c < k; ++c) {
    size += static_cast<double>(x[c] * x[c]);
    scale = most(scale, static_cast<double>(local.diagonal[c]));
  }
  size = sqrt(size);
  double* cone = p.G + (first + rows) * n + first;
  for (int c = 0; c < k; ++c) {
    const double along = static_cast<double>(x[c]) / size;
    p.G[(first + c) * n + first + c] += a;
    p.G[(first + c) * n + first + rows] = scale * along;  // of (a' - a) |l| / scale
    cone[c] = scale * (along + mu * static_cast<double>(local.shear[c]));
  }
  cone[k] = -scale * mu;
  p.b[first + rows] = 0.0;
  p.w[first + rows] = inverse_root(scale);
}

// p.b <- A^-1 p.b by Gauss' elimination with row pivots, A in p.G. False if there is no pivot.
template <typename Team>
TOUCHSTONE_LANE bool eliminate(const Team& team, int n, PassMemory& p) {
  double largest = 0.0;
  for (int k = 0; k < n; ++k) largest = most(largest, fabs(p.G[k * n + k]));
  TOUCHSTONE_ROLLED
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i) pivot = fabs(p.G[i * n + k]) > fabs(p.G[pivot * n + k]) ? i : pivot;
    const double value = p.G[pivot * n + k];
    if (!(fabs(value) > kModeLeastPivot * largest)) return false;
    team.sync();
    TOUCHSTONE_ROLLED
    for (int j = k + team.lane(); pivot != k && j <= n; j += team.size()) {
      double &x = j < n ? p.G[k * n + j] : p.b[k], &y = j < n ? p.G[pivot * n + j] : p.b[pivot];
      const double kept = x;
      x = y;
      y = kept;
    }
    team.sync();
    TOUCHSTONE_ROLLED
    for (int i = k + 1 + team.lane(); i < n; i += team.size()) {
      const double share = p.G[i * n + k] / value;
      if (share == 0.0) continue;
      for (int j = k + 1; j < n; ++j) p.G[i * n + j] -= share * p.G[k * n + j];
      p.b[i] -= share * p.b[k];
    }
    team.sync();
  }
  TOUCHSTONE_ROLLED
  for (int k = n - 1; k >= 0; --k) {
    const double x = p.b[k] / p.G[k * n + k];
    team.sync();
    TOUCHSTONE_ROLLED
    for (int i = team.lane(); i <= k; i += team.size()) p.b[i] = i == k ? x : p.b[i] - p.G[i * n + k] * x;
    team.sync();
  }
  return true;
}

// p.b <- A^-1 p.b with rows and columns measured by p.w: those of rolling have coefficients of 1e-4 m, squared.
template <typename Team>
TOUCHSTONE_LANE bool solve_scaled(const Team& team, int n, PassMemory& p) {
  TOUCHSTONE_ROLLED
  for (int item = team.lane(); item < n * n; item += team.size()) p.G[item] *= p.w[item / n] * p.w[item % n];
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < n; i += team.size()) p.b[i] *= p.w[i];
  team.sync();
  if (!eliminate(team, n, p)) return false;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < n; i += team.size()) p.b[i] *= p.w[i];
  team.sync();
  return true;
}

// Impulses of the blocks from the unknowns.
template <typename Team, typename Real>
TOUCHSTONE_LANE void take_modes(const Team& team, Scratch<Real>& s, const PassMemory& p) {
  TOUCHSTONE_ROLLED
  for (int b = team.lane(); b < s.block_count; b += team.size()) {
    const Block<Real>& block = s.blocks[b];
    const int rows = rows_of<Team>(s, block);
    const bool is_known = p.asks[b] == kHeldMode;
    Real* lambda = s.lambda + block.row;
    for (int r = 0; r < rows; ++r)
      lambda[r] = is_known ? s.f_1[block.row + r] : static_cast<Real>(p.b[p.member[b] + r]);
    if (is_known || !is_contact_block(block)) continue;
    const LocalContact<Real> local = local_contact<Team>(s, block);
    for (int c = 0; c < local.k; ++c) lambda[local.k] -= local.shear[c] * lambda[c];
  }
  team.sync();
}

// One Newton step from the impulses in lambda, whose sum is in y. False if the problem is too large for it, or has no
// solution with these modes: nothing has changed then.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool step_modes(const Team& team, const ModelView& m, Scratch<Real>& s, PassMemory& p) {
  const int n = number_modes(team, m, s, p);
  if (n == 0 || n > pass_dense(m.sizes, s.pool)) return false;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) {
    Real sum = Real(0);
    for (int b = 0; b < s.block_count; ++b) {
      if (p.asks[b] == kHeldMode) sum += s.Y[s.blocks[b].row * s.stride + i] * s.f_1[s.blocks[b].row];
    }
    s.y_1[i] = sum;  // contacts that are held have none
  }
  team.sync();
  TOUCHSTONE_ROLLED
  for (int item = team.lane(); item < s.block_count * s.block_count; item += team.size())
    fill_products<Team>(m, s, item / s.block_count, item % s.block_count, n, p);
  team.sync();
  TOUCHSTONE_ROLLED
  for (int b = team.lane(); b < s.block_count; b += team.size()) {
    if (p.asks[b] != kHeldMode) fill_own<Team>(m, s, b, n, p);
  }
  team.sync();
  if (!solve_scaled(team, n, p)) return false;
  take_modes(team, s, p);
  gather_impulses(team, m, s);
  return true;
}

// Newton steps, each with a sweep after it, until the tolerance holds. The best impulses stay; returns their natv.
// After advance_velocity and certify, which gave `natv`.
template <typename Team, typename Real>
TOUCHSTONE_LANE double follow_modes(const Team& team, const ModelView& m, Scratch<Real>& s, double natv,
                                    double tolerance, PassMemory& p) {
  double best = natv;
  const auto copy = [&](const Real* from, Real* to) {
    TOUCHSTONE_ROLLED
    for (int r = team.lane(); r < s.row_count; r += team.size()) to[r] = from[r];
    team.sync();
  };
  copy(s.lambda, s.start);
  gather_impulses(team, m, s);
  TOUCHSTONE_ROLLED
  for (int round = 0; round < kModeRounds; ++round) {
    if (!step_modes(team, m, s, p)) break;
    sweep(team, m, s);
    advance_velocity(team, m, s);
    const double now = certify(team, m, s);
    if (now < best) {
      best = now;
      copy(s.lambda, s.start);
    }
    if (best <= tolerance) return best;
  }
  copy(s.start, s.lambda);
  advance_velocity(team, m, s);
  return certify(team, m, s);
}

}  // namespace touchstone::gpu
