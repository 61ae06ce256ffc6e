#include "nesmino.hpp"

#include <algorithm>
#include <cmath>

namespace bench {

using namespace touchstone;

namespace {

Vec3 project_ellipsoid(Vec3 size, Vec3 x) {
  double t = 0.0;
  for (int k = 0; k < 60; ++k) {
    double value = -1.0, slope = 0.0;
    for (int i = 0; i < 3; ++i) {
      const double square = size[i] * size[i], root = size[i] * x[i] / (square + t);
      value += root * root;
      slope -= 2.0 * root * root / (square + t);
    }
    if (!(value > 1e-13)) break;
    t -= value / slope;
  }
  const auto scaled = [&](int i) { return x[i] * size[i] * size[i] / (size[i] * size[i] + t); };
  return {scaled(0), scaled(1), scaled(2)};
}

Vec3 project(const ConvexShape& shape, Vec3 x) {
  const Vec3 s = shape.size();
  if (shape.core() == CoreType::kEllipsoid) return project_ellipsoid(s, x);
  return {std::clamp(x.x(), -s.x(), s.x()), std::clamp(x.y(), -s.y(), s.y()), std::clamp(x.z(), -s.z(), s.z())};
}

}  // namespace

NesminoResult nesmino(const ConvexShape& A, const ConvexShape& B, const Pose& X_AB, double known_distance,
                      double tolerance, int max_iterations) {
  constexpr double kFirst = 0.1, kShrink = 0.1, kLast = 1e-9;  // of mu
  NesminoResult result;
  Vec3 u = X_AB.p, last = u;
  for (double mu = kFirst; mu > kLast && !result.converged; mu *= kShrink) {
    const double L = 1.0 + 2.0 / mu, momentum = (std::sqrt(L) - 1.0) / (std::sqrt(L) + 1.0);
    while (result.iterations < max_iterations) {
      ++result.iterations;
      const Vec3 y = u + momentum * (u - last);
      const Vec3 a = project(A, (-1.0 / mu) * y);
      const Vec3 b = X_AB * project(B, transpose_times(X_AB.R, (1.0 / mu) * y - X_AB.p));
      const Vec3 x = a - b, gradient = y - x;
      last = u;
      u = y - (1.0 / L) * gradient;
      result.distance = std::sqrt(dot(x, x));
      if (std::abs(result.distance - known_distance) < tolerance) {
        result.converged = true;
        break;
      }
      if (dot(gradient, gradient) < mu * mu * 1e-2) break;
    }
  }
  return result;
}

}  // namespace bench
