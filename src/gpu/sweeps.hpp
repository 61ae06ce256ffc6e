// Accelerated Gauss-Seidel on the contact problem.
//
// Problem: every block with u = Y (Y' lambda) + g + R lambda obeys its law: Signorini and Coulomb exactly, limits,
// boxes. Method: sweeps over the blocks, each solved exactly with the others held. Y' lambda is kept, so that G is
// never made.
//   A contact has a diagonal matrix (rows.hpp); where it slides, the multiplier of the cone is the root of an
//   increasing function of one variable (as solvers/gauss_seidel/local_contact.cpp finds it). The map of a sweep is
//   accelerated by Anderson's mixing of the last three (Walker, Ni, "Anderson Acceleration for Fixed-Point Iterations",
//   SIAM J. Numer. Anal. 49, 2011), in the metric of the blocks' diagonals, and started anew when it does worse than
//   before.
// Cost: a sweep is 6 nv operations a row. All lanes take part in every product; each does the same local solve.
#pragma once

#include "touchstone/gpu/rows.hpp"

namespace touchstone::gpu {

constexpr double kGravity = 9.81;  // m/s^2; velocities are compared with what it does in a step

template <typename Real>
struct SweepLimits;
template <>
struct SweepLimits<float> {
  static constexpr int kRootSteps = 1;
  static constexpr int kConeRootSteps = 3;  // of five tangents with other scales: with one, half as many sweeps again
  static constexpr float kConverged = 1e-3f;
};
template <>
struct SweepLimits<double> {
  static constexpr int kRootSteps = 60;
  static constexpr int kConeRootSteps = 60;
  static constexpr double kConverged = 1e-12;
};

// Impulses of a sliding contact: lambda_k = -b_k / (s_k + a), a > 0 such that |lambda_t| = mu (nu - c . lambda_t). The
// root is kept from sweep to sweep, so that in float a few steps towards it do: sweeps and steps converge together.
template <typename Real>
TOUCHSTONE_LANE void slide(Block<Real>& block, const Real* b, Real nu, Real* lambda) {
  const Real mu = block.friction;
  Real a = block.alpha, low = Real(0), high = Real(-1);  // high < 0: not known
  for (int step = 0; step < SweepLimits<Real>::kRootSteps; ++step) {
    const Real d0 = Real(1) / (block.tangent[0] + a), d1 = Real(1) / (block.tangent[1] + a);
    const Real l0 = -b[0] * d0, l1 = -b[1] * d1, square = l0 * l0 + l1 * l1;
    if (!(square > Real(0))) break;
    // h = bound / size - 1 and its slope; dl_k/da = -l_k d_k.
    const Real inverse = Real(1) / root(square);
    const Real ratio = mu * (nu - block.shear[0] * l0 - block.shear[1] * l1) * inverse, h = ratio - Real(1);
    const Real size_rate = -(l0 * l0 * d0 + l1 * l1 * d1) * inverse;
    const Real bound_rate = mu * (block.shear[0] * l0 * d0 + block.shear[1] * l1 * d1);
    const Real slope = (bound_rate - ratio * size_rate) * inverse;
    if (h < Real(0)) {
      low = a;
    } else {
      high = a;
    }
    Real next = a - h / slope;
    const bool inside = next > low && (high < Real(0) || next < high);
    if (!inside) next = high >= Real(0) ? Real(0.5) * (low + high) : Real(2) * a + block.tangent[0] + block.tangent[1];
    const Real change = next > a ? next - a : a - next;
    a = next;
    if (change <= SweepLimits<Real>::kConverged * (a + block.tangent[0])) break;
  }
  block.alpha = a;
  const Real l0 = -b[0] / (block.tangent[0] + a), l1 = -b[1] / (block.tangent[1] + a), square = l0 * l0 + l1 * l1;
  lambda[0] = lambda[1] = lambda[2] = Real(0);
  // On the cone exactly: the direction of l, lambda_n = nu - c . lambda_t.
  if (!(square > Real(0))) {
    lambda[2] = nu;
    return;
  }
  const Real inverse = Real(1) / root(square);
  const Real t = mu * nu / (Real(1) + mu * (block.shear[0] * l0 + block.shear[1] * l1) * inverse);
  if (!(t > Real(0))) return;
  lambda[0] = t * inverse * l0;
  lambda[1] = t * inverse * l1;
  lambda[2] = nu - block.shear[0] * lambda[0] - block.shear[1] * lambda[1];
  if (!(lambda[2] > Real(0))) lambda[0] = lambda[1] = lambda[2] = Real(0);
}

// u: the velocity of the diagonalised rows with the impulses `old`.
template <typename Real>
TOUCHSTONE_LANE void solve_contact(Block<Real>& block, const Real* u, const Real* old, Real old_nu, Real* lambda) {
  const Real b[2] = {u[0] - block.tangent[0] * old[0], u[1] - block.tangent[1] * old[1]};
  const Real b_n = u[2] - block.normal * old_nu;
  lambda[0] = lambda[1] = lambda[2] = Real(0);
  if (b_n >= Real(0)) return;
  const Real nu = -b_n / block.normal;
  lambda[0] = -b[0] / block.tangent[0];
  lambda[1] = -b[1] / block.tangent[1];
  lambda[2] = nu - block.shear[0] * lambda[0] - block.shear[1] * lambda[1];
  const Real bound = block.friction * lambda[2];
  if (lambda[2] > Real(0) && lambda[0] * lambda[0] + lambda[1] * lambda[1] <= bound * bound) return;  // sticks
  slide(block, b, nu, lambda);
}

template <typename Real>
TOUCHSTONE_LANE Real normal_row_impulse(const Block<Real>& block, const Real* lambda) {
  return lambda[2] + block.shear[0] * lambda[0] + block.shear[1] * lambda[1];
}

template <typename Team, typename Real>
TOUCHSTONE_LANE void sweep_contact(const Team& team, const ModelView& m, Scratch<Real>& s, Block<Real>& block) {
  Real* lambda = s.lambda + block.row;
  const Real* Y = s.Y + block.row * s.stride;
  const Real old[3] = {lambda[0], lambda[1], lambda[2]}, old_nu = normal_row_impulse(block, old);
  Real u[3] = {Real(0), Real(0), Real(0)};
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) {
    const Real y = s.y[i];
    u[0] += Y[i] * y;
    u[1] += Y[s.stride + i] * y;
    u[2] += Y[2 * s.stride + i] * y;
  }
  Block<Real> local = block;
  for (int r = 0; r < 3; ++r) u[r] = team.sum(u[r]) + s.g[block.row + r];
  Real next[3];
  solve_contact(local, u, old, old_nu, next);
  const Real d0 = next[0] - old[0], d1 = next[1] - old[1], d2 = normal_row_impulse(local, next) - old_nu;
  team.sync();
  if (team.lane() == 0) {
    block.alpha = local.alpha;
    for (int r = 0; r < 3; ++r) lambda[r] = next[r];
  }
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size())
    s.y[i] += d0 * Y[i] + d1 * Y[s.stride + i] + d2 * Y[2 * s.stride + i];
}

// --- contacts with any number of rows (cones.hpp) ---

// As slide(), of z: |z| = nu - c . z.
template <int k, typename Real>
TOUCHSTONE_LANE void slide_cone(const Real* diagonal, const Real* shear, const Real* b, Real nu, Real& alpha,
                                Real* lambda) {
  Real a = alpha, low = Real(0), high = Real(-1), largest = Real(0);
  for (int c = 0; c < k; ++c) largest = diagonal[c] > largest ? diagonal[c] : largest;
  TOUCHSTONE_ROLLED
  for (int step = 0; step < SweepLimits<Real>::kConeRootSteps; ++step) {
    Real square = Real(0), size_rate = Real(0), bound_rate = Real(0), away = Real(0);
    for (int c = 0; c < k; ++c) {
      const Real d = Real(1) / (diagonal[c] + a), l = -b[c] * d;
      square += l * l;
      size_rate -= l * l * d;
      bound_rate += shear[c] * l * d;
      away += shear[c] * l;
    }
    if (!(square > Real(0))) break;
    const Real inverse = Real(1) / root(square), ratio = (nu - away) * inverse, h = ratio - Real(1);
    const Real slope = (bound_rate - ratio * size_rate * inverse) * inverse;
    if (h < Real(0)) {
      low = a;
    } else {
      high = a;
    }
    Real next = a - h / slope;
    const bool inside = next > low && (high < Real(0) || next < high);
    if (!inside) next = high >= Real(0) ? Real(0.5) * (low + high) : Real(2) * a + largest;
    const Real change = next > a ? next - a : a - next;
    a = next;
    if (change <= SweepLimits<Real>::kConverged * (a + largest)) break;
  }
  alpha = a;
  Real square = Real(0), away = Real(0);
  for (int c = 0; c < k; ++c) {
    lambda[c] = -b[c] / (diagonal[c] + a);
    square += lambda[c] * lambda[c];
    away += shear[c] * lambda[c];
  }
  lambda[k] = nu;
  if (!(square > Real(0))) return;
  const Real inverse = Real(1) / root(square), t = nu / (Real(1) + away * inverse);
  const bool holds = t > Real(0);  // then lambda_n = t is positive too
  for (int c = 0; c < k; ++c) lambda[c] = holds ? t * inverse * lambda[c] : Real(0);
  lambda[k] = holds ? t : Real(0);
}

template <typename Real>
TOUCHSTONE_LANE Real along_shear(const Cone<Real>& cone, const Real* lambda) {
  Real sum = Real(0);
  for (int c = 0; c < cone.rows - 1; ++c) sum += cone.shear[c] * lambda[c];
  return sum;
}

// u: the velocity of the rows with the impulses `old`; `normal`: the matrix of the normal row.
template <int k, typename Real>
TOUCHSTONE_LANE void solve_cone(Real normal, const Real* diagonal, const Real* shear, const Real* u, const Real* old,
                                Real old_nu, Real& alpha, Real* lambda) {
  Real b[k], square = Real(0), away = Real(0);
  const Real b_n = u[k] - normal * old_nu;
  for (int c = 0; c <= k; ++c) lambda[c] = Real(0);
  if (b_n >= Real(0)) return;
  const Real nu = -b_n / normal;
  for (int c = 0; c < k; ++c) {
    b[c] = u[c] - diagonal[c] * old[c];
    lambda[c] = -b[c] / diagonal[c];
    square += lambda[c] * lambda[c];
    away += shear[c] * lambda[c];
  }
  lambda[k] = nu - away;
  if (lambda[k] > Real(0) && square <= lambda[k] * lambda[k]) return;  // sticks
  slide_cone<k>(diagonal, shear, b, nu, alpha, lambda);
}

// k tangents.
template <int k, typename Team, typename Real>
TOUCHSTONE_LANE void sweep_cone(const Team& team, const ModelView& m, Scratch<Real>& s, Block<Real>& block) {
  const Cone<Real>& cone = s.cones[block.side];
  Real* lambda = s.lambda + block.row;
  const Real* Y = s.Y + block.row * s.stride;
  Real old[k + 1], u[k + 1], next[k + 1], diagonal[k], shear[k];
  for (int r = 0; r <= k; ++r) {
    old[r] = lambda[r];
    u[r] = Real(0);
  }
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) {
    const Real y = s.y[i];
    for (int r = 0; r <= k; ++r) u[r] += Y[r * s.stride + i] * y;
  }
  for (int r = 0; r <= k; ++r) u[r] = team.sum(u[r]) + s.g[block.row + r];
  Real old_nu = old[k];
  for (int c = 0; c < k; ++c) {
    diagonal[c] = cone.diagonal[c], shear[c] = cone.shear[c];
    old_nu += shear[c] * old[c];
  }
  Real alpha = block.alpha;
  solve_cone<k>(block.normal, diagonal, shear, u, old, old_nu, alpha, next);
  Real change = next[k] - old_nu;
  for (int c = 0; c < k; ++c) change += shear[c] * next[c];
  team.sync();
  if (team.lane() == 0) {
    block.alpha = alpha;
    for (int r = 0; r <= k; ++r) lambda[r] = next[r];
  }
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) {
    Real sum = change * Y[k * s.stride + i];
    for (int c = 0; c < k; ++c) sum += (next[c] - old[c]) * Y[c * s.stride + i];
    s.y[i] += sum;
  }
}

template <typename Team, typename Real>
TOUCHSTONE_LANE void sweep_single(const Team& team, const ModelView& m, Scratch<Real>& s, const Block<Real>& block) {
  const Real* Y = s.Y + block.row * s.stride;
  const Real old = s.lambda[block.row];
  Real u = Real(0);
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) u += Y[i] * s.y[i];
  u = team.sum(u) + s.g[block.row] + block.compliance * old;
  Real next = block.diagonal > Real(0) ? old - u / block.diagonal : Real(0);
  if (block.type == BlockType::kNonNegative) {
    next = next > Real(0) ? next : Real(0);
  } else {
    next = next < block.lo ? block.lo : (next > block.hi ? block.hi : next);
  }
  team.sync();
  if (team.lane() == 0) s.lambda[block.row] = next;
  const Real change = next - old;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) s.y[i] += change * Y[i];
}

template <typename Team, typename Real>
TOUCHSTONE_LANE void sweep(const Team& team, const ModelView& m, Scratch<Real>& s) {
  TOUCHSTONE_ROLLED
  for (int k = 0; k < s.block_count; ++k) {
    Block<Real>& block = s.blocks[k];
    if constexpr (Team::kGeneral) {
      if (block.type == BlockType::kCone) {
        with_tangents(s.cones[block.side].rows - 1,
                      [&](auto tangents) { sweep_cone<decltype(tangents)::value>(team, m, s, block); });
        continue;
      }
    }
    if (block.type == BlockType::kCoulomb) {
      sweep_contact(team, m, s, block);
    } else {
      sweep_single(team, m, s, block);
    }
  }
  team.sync();
}

// y = Y' lambda.
template <typename Team, typename Real>
TOUCHSTONE_LANE void gather_impulses(const Team& team, const ModelView& m, Scratch<Real>& s) {
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) {
    Real sum = Real(0);
    TOUCHSTONE_ROLLED
    for (int k = 0; k < s.block_count; ++k) {
      const Block<Real>& block = s.blocks[k];
      const Real *Y = s.Y + block.row * s.stride + i, *lambda = s.lambda + block.row;
      if constexpr (Team::kGeneral) {
        if (block.type == BlockType::kCone) {
          const Cone<Real>& cone = s.cones[block.side];
          const int last = cone.rows - 1;
          for (int c = 0; c < last; ++c) sum += Y[c * s.stride] * lambda[c];
          sum += Y[last * s.stride] * (lambda[last] + along_shear(cone, lambda));
          continue;
        }
      }
      if (block.type == BlockType::kCoulomb) {
        sum += Y[0] * lambda[0] + Y[s.stride] * lambda[1] + Y[2 * s.stride] * normal_row_impulse(block, lambda);
      } else {
        sum += Y[0] * lambda[0];
      }
    }
    s.y[i] = sum;
  }
  team.sync();
}

// --- Anderson's mixing ---

// The history: how many sweeps it holds, and how far the last one moved.
template <typename Real>
struct Mixing {
  int depth = 0;
  Real last = Real(0);
};

// Calls use(row, weight) for the rows of a lane.
template <typename Team, typename Real, typename Use>
TOUCHSTONE_LANE void for_rows(const Team& team, const Scratch<Real>& s, const Use& use) {
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < s.block_count; k += team.size()) {
    const Block<Real>& block = s.blocks[k];
    const int rows = rows_of<Team>(s, block);
    for (int r = block.row; r < block.row + rows; ++r) use(r, block.diagonal);
  }
}

// Coefficients of the last two changes of the step f that leave least of it: min |f - x (f - f_1) - y (f_1 - f_2)|.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool mixing_weights(const Team& team, const Scratch<Real>& s, int depth, Real& x, Real& y) {
  Real aa = Real(0), ab = Real(0), bb = Real(0), fa = Real(0), fb = Real(0);
  for_rows(team, s, [&](int r, Real weight) {
    const Real f = s.lambda[r] - s.start[r], a = f - s.f_1[r], b = depth > 1 ? s.f_1[r] - s.f_2[r] : Real(0);
    aa += weight * a * a;
    ab += weight * a * b;
    bb += weight * b * b;
    fa += weight * f * a;
    fb += weight * f * b;
  });
  aa = team.sum(aa), ab = team.sum(ab), bb = team.sum(bb), fa = team.sum(fa), fb = team.sum(fb);
  if (!(aa > Real(0))) return false;
  const Real det = aa * bb - ab * ab;
  if (depth > 1 && det > Real(1e-4) * aa * bb) {
    x = (fa * bb - fb * ab) / det;
    y = (fb * aa - fa * ab) / det;
  } else {
    x = fa / aa;
    y = Real(0);
  }
  constexpr Real kFarthest = Real(20);  // beyond that the history says nothing
  return x * x + y * y < kFarthest * kFarthest;
}

// How far the last sweep has moved: squared length in the metric of the mixture, and the largest change of a velocity.
template <typename Real>
struct SweepChange {
  Real size, peak;
};

template <typename Team, typename Real>
TOUCHSTONE_LANE SweepChange<Real> sweep_change(const Team& team, const Scratch<Real>& s) {
  Real size = Real(0), peak = Real(0);
  for_rows(team, s, [&](int r, Real weight) {
    const Real f = s.lambda[r] - s.start[r], u = weight * (f < Real(0) ? -f : f);
    size += weight * f * f;
    peak = u <= peak ? peak : u;
  });
  return {team.sum(size), team.max(peak)};
}

// Replaces lambda and y by the mixture, keeps the history, and remembers where the next sweep starts.
template <typename Team, typename Real>
TOUCHSTONE_LANE void mix(const Team& team, const ModelView& m, Scratch<Real>& s, Real size, Mixing<Real>& mixing) {
  constexpr Real kWorse = Real(4);  // squared: twice as far as the step before
  if (mixing.depth > 0 && !(size <= kWorse * mixing.last)) mixing.depth = 0;
  mixing.last = size;
  Real x = Real(0), y = Real(0);
  const bool mixes = mixing.depth > 0 && mixing_weights(team, s, mixing.depth, x, y);
  for_rows(team, s, [&](int r, Real) {
    const Real g = s.lambda[r], g_1 = s.g_1[r], f = g - s.start[r];
    Real next = g;
    if (mixes) next -= x * (g - g_1) + (mixing.depth > 1 ? y * (g_1 - s.g_2[r]) : Real(0));
    s.f_2[r] = s.f_1[r], s.g_2[r] = g_1;
    s.f_1[r] = f, s.g_1[r] = g;
    s.lambda[r] = s.start[r] = next;
  });
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) {
    const Real g = s.y[i], g_1 = s.y_1[i];
    if (mixes) s.y[i] -= x * (g - g_1) + (mixing.depth > 1 ? y * (g_1 - s.y_2[i]) : Real(0));
    s.y_2[i] = g_1;
    s.y_1[i] = g;
  }
  mixing.depth = mixing.depth < 2 ? mixing.depth + 1 : 2;
  team.sync();
}

// At most `most` sweeps, all but the last mixed; none after one that changes no velocity by more than `settled` (m/s).
// The mixture goes on from an earlier call if `mixing` is its. Returns how many.
template <typename Team, typename Real>
TOUCHSTONE_LANE int run_sweeps(const Team& team, const ModelView& m, Scratch<Real>& s, int most, Real settled,
                               Mixing<Real>& mixing) {
  if (mixing.depth == 0) {
    for_rows(team, s, [&](int r, Real) { s.start[r] = s.lambda[r]; });
    team.sync();
  }
  for (int k = 1; k < most; ++k) {
    sweep(team, m, s);
    const SweepChange<Real> change = sweep_change(team, s);
    if (change.peak <= settled) return k;
    mix(team, m, s, change.size, mixing);
  }
  sweep(team, m, s);
  return most;
}

// Sweeps from the impulses that were recalled until the residual is well below a relative tolerance, to all appearance.
template <typename Team, typename Real>
TOUCHSTONE_LANE int settle(const Team& team, const ModelView& m, Scratch<Real>& s, int most, double tolerance) {
  constexpr double kWellBelow = 0.1;  // what later blocks of a sweep do to earlier ones is more than its last changes
  if (s.block_count == 0) return 0;
  if (s.row_count == 1) {  // exact
    sweep(team, m, s);
    return 1;
  }
  Real scale = static_cast<Real>(kGravity * m.settings.time_step);
  TOUCHSTONE_ROLLED
  for (int r = team.lane(); r < s.row_count; r += team.size()) {
    const Real g = s.g[r] < Real(0) ? -s.g[r] : s.g[r];
    scale = g <= scale ? scale : g;
  }
  Mixing<Real> mixing;
  return run_sweeps(team, m, s, most, static_cast<Real>(kWellBelow * tolerance) * team.max(scale), mixing);
}

}  // namespace touchstone::gpu
