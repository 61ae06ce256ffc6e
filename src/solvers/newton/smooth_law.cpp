#include "touchstone/solvers/newton/smooth_law.hpp"

#include <algorithm>
#include <cmath>

namespace touchstone {
namespace {

constexpr double kConverged = 1e-8;

// The positive root of r^2 - z r - m = 0 without cancellation.
double orthant(double z, double m) {
  const double root = std::sqrt(z * z + 4.0 * m);
  return z >= 0.0 ? 0.5 * (z + root) : 2.0 * m / (root - z);
}

// r in (lo, hi) with r - m / (r - lo) + m / (hi - r) = z; the left side increases.
double interval(double z, double m, double lo, double hi) {
  double low = lo, high = hi;
  double r = std::isinf(lo) ? hi - orthant(hi - z, m) : std::isinf(hi) ? lo + orthant(z - lo, m) : kInfinity;
  if (!std::isinf(r)) return r;
  r = std::clamp(z, lo + 1e-3 * (hi - lo), hi - 1e-3 * (hi - lo));
  for (int step = 0; step < 100; ++step) {
    const double a = r - lo, b = hi - r;
    const double value = r - m / a + m / b - z;
    (value > 0.0 ? high : low) = r;
    double next = r - value / (1.0 + m / (a * a) + m / (b * b));
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    const double change = std::abs(next - r);
    r = next;
    if (change <= 1e-15 * (std::abs(r) + hi - lo)) break;
  }
  return r;
}

// k in [0, 1) with a k + k m / (a (1 - k^2)) = length, through t = 1 - k so that t keeps its digits near the boundary.
double cone_share(double a, double length, double m, double& t) {
  double low = 0.0, high = 1.0;  // of t; the left side decreases in t
  const double inverse = m / (a * a), target = length / a;
  // Far outside: k near 1, t about m / (2 a^2 (target - 1)); inside: k about target.
  t = target > 1.0 ? std::min(0.5, 0.5 * inverse / (target - 1.0 + std::sqrt(inverse)))
                   : std::max(1.0 - target, std::min(0.5, std::sqrt(inverse)));
  for (int step = 0; step < 100; ++step) {
    const double k = 1.0 - t, slack = t * (1.0 + k);  // 1 - k^2
    const double value = k + inverse * k / slack - target;
    if (value == 0.0) break;
    (value > 0.0 ? low : high) = t;
    const double slope = -(1.0 + inverse * (1.0 + k * k) / (slack * slack));
    double next = t - value / slope;
    if (!(next > low && next < high)) next = low > 0.0 && high < 1.0 ? std::sqrt(low * high) : 0.5 * (low + high);
    const double change = std::abs(next - t);
    t = next;
    if (change <= kConverged * t) break;  // quadratic: the error is of order its square
  }
  return 1.0 - t;
}

}  // namespace

void smooth_law(const Blocks& blocks, int i, PathKind kind, const VectorX& z, double m, VectorX& lambda, VectorX& u) {
  const int r = blocks.row[i], last = blocks.row[i + 1] - 1;
  switch (kind) {
    case PathKind::kFree:
      for (int k = r; k <= last; ++k) {
        lambda[k] = z[k];
        u[k] = 0.0;
      }
      break;
    case PathKind::kFixed:
      lambda[r] = blocks.lo[r];
      break;
    case PathKind::kOrthant:
      for (int k = r; k < last; ++k) lambda[k] = 0.0;
      lambda[last] = orthant(z[last], m);
      u[last] = orthant(-z[last], m);
      break;
    case PathKind::kInterval:
      lambda[r] = interval(z[r], m, blocks.lo[r], blocks.hi[r]);
      u[r] = lambda[r] - z[r];
      break;
    case PathKind::kCone: {
      const ConeView cone(blocks, i);
      for (int k = r; k < last; ++k) lambda[k] = 0.0;
      lambda[last] = orthant(z[last], m);
      u[last] = orthant(-z[last], m);
      double length = 0.0;
      for (int k = 1; k <= cone.n; ++k) length += z[cone.index[k]] * z[cone.index[k]];
      length = std::sqrt(length);
      const double a = cone.largest * lambda[last];
      double t = 1.0;
      const double share = cone_share(a, length, m, t);
      const double force = a * share, slip = share * m / (a * t * (1.0 + share));
      for (int k = 1; k <= cone.n; ++k) {
        const double e = length > 0.0 ? z[cone.index[k]] / length : 0.0;
        lambda[cone.index[k]] = force * e * cone.mu[k] / cone.largest;
        u[cone.index[k]] = -slip * e * cone.largest / cone.mu[k];
      }
      break;
    }
  }
}

void smooth_law_slope(const Blocks& blocks, int i, PathKind kind, const VectorX& z, const VectorX& lambda,
                      const VectorX& u, double barrier, double* out, double* c) {
  const int r = blocks.row[i], m = blocks.size(i), last = r + m - 1;
  std::fill(out, out + m * m, 0.0);
  std::fill(c + r, c + r + m, 0.0);
  switch (kind) {
    case PathKind::kFree:
      for (int k = 0; k < m; ++k) out[k * (m + 1)] = kEqualityFloor;
      return;
    case PathKind::kFixed:
      out[0] = kFixedSlope;
      return;
    case PathKind::kInterval: {
      const double low = lambda[r] - blocks.lo[r], high = blocks.hi[r] - lambda[r];
      out[0] = barrier / (low * low) + barrier / (high * high);
      c[r] = 1.0 / low - 1.0 / high;
      return;
    }
    case PathKind::kOrthant:
    case PathKind::kCone:
      break;
  }
  for (int k = 0; k < m - 1; ++k) {
    if (kind == PathKind::kOrthant || !(blocks.mu[r + k] > 0.0)) out[k * (m + 1)] = kFixedSlope;
  }
  out[m * m - 1] = u[last] / lambda[last];
  c[last] = 1.0 / lambda[last];
  if (kind == PathKind::kOrthant) return;
  // p = largest y = a k e, q = -h e with a = largest lambda_n, h = k m / (a (1 - k^2)).
  const ConeView cone(blocks, i);
  double length = 0.0;
  for (int k = 1; k <= cone.n; ++k) length += z[cone.index[k]] * z[cone.index[k]];
  length = std::sqrt(length);
  const double a = cone.largest * lambda[last];
  double t = 1.0;
  const double k0 = cone_share(a, length, barrier, t);
  const double slack = t * (1.0 + k0);
  const double across = barrier / (a * a * slack);                           // h / (a k)
  const double along = barrier * (1.0 + k0 * k0) / (a * a * slack * slack);  // (dh/dk) / a
  const double by_normal = -k0 * across - along * k0;                        // dh/da - (dh/dk) k / a
  for (int x = 1; x <= cone.n; ++x) {
    const int row = cone.index[x];
    const double e_x = length > 0.0 ? z[row] / length : 0.0, scale = cone.largest / cone.mu[x];
    for (int y = 1; y <= cone.n; ++y) {
      const int col = cone.index[y];
      const double e_y = length > 0.0 ? z[col] / length : 0.0;
      out[(col - r) * m + row - r] =
          scale * ((x == y ? across : 0.0) + (along - across) * e_x * e_y) * cone.largest / cone.mu[y];
    }
    out[(m - 1) * m + row - r] = scale * by_normal * e_x * cone.largest;
    c[row] = -scale * k0 / (a * slack) * e_x;
  }
}

}  // namespace touchstone
