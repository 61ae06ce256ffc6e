#include "touchstone/diff/rotations.hpp"

#include <cmath>

#include "touchstone/math/so3.hpp"

namespace touchstone {

namespace {
constexpr double kSmall = 1e-3;  // rad: below, series to fourth order are exact to rounding
}

Matrix3 right_jacobian(const Vector3& w) {
  const double t2 = w.squaredNorm(), t = std::sqrt(t2);
  double a = 0.5 - t2 / 24.0, b = 1.0 / 6.0 - t2 / 120.0;
  if (t > kSmall) {
    a = (1.0 - std::cos(t)) / t2;
    b = (t - std::sin(t)) / (t2 * t);
  }
  const Matrix3 W = skew(w);
  return Matrix3::Identity() - a * W + b * W * W;
}

Matrix3 right_jacobian_inverse(const Vector3& w) {
  const double t2 = w.squaredNorm(), t = std::sqrt(t2);
  double c = 1.0 / 12.0 + t2 / 720.0;
  if (t > kSmall) c = 1.0 / t2 - (1.0 + std::cos(t)) / (2.0 * t * std::sin(t));
  const Matrix3 W = skew(w);
  return Matrix3::Identity() + 0.5 * W + c * W * W;
}

}  // namespace touchstone
