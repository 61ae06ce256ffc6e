#include "touchstone/solvers/newton/coulomb_path.hpp"

#include <algorithm>
#include <cmath>

namespace touchstone {
namespace {

double dot(int n, const double* a, const double* b) {
  double sum = 0.0;
  for (int k = 1; k <= n; ++k) sum += a[k] * b[k];
  return sum;
}

constexpr double kSmallest = 1e-300;

}  // namespace

PathKind path_kind(const Blocks& blocks, int block) {
  const int r = blocks.row[block], m = blocks.size(block);
  switch (blocks.type[block]) {
    case BlockType::kEquality:
      return PathKind::kFree;
    case BlockType::kNonNegative:
      return PathKind::kOrthant;
    case BlockType::kBox:
      if (!(blocks.lo[r] < blocks.hi[r])) return PathKind::kFixed;
      return std::isinf(blocks.lo[r]) && std::isinf(blocks.hi[r]) ? PathKind::kFree : PathKind::kInterval;
    case BlockType::kCoulomb:
      for (int j = 0; j < m - 1; ++j) {
        if (blocks.mu[r + j] > 0.0) return PathKind::kCone;
      }
      return PathKind::kOrthant;
  }
  return PathKind::kFixed;
}

ConeView::ConeView(const Blocks& blocks, int block) : row(blocks.row[block]), normal(blocks.row[block + 1] - 1) {
  for (int r = row; r < normal; ++r) {
    if (!(blocks.mu[r] > 0.0)) continue;
    index[++n] = r;
    mu[n] = blocks.mu[r];
  }
  largest = n == 0 ? 1.0 : *std::max_element(mu + 1, mu + n + 1);
}

double cone_determinant(int n, const double* x) {
  const double length = std::sqrt(dot(n, x, x));
  return (x[0] - length) * (x[0] + length);
}

void ConeScaling::set(int n, const double* x, const double* z) {
  const double root_x = std::sqrt(std::max(cone_determinant(n, x), kSmallest));
  const double root_z = std::sqrt(std::max(cone_determinant(n, z), kSmallest));
  const double product = (x[0] * z[0] + dot(n, x, z)) / (root_x * root_z);
  const double gamma = std::sqrt(0.5 * (1.0 + product));
  eta = std::sqrt(root_x / root_z);
  w[0] = (x[0] / root_x + z[0] / root_z) / (2.0 * gamma);
  double square = 0.0;
  for (int k = 1; k <= n; ++k) {
    w[k] = (x[k] / root_x - z[k] / root_z) / (2.0 * gamma);
    square += w[k] * w[k];
  }
  w[0] = std::sqrt(1.0 + square);  // unit determinant, also after rounding
}

double ConeScaling::hessian(int row, int col) const {
  const double sign = (row == 0) == (col == 0) ? 1.0 : -1.0;
  const double unit = row != col ? 0.0 : row == 0 ? -1.0 : 1.0;
  return (2.0 * sign * w[row] * w[col] + unit) / (eta * eta);
}

void ConeScaling::apply_hessian(int n, const double* x, double* y) const {
  const double inverse = 1.0 / (eta * eta);
  const double projection = 2.0 * (w[0] * x[0] - dot(n, w, x));
  const double first = x[0];
  y[0] = inverse * (projection * w[0] - first);
  for (int k = 1; k <= n; ++k) y[k] = inverse * (x[k] - projection * w[k]);
}

void ConeScaling::apply(int n, const double* x, double* y) const {
  const double along = dot(n, w, x), first = x[0];
  const double share = first + along / (1.0 + w[0]);
  y[0] = eta * (w[0] * first + along);
  for (int k = 1; k <= n; ++k) y[k] = eta * (x[k] + share * w[k]);
}

void ConeScaling::apply_inverse(int n, const double* x, double* y) const {
  const double along = dot(n, w, x), first = x[0];
  const double share = -first + along / (1.0 + w[0]);
  y[0] = (w[0] * first - along) / eta;
  for (int k = 1; k <= n; ++k) y[k] = (x[k] + share * w[k]) / eta;
}

double cone_step(int n, const double* x, const double* dx, double limit) {
  // (x_0 + s dx_0)^2 = |x_t + s dx_t|^2: a s^2 + 2 b s + c = 0 with c > 0 inside; the smallest positive root.
  const double a = dx[0] * dx[0] - dot(n, dx, dx);
  const double b = x[0] * dx[0] - dot(n, x, dx);
  const double c = std::max(cone_determinant(n, x), 0.0);
  double step = limit;
  const double discriminant = b * b - a * c;
  if (b < 0.0 || a < 0.0) {
    if (discriminant >= 0.0) {
      const double q = -b + std::sqrt(discriminant);  // c / q is the root nearest to zero from above when b < 0
      if (q > 0.0 && c / q > 0.0) step = std::min(step, c / q);
      if (q <= 0.0) step = 0.0;
    }
  }
  if (dx[0] < 0.0) step = std::min(step, -x[0] / dx[0]);
  return std::max(step, 0.0);
}

void jordan_product(int n, const double* x, const double* z, double* y) {
  const double x0 = x[0], z0 = z[0], first = x0 * z0 + dot(n, x, z);
  for (int k = 1; k <= n; ++k) y[k] = x0 * z[k] + z0 * x[k];
  y[0] = first;
}

void jordan_divide(int n, const double* x, const double* z, double* y) {
  const double determinant = std::max(cone_determinant(n, x), kSmallest);
  const double along = dot(n, x, z), z0 = z[0], x0 = x[0];
  const double first = (x0 * z0 - along) / determinant;
  for (int k = 1; k <= n; ++k) y[k] = (z[k] - first * x[k]) / x0;
  y[0] = first;
}

}  // namespace touchstone
