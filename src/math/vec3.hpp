// Three-vectors and 3x3 matrices padded to four lanes, the arithmetic of every hot loop.
//
// A 3-vector of doubles does not fill a SIMD register, so compilers leave most 3D arithmetic scalar.
// Padded to four lanes it is one AVX register: an addition or multiplication is one instruction, a
// matrix-vector product is three. Invariant: the fourth lane is zero, so that a dot product may sum all
// four. Vector extensions of g++ and clang are used; on narrower targets the compiler splits the lanes.
#pragma once

#include "touchstone/math/types.hpp"

namespace touchstone {

using Lanes = double __attribute__((vector_size(32)));

inline Lanes broadcast(double s) { return Lanes{s, s, s, s}; }

struct Vec3 {
  Lanes lanes{0.0, 0.0, 0.0, 0.0};

  Vec3() = default;
  explicit Vec3(Lanes l) : lanes(l) {}
  Vec3(double x, double y, double z) : lanes{x, y, z, 0.0} {}
  explicit Vec3(const Vector3& v) : lanes{v.x(), v.y(), v.z(), 0.0} {}

  double operator[](int i) const { return lanes[i]; }
  double x() const { return lanes[0]; }
  double y() const { return lanes[1]; }
  double z() const { return lanes[2]; }
  Vector3 eigen() const { return {lanes[0], lanes[1], lanes[2]}; }

  Vec3& operator+=(Vec3 b) {
    lanes += b.lanes;
    return *this;
  }
  Vec3& operator-=(Vec3 b) {
    lanes -= b.lanes;
    return *this;
  }
};

inline Vec3 operator+(Vec3 a, Vec3 b) { return Vec3(a.lanes + b.lanes); }
inline Vec3 operator-(Vec3 a, Vec3 b) { return Vec3(a.lanes - b.lanes); }
inline Vec3 operator-(Vec3 a) { return Vec3(-a.lanes); }
inline Vec3 operator*(Vec3 a, double s) { return Vec3(a.lanes * broadcast(s)); }
inline Vec3 operator*(double s, Vec3 a) { return a * s; }

inline double sum(Lanes a) { return (a[0] + a[1]) + (a[2] + a[3]); }
inline double dot(Vec3 a, Vec3 b) { return sum(a.lanes * b.lanes); }

inline Lanes rotate_left(Lanes a) { return __builtin_shufflevector(a, a, 1, 2, 0, 3); }

inline Vec3 cross(Vec3 a, Vec3 b) {
  return Vec3(rotate_left(a.lanes * rotate_left(b.lanes) - rotate_left(a.lanes) * b.lanes));
}

// For four vectors of lanes: lane i of the result is the sum of the lanes of argument i.
inline Lanes sum_each(Lanes a, Lanes b, Lanes c, Lanes d) {
  const Lanes ab = __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
  const Lanes cd = __builtin_shufflevector(c, d, 0, 4, 2, 6) + __builtin_shufflevector(c, d, 1, 5, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

// A 3x3 matrix by columns.
struct Mat3 {
  Vec3 c0, c1, c2;

  Mat3() = default;
  Mat3(Vec3 a, Vec3 b, Vec3 c) : c0(a), c1(b), c2(c) {}
  explicit Mat3(const Matrix3& m) : c0(m.col(0)), c1(m.col(1)), c2(m.col(2)) {}
  static Mat3 identity() { return {Vec3(1, 0, 0), Vec3(0, 1, 0), Vec3(0, 0, 1)}; }

  Matrix3 eigen() const {
    Matrix3 m;
    m << c0.eigen(), c1.eigen(), c2.eigen();
    return m;
  }

  Mat3& operator+=(const Mat3& b) {
    c0 += b.c0;
    c1 += b.c1;
    c2 += b.c2;
    return *this;
  }
};

inline Vec3 operator*(const Mat3& m, Vec3 v) {
  return Vec3(m.c0.lanes * broadcast(v.lanes[0]) + m.c1.lanes * broadcast(v.lanes[1]) +
              m.c2.lanes * broadcast(v.lanes[2]));
}
inline Mat3 operator*(const Mat3& a, const Mat3& b) { return {a * b.c0, a * b.c1, a * b.c2}; }

inline Mat3 transpose(const Mat3& m) {
  const Lanes lo = __builtin_shufflevector(m.c0.lanes, m.c1.lanes, 0, 4, 2, 6);  // m00 m01 m20 m21
  const Lanes hi = __builtin_shufflevector(m.c0.lanes, m.c1.lanes, 1, 5, 3, 7);  // m10 m11 0 0
  const Lanes c = m.c2.lanes;
  return {Vec3(__builtin_shufflevector(lo, c, 0, 1, 4, 7)), Vec3(__builtin_shufflevector(hi, c, 0, 1, 5, 7)),
          Vec3(__builtin_shufflevector(lo, c, 2, 3, 6, 7))};
}

// m' v, without forming the transpose.
inline Vec3 transpose_times(const Mat3& m, Vec3 v) {
  return Vec3(sum_each(m.c0.lanes * v.lanes, m.c1.lanes * v.lanes, m.c2.lanes * v.lanes, Lanes{}));
}

// The pose X_WB as the hot loops hold it.
struct Pose {
  Mat3 R = Mat3::identity();
  Vec3 p;

  Pose() = default;
  Pose(const Mat3& rotation, Vec3 position) : R(rotation), p(position) {}
  explicit Pose(const Transform& X) : R(X.rotation.toRotationMatrix()), p(X.position) {}

  Pose operator*(const Pose& X_BC) const { return {R * X_BC.R, p + R * X_BC.p}; }
  Vec3 operator*(Vec3 point_B) const { return p + R * point_B; }
  Transform transform() const { return {p.eigen(), Quaternion(R.eigen()).normalized()}; }
};

// X_AB.
inline Pose relative(const Pose& X_WA, const Pose& X_WB) {
  const Mat3 R_AW = transpose(X_WA.R);
  return {R_AW * X_WB.R, R_AW * (X_WB.p - X_WA.p)};
}

}  // namespace touchstone
