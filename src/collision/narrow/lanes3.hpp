// Four vectors side by side, one to a lane: the arithmetic of triangles and tetrahedra, four at a time.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "touchstone/math/vec3.hpp"

namespace touchstone {

using Mask = long long __attribute__((vector_size(32)));  // all bits set where a comparison of lanes holds

struct Lanes3 {
  Lanes x, y, z;
};

inline Lanes3 operator-(const Lanes3& a, const Lanes3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Lanes dot(const Lanes3& a, const Lanes3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Lanes3 cross(const Lanes3& a, const Lanes3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline Lanes3 select(Mask m, const Lanes3& a, const Lanes3& b) { return {m ? a.x : b.x, m ? a.y : b.y, m ? a.z : b.z}; }

inline Lanes3 transposed(Vec3 a, Vec3 b, Vec3 c, Vec3 d) {
  const Lanes ab_xz = __builtin_shufflevector(a.lanes, b.lanes, 0, 4, 2, 6);
  const Lanes ab_yw = __builtin_shufflevector(a.lanes, b.lanes, 1, 5, 3, 7);
  const Lanes cd_xz = __builtin_shufflevector(c.lanes, d.lanes, 0, 4, 2, 6);
  const Lanes cd_yw = __builtin_shufflevector(c.lanes, d.lanes, 1, 5, 3, 7);
  return {__builtin_shufflevector(ab_xz, cd_xz, 0, 1, 4, 5), __builtin_shufflevector(ab_yw, cd_yw, 0, 1, 4, 5),
          __builtin_shufflevector(ab_xz, cd_xz, 2, 3, 6, 7)};
}
inline Lanes3 transposed(const Vec3* v) { return transposed(v[0], v[1], v[2], v[3]); }

inline Lanes absolute(Lanes a) {
  return std::bit_cast<Lanes>(std::bit_cast<Mask>(a) & std::numeric_limits<long long>::max());
}

inline Lanes square_root(Lanes a) {  // compilers make one instruction of it
  return Lanes{std::sqrt(a[0]), std::sqrt(a[1]), std::sqrt(a[2]), std::sqrt(a[3])};
}

}  // namespace touchstone
