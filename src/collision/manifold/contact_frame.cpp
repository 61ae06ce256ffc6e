#include "touchstone/collision/manifold/contact_frame.hpp"

#include <cmath>

namespace touchstone {
namespace {

// Sine of the angle below which a tangent is too near to the normal to be projected, or a normal to the exception.
constexpr double kAligned = 1e-7;

// MuJoCo's bounds: of the y component of a normal beyond which tangents follow z, and of the length of a vector that
// has a direction.
constexpr double kSteep = 0.5;
constexpr double kLeastLength = 1e-15;

// v turned by the shortest rotation that takes the unit vector `from` to `to`: R v = v + w x v + w x (w x v)/(1 + c).
Vec3 turn(Vec3 from, Vec3 to, Vec3 v) {
  const Vec3 w = cross(from, to), wv = cross(w, v);
  return v + wv + cross(w, wv) * (1.0 / (1.0 + dot(from, to)));
}

Mat3 complete(Vec3 normal, Vec3 t1) {
  t1 = t1 - dot(t1, normal) * normal;
  t1 = t1 * (1.0 / std::sqrt(dot(t1, t1)));
  return {t1, cross(normal, t1), normal};
}

}  // namespace

// The frame at `home`, opposite to the exception, is the shortest rotation from z to there; from there it is turned the
// shortest way to the normal.
Mat3 contact_frame(Vec3 normal) {
  const Vec3 home(0.48, 0.64, 0.6), w = cross(home, normal);
  const Vec3 home_t1(0.856, -0.192, -0.48);  // turn(z, home, x)
  const bool at_exception = dot(home, normal) < 0.0 && dot(w, w) < kAligned * kAligned;
  return complete(normal, at_exception ? home_t1 : turn(home, normal, home_t1));
}

Mat3 contact_frame(Vec3 normal, Vec3 previous_t1) {
  const Vec3 t1 = previous_t1 - dot(previous_t1, normal) * normal;
  const bool usable = dot(t1, t1) > kAligned * kAligned * dot(previous_t1, previous_t1);
  return usable ? complete(normal, t1) : contact_frame(normal);
}

Mat3 mujoco_contact_frame(Vec3 normal) {
  return complete(normal, std::abs(normal.y()) < kSteep ? Vec3(0, 1, 0) : Vec3(0, 0, 1));
}

Mat3 mujoco_contact_frame(Vec3 normal, Vec3 axis) {
  for (const Vec3& t : {axis, Vec3(1, 0, 0)}) {
    const Vec3 t1 = t - dot(t, normal) * normal;
    if (dot(t1, t1) > kLeastLength * kLeastLength) return complete(normal, t1);
  }
  return mujoco_contact_frame(normal);
}

}  // namespace touchstone
