#include "touchstone/math/so3.hpp"

#include <cmath>

namespace touchstone {

Quaternion so3_exp(const Vector3& w) {
  const double angle = w.norm();
  // sin(angle/2)/angle by its series near zero, where the quotient would lose its meaning.
  const double scale = angle < 1e-4 ? 0.5 - angle * angle / 48.0 : std::sin(0.5 * angle) / angle;
  Quaternion q(std::cos(0.5 * angle), scale * w.x(), scale * w.y(), scale * w.z());
  q.normalize();
  return q;
}

Vector3 so3_log(const Quaternion& q) {
  const double sign = q.w() < 0.0 ? -1.0 : 1.0;  // q and -q are the same rotation: take the shorter one
  const double w = sign * q.w();
  const Vector3 vec = sign * q.vec();
  const double sine = vec.norm();
  if (sine < 1e-8) return 2.0 * vec / w;
  return 2.0 * std::atan2(sine, w) / sine * vec;
}

Matrix3 skew(const Vector3& a) {
  Matrix3 m;
  m << 0.0, -a.z(), a.y(), a.z(), 0.0, -a.x(), -a.y(), a.x(), 0.0;
  return m;
}

Quaternion rotation_from_z(const Vector3& direction) {
  const Vector3 d = direction.normalized();
  const double radial = d.x() * d.x() + d.y() * d.y();
  // 1 + z, without cancellation near -z.
  const double w = d.z() > 0.0 ? 1.0 + d.z() : radial / (1.0 - d.z());
  if (radial == 0.0 && d.z() < 0.0) return {0.0, 1.0, 0.0, 0.0};
  return Quaternion(w, -d.y(), d.x(), 0.0).normalized();
}

Quaternion so3_interpolate(const Quaternion& a, const Quaternion& b, double s) {
  return (a * so3_exp(s * so3_log(a.conjugate() * b))).normalized();
}

}  // namespace touchstone
