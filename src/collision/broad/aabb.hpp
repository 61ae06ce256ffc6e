// Axis-aligned boxes as the trees hold them.
#pragma once

#include <bit>
#include <limits>

#include "touchstone/geometry/mesh.hpp"
#include "touchstone/math/vec3.hpp"

namespace touchstone {

// The points with lower <= x <= upper in every coordinate. Bounds may be infinite; a box with lower > upper is empty.
struct Aabb {
  Vec3 lower, upper;

  Aabb() = default;
  Aabb(Vec3 low, Vec3 high) : lower(low), upper(high) {}
  explicit Aabb(const Bounds& bounds) : lower(bounds.lower), upper(bounds.upper) {}

  static Aabb empty() { return {Vec3(kInfinity, kInfinity, kInfinity), Vec3(-kInfinity, -kInfinity, -kInfinity)}; }
  Vec3 centre() const { return 0.5 * (lower + upper); }
};

namespace aabb_lanes {

using Mask = long long __attribute__((vector_size(32)));

inline Lanes min(Lanes a, Lanes b) { return a < b ? a : b; }
inline Lanes max(Lanes a, Lanes b) { return a > b ? a : b; }

// Whether a <= b in the first three lanes; the fourth lanes are zero.
inline bool all_less_equal(Lanes a, Lanes b) {
  const Mask m = a <= b;
#ifdef __AVX__
  return __builtin_ia32_movmskpd256(std::bit_cast<Lanes>(m)) == 0xf;
#else
  return (m[0] & m[1] & m[2]) != 0;
#endif
}

}  // namespace aabb_lanes

inline Aabb join(const Aabb& a, const Aabb& b) {
  return {Vec3(aabb_lanes::min(a.lower.lanes, b.lower.lanes)), Vec3(aabb_lanes::max(a.upper.lanes, b.upper.lanes))};
}

inline bool overlap(const Aabb& a, const Aabb& b) {
  return aabb_lanes::all_less_equal(a.lower.lanes, b.upper.lanes) &&
         aabb_lanes::all_less_equal(b.lower.lanes, a.upper.lanes);
}

inline bool contains(const Aabb& outer, const Aabb& inner) {
  return aabb_lanes::all_less_equal(outer.lower.lanes, inner.lower.lanes) &&
         aabb_lanes::all_less_equal(inner.upper.lanes, outer.upper.lanes);
}

// Half of the surface area: what tree building minimises.
inline double half_area(const Aabb& box) {
  const Vec3 d = box.upper - box.lower;
  return d.x() * d.y() + d.y() * d.z() + d.z() * d.x();
}

inline Aabb grown(const Aabb& box, double margin) {
  const Vec3 m(margin, margin, margin);
  return {box.lower - m, box.upper + m};
}

// The box of all places on the way from `box` to `box + displacement`.
inline Aabb swept(const Aabb& box, Vec3 displacement) {
  const Lanes zero{};
  return {Vec3(box.lower.lanes + aabb_lanes::min(displacement.lanes, zero)),
          Vec3(box.upper.lanes + aabb_lanes::max(displacement.lanes, zero))};
}

// Where the ray origin + t direction, t in [0, length], enters the box; a value above `length` when it does not.
// `inverse` is 1/direction, infinite where the direction is zero.
double ray_entry(const Aabb& box, Vec3 origin, Vec3 inverse, double length);

}  // namespace touchstone
