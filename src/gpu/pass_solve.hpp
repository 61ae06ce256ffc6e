// The problem of one island of a position pass: block principal pivoting on its dense matrix (math/principal_pivoting,
// where the method is explained), or sweeps on the rows where it is too large for that or the guesses run out.
#pragma once

#include "touchstone/gpu/pass_rows.hpp"

namespace touchstone::gpu {

// The ways that the rows of an island ask for, scaled so that none is left faster than recovery_speed, and their slack.
// `n` rows p.member. Returns the longest of them, as a row has it; zero if nothing is asked for.
template <typename Team>
TOUCHSTONE_LANE double set_ways(const Team& team, const ModelView& m, int blocks, double time, int n, PassMemory& p) {
  const double share = -expm1(-time / m.settings.time_constant);  // of contacts and limits
  double longest = 0.0, most_yield = 0.0, least_yield = 1e300;
  TOUCHSTONE_ROLLED
  for (int k = 0; k < n; ++k) {  // the same in all lanes
    const int c = p.member[k];
    const double length = p.length[c], yields = p.slack[c] * length * length;
    longest = most(longest, (c < blocks ? share : 1.0) * fabs(p.way[c]) * length);
    most_yield = most(most_yield, yields);
    if (yields > 0.0) least_yield = least(least_yield, yields);
  }
  team.sync();
  if (longest == 0.0 || most_yield == 0.0) return 0.0;
  const double scale = least(1.0, m.settings.recovery_speed * time / longest);
  const double slack = kPassSlack * most(least_yield, kPassLeastYield * most_yield);
  double longest_way = 0.0;
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < n; k += team.size()) {
    const int c = p.member[k];
    const double own = scale * (c < blocks ? share : 1.0);
    p.slack[c] = slack * own / (p.length[c] * p.length[c]);
    p.way[c] *= own;
    if (p.way[c] != 0.0) p.bias[c] = -p.way[c];
    longest_way = most(longest_way, fabs(p.way[c]));
  }
  longest_way = team.max(longest_way);
  team.sync();
  return longest_way;
}

template <typename Team>
TOUCHSTONE_LANE void build_dense(const Team& team, const ModelView& m, int stride, int n, PassMemory& p) {
  TOUCHSTONE_ROLLED
  for (int item = team.lane(); item < n * n; item += team.size()) {
    const int i = item / n, j = item % n;
    if (j > i) continue;
    const double *a = p.Y + p.member[i] * stride, *b = p.Y + p.member[j] * stride;
    double sum = i == j ? p.slack[p.member[i]] : 0.0;
    for (int k = 0; k < m.sizes.nv; ++k) sum += a[k] * b[k];
    p.G[i * n + j] = p.G[j * n + i] = sum;
  }
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < n; k += team.size()) p.b[k] = p.bias[p.member[k]];
  team.sync();
}

// Cholesky of the first `n` rows of p.factor (lower triangle), and p.reduced <- its solution. False if a pivot is not
// positive.
template <typename Team>
TOUCHSTONE_LANE bool solve_factor(const Team& team, int n, PassMemory& p) {
  TOUCHSTONE_ROLLED
  for (int k = 0; k < n; ++k) {
    double* row = p.factor + k * n;
    TOUCHSTONE_ROLLED
    for (int i = k + team.lane(); i < n; i += team.size()) {
      double* own = p.factor + i * n;
      double sum = 0.0;
      for (int j = 0; j < k; ++j) sum += own[j] * row[j];
      own[k] -= sum;
    }
    team.sync();
    const double pivot = row[k];
    if (!(pivot > 0.0)) return false;
    team.sync();
    const double inverse = inverse_root(pivot);
    TOUCHSTONE_ROLLED
    for (int i = k + team.lane(); i < n; i += team.size()) p.factor[i * n + k] *= inverse;
    team.sync();
  }
  for (int k = 0; k < n; ++k) {  // forwards
    const double x = p.reduced[k] / p.factor[k * n + k];
    team.sync();
    TOUCHSTONE_ROLLED
    for (int i = k + team.lane(); i < n; i += team.size())
      p.reduced[i] = i == k ? x : p.reduced[i] - p.factor[i * n + k] * x;
    team.sync();
  }
  for (int k = n - 1; k >= 0; --k) {  // backwards
    const double x = p.reduced[k] / p.factor[k * n + k];
    team.sync();
    TOUCHSTONE_ROLLED
    for (int i = team.lane(); i <= k; i += team.size())
      p.reduced[i] = i == k ? x : p.reduced[i] - p.factor[k * n + i] * x;
    team.sync();
  }
  return true;
}

// x of the active rows, zero elsewhere, and w = G x + b.
template <typename Team>
TOUCHSTONE_LANE bool guess(const Team& team, int n, PassMemory& p) {
  int count = 0;
  TOUCHSTONE_ROLLED
  for (int i = 0; i < n; ++i) {  // the same in all lanes
    if (p.active[i] == 0) continue;
    if (team.lane() == 0) p.list[count] = i;
    ++count;
  }
  team.sync();
  TOUCHSTONE_ROLLED
  for (int item = team.lane(); item < count * count; item += team.size())
    p.factor[item] = p.G[p.list[item / count] * n + p.list[item % count]];
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < count; k += team.size()) p.reduced[k] = -p.b[p.list[k]];
  team.sync();
  if (!solve_factor(team, count, p)) return false;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < n; i += team.size()) p.x[i] = 0.0;
  team.sync();
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < count; k += team.size()) p.x[p.list[k]] = p.reduced[k];
  team.sync();
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < n; i += team.size()) {
    double sum = p.b[i];
    for (int k = 0; k < count; ++k) sum += p.G[i * n + p.list[k]] * p.reduced[k];
    p.w[i] = sum;
  }
  team.sync();
  return true;
}

// How far x is from its conditions: the largest |min(G_ii x_i, w_i)| length_i, or |w_i| length_i of equalities.
TOUCHSTONE_LANE double row_error(double x, double w, double diagonal, double length, bool is_equality) {
  const double scaled = x * diagonal;
  return fabs(!is_equality && scaled < w ? scaled : w) * length;
}

// `blocks`: candidates from it on are equalities. Leaves the impulses in p.lambda. False if it came to no end.
template <typename Team>
TOUCHSTONE_LANE bool pivot(const Team& team, int n, int blocks, double longest, PassMemory& p) {
  constexpr int kPatience = 3;
  const double tolerance = kPassPivotTolerance * longest;
  const auto is_wrong = [&](int i) {
    if (p.member[i] >= blocks) return false;
    return p.active[i] != 0 ? p.x[i] * p.G[i * n + i] < -tolerance : p.w[i] < -tolerance;
  };
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < n; i += team.size()) p.active[i] = p.member[i] >= blocks || p.b[i] < 0.0 ? 1 : 0;
  team.sync();
  int fewest = n + 1, patience = kPatience, wrong = 1;
  TOUCHSTONE_ROLLED
  for (int round = 0; round < kPassGuesses && wrong > 0; ++round) {
    if (!guess(team, n, p)) return false;
    int last = 0;
    wrong = 0;
    for (int i = 0; i < n; ++i) {
      if (!is_wrong(i)) continue;
      ++wrong;
      last = i;
    }
    patience = wrong < fewest ? kPatience : patience - 1;
    fewest = wrong < fewest ? wrong : fewest;
    team.sync();
    TOUCHSTONE_ROLLED
    for (int i = (patience > 0 ? 0 : last) + team.lane(); i <= last && wrong > 0; i += team.size()) {
      if (is_wrong(i)) p.active[i] = 1 - p.active[i];
    }
    team.sync();
  }
  if (wrong > 0) return false;
  double error = 0.0;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < n; i += team.size()) {
    const bool is_equality = p.member[i] >= blocks;
    const double x = is_equality ? p.x[i] : most(0.0, p.x[i]);
    const double own = row_error(x, p.w[i], p.G[i * n + i], p.length[p.member[i]], is_equality);
    if (!(own <= error)) error = own;
    p.lambda[p.member[i]] = x;
  }
  error = team.max(error);
  team.sync();
  return error <= kPassTolerance * longest;
}

// Projected Gauss-Seidel on the whitened rows. False if what it has is not good enough.
template <typename Team>
TOUCHSTONE_LANE bool sweep_rows(const Team& team, const ModelView& m, int stride, int n, int blocks, PassMemory& p) {
  constexpr int kSweeps = 500;
  const int nv = m.sizes.nv;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < nv; i += team.size()) p.z[i] = 0.0;
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < n; k += team.size()) p.lambda[p.member[k]] = 0.0;
  team.sync();
  double error = 0.0, scale = 0.0;
  for (int sweep = 0; sweep <= kSweeps; ++sweep) {
    error = scale = 0.0;
    TOUCHSTONE_ROLLED
    for (int k = 0; k < n; ++k) {
      const int c = p.member[k];
      const double* y = p.Y + c * stride;
      double along = 0.0, square = 0.0;
      TOUCHSTONE_ROLLED
      for (int i = team.lane(); i < nv; i += team.size()) along += y[i] * p.z[i], square += y[i] * y[i];
      const double diagonal = team.sum(square) + p.slack[c], old = p.lambda[c];
      const double w = team.sum(along) + p.slack[c] * old + p.bias[c];
      error = most(error, row_error(old, w, diagonal, p.length[c], c >= blocks));
      scale = most(scale, fabs(p.bias[c]) * p.length[c]);
      double next = diagonal > 0.0 ? old - w / diagonal : 0.0;
      if (c < blocks) next = most(0.0, next);
      team.sync();
      TOUCHSTONE_ROLLED
      for (int i = team.lane(); i < nv; i += team.size()) p.z[i] += y[i] * (next - old);
      if (team.lane() == 0) p.lambda[c] = next;
      team.sync();
    }
    if (!(error > kPassTolerance * scale)) break;
  }
  return error <= kPassUsable * scale;
}

}  // namespace touchstone::gpu
