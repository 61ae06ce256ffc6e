// Vectors, rotations and spatial quantities as plain numbers, the same for processor and GPU. Conventions are those of
// math/spatial.hpp: world axes, spatial quantities of a tree about the origin of its root body.
#pragma once

#include "touchstone/gpu/team.hpp"

namespace touchstone::gpu {

struct Vec {
  double x, y, z;
};

TOUCHSTONE_LANE Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
TOUCHSTONE_LANE Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
TOUCHSTONE_LANE Vec operator-(Vec a) { return {-a.x, -a.y, -a.z}; }
TOUCHSTONE_LANE Vec operator*(double s, Vec a) { return {s * a.x, s * a.y, s * a.z}; }
TOUCHSTONE_LANE double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
TOUCHSTONE_LANE Vec cross(Vec a, Vec b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
TOUCHSTONE_LANE double length(Vec a) { return sqrt(dot(a, a)); }
TOUCHSTONE_LANE Vec load_vec(const double* p) { return {p[0], p[1], p[2]}; }
TOUCHSTONE_LANE void store(Vec a, double* p) { p[0] = a.x, p[1] = a.y, p[2] = a.z; }
TOUCHSTONE_LANE double entry(Vec a, int k) { return k == 0 ? a.x : (k == 1 ? a.y : a.z); }
TOUCHSTONE_LANE Vec axis(int k, double value) {
  return {k == 0 ? value : 0.0, k == 1 ? value : 0.0, k == 2 ? value : 0.0};
}
TOUCHSTONE_LANE double clamp(double x, double lo, double hi) { return x < lo ? lo : (x > hi ? hi : x); }
TOUCHSTONE_LANE float root(float x) { return sqrtf(x); }
TOUCHSTONE_LANE double root(double x) { return sqrt(x); }
#ifdef __CUDA_ARCH__
TOUCHSTONE_LANE double inverse_root(double x) { return rsqrt(x); }
#else
TOUCHSTONE_LANE double inverse_root(double x) { return 1.0 / sqrt(x); }
#endif
TOUCHSTONE_LANE double least(double a, double b) { return a < b ? a : b; }
TOUCHSTONE_LANE double most(double a, double b) { return a > b ? a : b; }

// A rotation by columns.
struct Mat {
  Vec a, b, c;
};

TOUCHSTONE_LANE Vec operator*(const Mat& m, Vec v) { return v.x * m.a + v.y * m.b + v.z * m.c; }
TOUCHSTONE_LANE Mat operator*(const Mat& m, const Mat& n) { return {m * n.a, m * n.b, m * n.c}; }
TOUCHSTONE_LANE Vec transpose_times(const Mat& m, Vec v) { return {dot(m.a, v), dot(m.b, v), dot(m.c, v)}; }
TOUCHSTONE_LANE Mat load_mat(const double* p) { return {load_vec(p), load_vec(p + 3), load_vec(p + 6)}; }

// 12 numbers in memory: the rotation by columns, then the position.
struct Pose {
  Mat R;
  Vec p;
};

TOUCHSTONE_LANE Pose load_pose(const double* p) { return {load_mat(p), load_vec(p + 9)}; }
TOUCHSTONE_LANE void store(const Pose& X, double* p) {
  store(X.R.a, p), store(X.R.b, p + 3), store(X.R.c, p + 6), store(X.p, p + 9);
}
TOUCHSTONE_LANE Pose operator*(const Pose& X, const Pose& Y) { return {X.R * Y.R, X.p + X.R * Y.p}; }
TOUCHSTONE_LANE Vec operator*(const Pose& X, Vec v) { return X.p + X.R * v; }

// Spatial motions and forces: 6 numbers in memory, angular part (torque) first.
struct Motion {
  Vec w, v;
};
struct Wrench {
  Vec n, f;
};

TOUCHSTONE_LANE Motion load_motion(const double* p) { return {load_vec(p), load_vec(p + 3)}; }
TOUCHSTONE_LANE Wrench load_wrench(const double* p) { return {load_vec(p), load_vec(p + 3)}; }
TOUCHSTONE_LANE void store(const Motion& m, double* p) { store(m.w, p), store(m.v, p + 3); }
TOUCHSTONE_LANE void store(const Wrench& f, double* p) { store(f.n, p), store(f.f, p + 3); }
TOUCHSTONE_LANE Motion operator+(const Motion& a, const Motion& b) { return {a.w + b.w, a.v + b.v}; }
TOUCHSTONE_LANE Motion operator*(double s, const Motion& a) { return {s * a.w, s * a.v}; }
TOUCHSTONE_LANE Wrench operator+(const Wrench& a, const Wrench& b) { return {a.n + b.n, a.f + b.f}; }
TOUCHSTONE_LANE double dot(const Motion& m, const Wrench& f) { return dot(m.w, f.n) + dot(m.v, f.f); }
TOUCHSTONE_LANE Motion cross(const Motion& a, const Motion& b) {
  return {cross(a.w, b.w), cross(a.w, b.v) + cross(a.v, b.w)};
}

// w, x, y, z.
struct Quaternion {
  double w;
  Vec v;
};

TOUCHSTONE_LANE Quaternion load_quaternion(const double* p) { return {p[0], {p[1], p[2], p[3]}}; }
TOUCHSTONE_LANE Quaternion operator*(const Quaternion& a, const Quaternion& b) {
  return {a.w * b.w - dot(a.v, b.v), a.w * b.v + b.w * a.v + cross(a.v, b.v)};
}
TOUCHSTONE_LANE Quaternion unit(const Quaternion& q) {
  const double s = 1.0 / sqrt(q.w * q.w + dot(q.v, q.v));
  return {s * q.w, s * q.v};
}

// The rotation of a quaternion of any length.
TOUCHSTONE_LANE Mat rotation(const Quaternion& q) {
  const double s = 2.0 / (q.w * q.w + dot(q.v, q.v)), w = q.w, x = q.v.x, y = q.v.y, z = q.v.z;
  return {{1.0 - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y)},
          {s * (x * y - w * z), 1.0 - s * (x * x + z * z), s * (y * z + w * x)},
          {s * (x * z + w * y), s * (y * z - w * x), 1.0 - s * (x * x + y * y)}};
}

// The rotation by an angle about a unit axis (Rodrigues).
TOUCHSTONE_LANE Mat rotation(Vec u, double angle) {
  const double s = sin(angle), c = cos(angle), t = 1.0 - c;
  return {{c + t * u.x * u.x, t * u.x * u.y + s * u.z, t * u.x * u.z - s * u.y},
          {t * u.x * u.y - s * u.z, c + t * u.y * u.y, t * u.y * u.z + s * u.x},
          {t * u.x * u.z + s * u.y, t * u.y * u.z - s * u.x, c + t * u.z * u.z}};
}

// The unit quaternion of a rotation vector, and back (of length at most pi).
TOUCHSTONE_LANE Quaternion exponential(Vec w) {
  const double half = 0.5 * length(w);
  const double scale = half > 1e-4 ? 0.5 * sin(half) / half : 0.5 * (1.0 - half * half / 6.0);
  return {cos(half), scale * w};
}
TOUCHSTONE_LANE Vec logarithm(Quaternion q) {
  if (q.w < 0.0) q = {-q.w, -q.v};
  const double s = length(q.v);
  const double scale = s > 1e-8 ? 2.0 * atan2(s, q.w) / s : 2.0 / q.w;
  return scale * q.v;
}

// The quaternion of a rotation matrix (Shepperd: the largest of four divisors).
TOUCHSTONE_LANE Quaternion quaternion(const Mat& R) {
  const double t = R.a.x + R.b.y + R.c.z;
  if (t > 0.0) {
    const double s = sqrt(1.0 + t), k = 0.5 / s;
    return {0.5 * s, {k * (R.b.z - R.c.y), k * (R.c.x - R.a.z), k * (R.a.y - R.b.x)}};
  }
  if (R.a.x >= R.b.y && R.a.x >= R.c.z) {
    const double s = sqrt(1.0 + R.a.x - R.b.y - R.c.z), k = 0.5 / s;
    return {k * (R.b.z - R.c.y), {0.5 * s, k * (R.a.y + R.b.x), k * (R.c.x + R.a.z)}};
  }
  if (R.b.y >= R.c.z) {
    const double s = sqrt(1.0 + R.b.y - R.a.x - R.c.z), k = 0.5 / s;
    return {k * (R.c.x - R.a.z), {k * (R.a.y + R.b.x), 0.5 * s, k * (R.b.z + R.c.y)}};
  }
  const double s = sqrt(1.0 + R.c.z - R.a.x - R.b.y), k = 0.5 / s;
  return {k * (R.a.y - R.b.x), {k * (R.c.x + R.a.z), k * (R.b.z + R.c.y), 0.5 * s}};
}

// The frame t1, t2, n of a unit normal: that of collision/manifold/contact_frame.hpp, smooth but at one point.
TOUCHSTONE_LANE Mat contact_frame(Vec n) {
  constexpr double kAligned = 1e-7;
  const Vec home{0.48, 0.64, 0.6}, home_t1{0.856, -0.192, -0.48};
  const Vec w = cross(home, n);
  const bool at_exception = dot(home, n) < 0.0 && dot(w, w) < kAligned * kAligned;
  Vec t = home_t1;
  if (!at_exception) {
    const Vec wt = cross(w, home_t1);
    t = home_t1 + wt + (1.0 / (1.0 + dot(home, n))) * cross(w, wt);
  }
  t = t - dot(t, n) * n;
  t = (1.0 / length(t)) * t;
  return {t, cross(n, t), n};
}

}  // namespace touchstone::gpu
