// Pairs whose signed distance has a formula that beats GJK and EPA: a sphere with a sphere, capsule, box, cylinder or
// cone, two capsules, and a half-space with anything. All inline: a call costs as much as the shortest of them.
#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include "touchstone/collision/narrow/minkowski.hpp"

namespace touchstone {

struct CoreContact {
  double distance = 0.0;  // signed, of the cores
  Vec3 normal;            // unit, from A to B
  Vec3 a, b;              // on the cores; b - a = distance * normal
};

namespace closed_forms {

// Below this fraction of the lengths, a distance is rounding error and gives no direction.
inline constexpr double kTouching = 1e-14;
// Shorter vectors (m^2) than this are zero: their inverse square may overflow.
inline constexpr double kTiny = 1e-280;

// Root and division run side by side: 1/d = d (1/d^2).
inline CoreContact between(Vec3 a, Vec3 ab, double scale, Vec3 fallback_normal) {
  const double squared = dot(ab, ab), distance = std::sqrt(squared), inverse = 1.0 / squared;
  if (squared > kTouching * kTouching * scale * scale + kTiny) return {distance, ab * (distance * inverse), a, a + ab};
  return {0.0, fallback_normal, a, a};
}

inline CoreContact points(Vec3 a, Vec3 b) { return between(a, b - a, 0.0, Vec3(0, 0, 1)); }

inline CoreContact segment_point(double half_length, const Pose& X, Vec3 point) {
  const Vec3 axis = X.R.c2;
  const Vec3 a = X.p + std::clamp(dot(axis, point - X.p), -half_length, half_length) * axis;
  return between(a, point - a, half_length, half_length > 0.0 ? X.R.c0 : Vec3(0, 0, 1));
}

// Ericson, "Real-Time Collision Detection", 2005, section 5.1.9: minimise over one parameter, clamp, minimise over the
// other, clamp.
inline CoreContact segment_segment(double half_a, const Pose& X_A, double half_b, const Pose& X_B) {
  const Vec3 u = X_A.R.c2, v = X_B.R.c2, p = X_B.p - X_A.p, both = cross(u, v);
  const Lanes products = sum_each(u.lanes * v.lanes, both.lanes * both.lanes, p.lanes * u.lanes, p.lanes * v.lanes);
  const double along = products[0], sine2 = products[1], p_u = products[2], p_v = products[3];
  // Nearest points of the lines: s on A, t on B. Nearly parallel lines: any t will do, the clamps do the rest.
  double t = sine2 > kTouching ? (p_u * along - p_v) / sine2 : 0.0;
  t = std::clamp(t, -half_b, half_b);
  double s = std::clamp(p_u + t * along, -half_a, half_a);
  t = std::clamp(s * along - p_v, -half_b, half_b);
  s = std::clamp(p_u + t * along, -half_a, half_a);
  const Vec3 ab = p + t * v - s * u, a = X_A.p + s * u;
  const double scale = half_a + half_b + std::abs(p_u) + std::abs(p_v);
  if (!(dot(ab, ab) > kTouching * kTouching * scale * scale)) {
    return {0.0, sine2 > kTouching ? both * (1.0 / std::sqrt(sine2)) : perpendicular(u), a, a};
  }
  return between(a, ab, 0.0, u);
}

// The nearest point of the surface seen from a point: signed distance and outward normal, both in the frame of A.
struct Outward {
  double distance;
  Vec3 normal;
};

inline Outward from_box(Vec3 half, Vec3 p) {
  const Lanes inside = p.lanes < -half.lanes ? -half.lanes : (p.lanes > half.lanes ? half.lanes : p.lanes);
  const Vec3 out(p.lanes - inside);
  const double squared = dot(out, out);
  if (squared > kTiny) {
    const double distance = std::sqrt(squared), inverse = 1.0 / squared;
    return {distance, out * (distance * inverse)};
  }
  const Vec3 gap(half.lanes - (p.lanes < 0.0 ? -p.lanes : p.lanes));
  int face = gap[1] < gap[0] ? 1 : 0;
  if (gap[2] < gap[face]) face = 2;
  Vec3 normal;
  normal.lanes[face] = p[face] < 0.0 ? -1.0 : 1.0;
  return {-gap[face], normal};
}

// A solid of revolution about z, by its profile: radial distance and height of the point give signed distance and
// normal in the half-plane.
struct Profile {
  double distance, radial, axial;
};

inline Profile cylinder_profile(Vec3 size, double rho, double z) {
  const double out = rho - size.x(), over = std::abs(z) - size.z(), up = std::copysign(1.0, z);
  if (out > 0.0 && over > 0.0) {
    const double squared = out * out + over * over, inverse = convex_support::inverse_root(squared);
    return {std::sqrt(squared), out * inverse, up * over * inverse};
  }
  return out > over ? Profile{out, 1.0, 0.0} : Profile{over, 0.0, up};
}

// A triangle with the tip (0, h), the rim (r, -h) and the centre of the base (0, -h).
inline Profile cone_profile(Vec3 size, double rho, double z) {
  const double r = size.x(), h = size.z(), slant2 = r * r + 4.0 * h * h;
  const double below = -h - z;
  if (!(slant2 > kTiny)) {  // a point
    const double squared = rho * rho + z * z, shrink = convex_support::inverse_root(squared);
    return shrink > 0.0 ? Profile{std::sqrt(squared), rho * shrink, z * shrink} : Profile{0.0, 0.0, 1.0};
  }
  if (below >= 0.0 && rho <= r) return {below, 0.0, -1.0};
  const double inverse = 1.0 / std::sqrt(slant2);
  const double side = (2.0 * h * (rho - r) + r * (z + h)) * inverse;  // beyond the slant line
  if (side <= 0.0 && below <= 0.0) {
    return side > below ? Profile{side, 2.0 * h * inverse, r * inverse} : Profile{below, 0.0, -1.0};
  }
  const double t = std::clamp((2.0 * h * (z + h) - r * (rho - r)) * inverse * inverse, 0.0, 1.0);  // from rim to tip
  if (t > 0.0 && t < 1.0) return {side, 2.0 * h * inverse, r * inverse};
  const double out = rho - (1.0 - t) * r, over = z - (2.0 * t - 1.0) * h;
  const double squared = out * out + over * over, shrink = convex_support::inverse_root(squared);
  return shrink > 0.0 ? Profile{std::sqrt(squared), out * shrink, over * shrink} : Profile{0.0, 0.0, 1.0};
}

inline Outward from_round(CoreType core, Vec3 size, Vec3 p) {
  const double squared = p.x() * p.x() + p.y() * p.y(), rho = std::sqrt(squared);
  const Profile found =
      core == CoreType::kCylinder ? cylinder_profile(size, rho, p.z()) : cone_profile(size, rho, p.z());
  const double inverse = convex_support::inverse_root(squared), scale = found.radial * inverse;
  if (!(inverse > 0.0)) return {found.distance, Vec3(found.radial, 0.0, found.axial)};
  return {found.distance, Vec3(scale * p.x(), scale * p.y(), found.axial)};
}

inline CoreContact solid_point(const ConvexShape& A, const Pose& X, Vec3 point) {
  const Vec3 local = transpose_times(X.R, point - X.p);
  const Outward out = A.core() == CoreType::kBox ? from_box(A.size(), local) : from_round(A.core(), A.size(), local);
  const Vec3 normal = X.R * out.normal;
  return {out.distance, normal, point - out.distance * normal, point};
}

// A is the half-space below its plane: the lowest point of B decides.
inline CoreContact half_space_any(const Pose& X_A, const ConvexShape& B, const Pose& X_B) {
  const Vec3 up = X_A.R.c2;
  if (!B.bounded()) {  // two half-spaces meet somewhere, unless they face each other
    const bool facing = dot(up, X_B.R.c2) <= -1.0 + 1e-15;
    const double height = dot(up, X_B.p - X_A.p);
    const Vec3 foot = X_B.p - height * up;
    return facing ? CoreContact{height, up, foot, X_B.p} : CoreContact{-kInfinity, up, foot, foot};
  }
  int vertex = -1;
  const Vec3 b = X_B * B.support(transpose_times(X_B.R, -up), vertex);
  const double height = dot(up, b - X_A.p);
  return {height, up, b - height * up, b};
}

// Pairs in the order that solve_ordered wants.
constexpr bool ordered(CoreType a, CoreType b) {
  if (a == CoreType::kHalfSpace) return true;
  if (b == CoreType::kPoint) return a <= CoreType::kCone && a != CoreType::kTriangle;
  return a == CoreType::kSegment && b == CoreType::kSegment;
}

[[gnu::always_inline]] inline CoreContact solve_ordered(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B,
                                                        const Pose& X_WB) {
  switch (A.core()) {
    case CoreType::kHalfSpace:
      return half_space_any(X_WA, B, X_WB);
    case CoreType::kPoint:
      return points(X_WA.p, X_WB.p);
    case CoreType::kSegment:
      if (B.core() == CoreType::kPoint) return segment_point(A.size().z(), X_WA, X_WB.p);
      return segment_segment(A.size().z(), X_WA, B.size().z(), X_WB);
    default:
      return solid_point(A, X_WA, X_WB.p);
  }
}

// The table of all pairs in both orders, a bit for each.
constexpr std::array<std::uint16_t, kCoreTypes> known_pairs() {
  static_assert(kCoreTypes <= 16);
  std::array<std::uint16_t, kCoreTypes> known{};
  for (unsigned a = 0; a < kCoreTypes; ++a) {
    for (unsigned b = 0; b < kCoreTypes; ++b) {
      const auto A = static_cast<CoreType>(a), B = static_cast<CoreType>(b);
      if (ordered(A, B) || ordered(B, A)) known[a] = static_cast<std::uint16_t>(known[a] | (1u << b));
    }
  }
  return known;
}

}  // namespace closed_forms

inline bool has_closed_form(CoreType a, CoreType b) {
  constexpr std::array<std::uint16_t, kCoreTypes> kKnown = closed_forms::known_pairs();
  return ((kKnown[static_cast<unsigned>(a)] >> static_cast<unsigned>(b)) & 1) != 0;
}

// Signed distance of the cores, in the world. The pair must have a closed form.
[[gnu::always_inline]] inline CoreContact closed_form(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B,
                                                      const Pose& X_WB) {
  if (closed_forms::ordered(A.core(), B.core())) return closed_forms::solve_ordered(A, X_WA, B, X_WB);
  const CoreContact c = closed_forms::solve_ordered(B, X_WB, A, X_WA);
  return {c.distance, -c.normal, c.b, c.a};
}

}  // namespace touchstone
