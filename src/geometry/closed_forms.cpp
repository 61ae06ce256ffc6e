#include "touchstone/geometry/closed_forms.hpp"

#include <algorithm>
#include <limits>

#include "touchstone/geometry/minkowski.hpp"

namespace touchstone {
namespace {

// Below this fraction of the lengths, a distance is rounding error and gives no direction.
constexpr double kTouching = 1e-14;

CoreContact between(Vec3 a, Vec3 b, double scale, Vec3 fallback_normal) {
  const Vec3 ab = b - a;
  const double distance = norm(ab);
  if (distance > kTouching * scale) return {distance, ab * (1.0 / distance), a, b};
  return {0.0, fallback_normal, a, a};
}

CoreContact point_segment(double half_length, Vec3 point) {
  const Vec3 a(0.0, 0.0, std::clamp(point.z(), -half_length, half_length));
  return between(a, point, half_length, half_length > 0.0 ? Vec3(1, 0, 0) : Vec3(0, 0, 1));
}

// Ericson, "Real-Time Collision Detection", 2005, section 5.1.9, for A's segment along z at the origin: minimise over
// one parameter, clamp, minimise over the other, clamp.
CoreContact segment_segment(double half_a, double half_b, const Pose& X_AB) {
  const Vec3 u = X_AB.R.c2, p = X_AB.p;
  const double along = u.z(), sine2 = u.x() * u.x() + u.y() * u.y();
  const double p_u = dot(p, u);
  // Nearest points of the lines: s on A, t on B. Nearly parallel lines: any t will do, the clamps do the rest.
  double t = sine2 > kTouching ? (p.z() * along - p_u) / sine2 : 0.0;
  t = std::clamp(t, -half_b, half_b);
  const double s = std::clamp(p.z() + t * along, -half_a, half_a);
  t = std::clamp(s * along - p_u, -half_b, half_b);
  const double s_final = std::clamp(p.z() + t * along, -half_a, half_a);
  const Vec3 a(0.0, 0.0, s_final), b = p + t * u;
  const Vec3 both = cross(Vec3(0, 0, 1), u);
  const Vec3 fallback = sine2 > kTouching ? both * (1.0 / norm(both)) : Vec3(1, 0, 0);
  return between(a, b, half_a + half_b + norm(p), fallback);
}

CoreContact box_point(Vec3 half, Vec3 point) {
  Vec3 nearest;
  int face = -1;
  double gap = std::numeric_limits<double>::infinity();  // to the nearest face, for a point inside
  for (int k = 0; k < 3; ++k) {
    nearest.lanes[k] = std::clamp(point[k], -half[k], half[k]);
    const double to_face = half[k] - std::abs(point[k]);
    if (to_face < gap) {
      gap = to_face;
      face = k;
    }
  }
  if (gap < 0.0) {
    const Vec3 out = point - nearest;
    const double distance = norm(out);
    if (distance > 0.0) return {distance, out * (1.0 / distance), nearest, point};
  }
  Vec3 normal, a = point;
  const double sign = point[std::max(face, 0)] < 0.0 ? -1.0 : 1.0;
  normal.lanes[std::max(face, 0)] = sign;
  a.lanes[std::max(face, 0)] = sign * half[std::max(face, 0)];
  return {-gap, normal, a, point};
}

// A is the half-space z <= 0: the lowest point of B decides.
CoreContact half_space_any(const ConvexShape& B, const Pose& X_AB) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Vec3 up(0, 0, 1);
  if (!B.bounded()) {  // two half-spaces meet somewhere, unless they face each other
    const bool facing = X_AB.R.c2.z() <= -1.0 + 1e-15;
    const Vec3 foot(X_AB.p.x(), X_AB.p.y(), 0.0);
    return facing ? CoreContact{X_AB.p.z(), up, foot, X_AB.p} : CoreContact{-kInfinity, up, foot, foot};
  }
  int vertex = -1;
  const Vec3 b = X_AB * B.support(transpose_times(X_AB.R, -up), vertex);
  return {b.z(), up, Vec3(b.x(), b.y(), 0.0), b};
}

bool ordered(CoreType a, CoreType b) {
  if (a == CoreType::kHalfSpace) return true;
  if (b == CoreType::kPoint) return a == CoreType::kPoint || a == CoreType::kSegment || a == CoreType::kBox;
  return a == CoreType::kSegment && b == CoreType::kSegment;
}

CoreContact solve_ordered(const ConvexShape& A, const ConvexShape& B, const Pose& X_AB) {
  switch (A.core()) {
    case CoreType::kHalfSpace:
      return half_space_any(B, X_AB);
    case CoreType::kPoint:
      return between(Vec3(), X_AB.p, 0.0, Vec3(0, 0, 1));
    case CoreType::kBox:
      return box_point(A.size(), X_AB.p);
    default:
      if (B.core() == CoreType::kPoint) return point_segment(A.size().z(), X_AB.p);
      return segment_segment(A.size().z(), B.size().z(), X_AB);
  }
}

}  // namespace

bool has_closed_form(CoreType a, CoreType b) { return ordered(a, b) || ordered(b, a); }

CoreContact closed_form(const ConvexShape& A, const ConvexShape& B, const Pose& X_AB) {
  if (ordered(A.core(), B.core())) return solve_ordered(A, B, X_AB);
  const Pose X_BA{transpose(X_AB.R), -transpose_times(X_AB.R, X_AB.p)};
  const CoreContact c = solve_ordered(B, A, X_BA);
  return {c.distance, X_AB.R * -c.normal, X_AB * c.b, X_AB * c.a};
}

}  // namespace touchstone
