// Random shapes and poses, and oracles that share no code with the library, for the tests of the narrow phase.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <Eigen/Dense>

#include "touchstone/collision/narrow/query.hpp"

namespace touchstone::test {

using Random = std::mt19937_64;

inline double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

inline Vector3 random_sizes(Random& random, double low, double high) {
  const double z = uniform(random, low, high), y = uniform(random, low, high), x = uniform(random, low, high);
  return {x, y, z};
}

inline Vector3 random_unit(Random& random) {
  std::normal_distribution<double> normal;
  const double z = normal(random), y = normal(random), x = normal(random);  // in order, whatever the compiler
  return Vector3(x, y, z).normalized();
}

inline Quaternion random_rotation(Random& random) {
  std::normal_distribution<double> normal;
  const double z = normal(random), y = normal(random), x = normal(random), w = normal(random);
  return Quaternion(w, x, y, z).normalized();
}

inline Pose random_pose(Random& random, double reach) {
  return Pose(Transform{reach * uniform(random, 0.0, 1.0) * random_unit(random), random_rotation(random)});
}

inline std::vector<Vector3> random_points(Random& random, int count, double size) {
  std::vector<Vector3> points;
  const Vector3 stretch = random_sizes(random, 0.3, 1.0);
  points.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) points.push_back(size * stretch.cwiseProduct(random_unit(random)));
  return points;
}

inline std::vector<Vector3> box_points(const Vector3& half) {
  std::vector<Vector3> points;
  points.reserve(8);
  for (int i = 0; i < 8; ++i) {
    points.emplace_back((i & 1) != 0 ? half.x() : -half.x(), (i & 2) != 0 ? half.y() : -half.y(),
                        (i & 4) != 0 ? half.z() : -half.z());
  }
  return points;
}

// One shape of each kind, with random sizes between 0.2 and 1.
constexpr int kShapeKinds = 12;
inline ConvexShape random_shape(Random& random, int kind) {
  const Vector3 s = random_sizes(random, 0.2, 1.0);
  const double radius = 0.3 * uniform(random, 0.2, 1.0);
  switch (kind) {
    case 0:
      return ConvexShape::sphere(s.x());
    case 1:
      return ConvexShape::capsule(s.x(), s.y());
    case 2:
      return ConvexShape::box(s);
    case 3:
      return ConvexShape::ellipsoid(s);
    case 4:
      return ConvexShape::cylinder(s.x(), s.y());
    case 5:
      return ConvexShape::cone(s.x(), s.y());
    case 6:
      return ConvexShape::polytope(random_points(random, 40, 1.0));
    case 7:
      return ConvexShape::polytope(box_points(s));
    case 8:
      return ConvexShape::box(s, radius);
    case 9:
      return ConvexShape::cylinder(s.x(), s.y(), radius);
    case 10: {
      const Vector3 a = random_unit(random), b = random_unit(random), c = random_unit(random);
      return ConvexShape::triangle(Vec3(a), Vec3(b), Vec3(c));
    }
    default:
      return ConvexShape::half_space();
  }
}

inline std::vector<Vector3> moved(const std::vector<Vector3>& points, const Pose& X) {
  std::vector<Vector3> result;
  result.reserve(points.size());
  for (const Vector3& p : points) result.push_back((X * Vec3(p)).eigen());
  return result;
}

inline std::vector<Vector3> minkowski(const std::vector<Vector3>& a, const std::vector<Vector3>& b) {
  std::vector<Vector3> d;
  d.reserve(a.size() * b.size());
  for (const Vector3& p : a) {
    for (const Vector3& q : b) d.push_back(p - q);
  }
  return d;
}

// The minimum-norm point of a hull by Wolfe's active-set method, dense, in long double: the QP
// min |P' l|^2, l >= 0, sum l = 1. Returns its norm.
inline double minimum_norm(const std::vector<Vector3>& points) {
  using Real = long double;
  using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
  using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;
  using Vector3L = Eigen::Matrix<Real, 3, 1>;
  Real scale = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    scale = std::max<Real>(scale, points[i].squaredNorm());
    if (points[i].squaredNorm() < points[start].squaredNorm()) start = i;
  }
  std::vector<std::size_t> active{start};
  std::vector<Real> weights{1};
  Vector3L x = points[start].cast<Real>();
  for (int major = 0; major < 1000; ++major) {
    std::size_t least = 0;
    for (std::size_t i = 1; i < points.size(); ++i) {
      if (x.dot(points[i].cast<Real>()) < x.dot(points[least].cast<Real>())) least = i;
    }
    const bool repeated = std::find(active.begin(), active.end(), least) != active.end();
    if (repeated || x.dot(points[least].cast<Real>()) >= x.squaredNorm() - Real(1e-17) * scale) break;
    active.push_back(least);
    weights.push_back(0);
    while (true) {  // minor cycle: the affine minimiser, or a step towards it that drops a point
      const auto n = static_cast<Eigen::Index>(active.size());
      Matrix K = Matrix::Ones(n + 1, n + 1);
      K(n, n) = 0;
      for (Eigen::Index i = 0; i < n; ++i) {
        for (Eigen::Index j = 0; j < n; ++j) {
          K(i, j) = points[active[static_cast<std::size_t>(i)]].cast<Real>().dot(
                        points[active[static_cast<std::size_t>(j)]].cast<Real>()) /
                    scale;
        }
      }
      Vector rhs = Vector::Zero(n + 1);
      rhs[n] = 1;
      const Vector solution = K.fullPivLu().solve(rhs);
      Real step = 1;
      for (Eigen::Index i = 0; i < n; ++i) {
        const Real w = weights[static_cast<std::size_t>(i)];
        if (solution[i] <= 0 && w - solution[i] > 0) step = std::min(step, w / (w - solution[i]));
      }
      std::size_t kept = 0;
      for (std::size_t i = 0; i < active.size(); ++i) {
        const Real w = weights[i] + step * (solution[static_cast<Eigen::Index>(i)] - weights[i]);
        if (w <= Real(1e-18)) continue;
        active[kept] = active[i];
        weights[kept++] = w;
      }
      active.resize(kept);
      weights.resize(kept);
      x.setZero();
      for (std::size_t i = 0; i < kept; ++i) x += weights[i] * points[active[i]].cast<Real>();
      if (step >= 1) break;
    }
  }
  return static_cast<double>(x.norm());
}

// Depth of two overlapping polytopes by the separating axis theorem: the least extent of A - B along any face normal of
// either or cross product of their edges. Exact, brute force.
struct SatShape {
  std::vector<Vector3> points;
  std::vector<Vector3> normals, edges;
};

inline SatShape sat_shape(const ConvexShape& polytope, const Pose& X) {
  SatShape s;
  for (const Vec3& v : polytope.polytope()->vertices) s.points.push_back((X * v).eigen());
  for (const Eigen::Vector3i& t : polytope.polytope()->triangles) {
    const auto p = [&](int k) { return s.points[static_cast<std::size_t>(t[k])]; };
    const Vector3 e0 = p(1) - p(0), e1 = p(2) - p(1), e2 = p(0) - p(2);
    s.normals.push_back(e0.cross(-e2).normalized());
    for (const Vector3& e : {e0, e1, e2}) s.edges.push_back(e.normalized());
  }
  return s;
}

inline double sat_depth(const SatShape& a, const SatShape& b) {
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](const Vector3& n) {
    double a_low = 1e300, a_high = -1e300, b_low = 1e300, b_high = -1e300;
    for (const Vector3& p : a.points) {
      a_low = std::min(a_low, n.dot(p));
      a_high = std::max(a_high, n.dot(p));
    }
    for (const Vector3& p : b.points) {
      b_low = std::min(b_low, n.dot(p));
      b_high = std::max(b_high, n.dot(p));
    }
    least = std::min({least, a_high - b_low, b_high - a_low});
  };
  for (const Vector3& n : a.normals) consider(n);
  for (const Vector3& n : b.normals) consider(n);
  for (const Vector3& e : a.edges) {
    for (const Vector3& f : b.edges) {
      const Vector3 n = e.cross(f);
      if (n.norm() > 1e-9) consider(n.normalized());
    }
  }
  return least;
}

// h(n) = max over A - B of n.x for ellipsoids: c.n + |S_A R_A' n| + |S_B R_B' n|, with c between the centres. The
// signed distance is -min over unit n of h(n) when they overlap, and max over n of -h(n) when not: a critical point of
// h on the sphere either way, found by Newton's method (Lagrangian h(n) - m (|n|^2 - 1)/2) from a given start.
struct EllipsoidPair {
  Eigen::Matrix3d P_A, P_B;  // R S^2 R'
  Vector3 c;                 // centre of A minus centre of B

  EllipsoidPair(const Vector3& size_A, const Pose& X_A, const Vector3& size_B, const Pose& X_B) {
    const auto shape = [](const Vector3& s, const Matrix3& R) -> Matrix3 {
      return R * s.cwiseAbs2().asDiagonal() * R.transpose();
    };
    P_A = shape(size_A, X_A.R.eigen());
    P_B = shape(size_B, X_B.R.eigen());
    c = (X_A.p - X_B.p).eigen();
  }
  double h(const Vector3& n) const { return c.dot(n) + std::sqrt(n.dot(P_A * n)) + std::sqrt(n.dot(P_B * n)); }
  // Newton's method from n; returns the normal it ends at, and the norm of the KKT residual.
  Vector3 polish(Vector3 n, double& residual) const {
    double m = h(n);
    for (int k = 0; k < 50; ++k) {
      Vector3 gradient = c;
      Matrix3 hessian = Matrix3::Zero();
      for (const Eigen::Matrix3d* P : {&P_A, &P_B}) {
        const Vector3 g = *P * n;
        const double q = std::sqrt(n.dot(g));
        gradient += g / q;
        hessian += *P / q - g * g.transpose() / (q * q * q);
      }
      Eigen::Vector4d r;
      r << gradient - m * n, 0.5 * (1.0 - n.squaredNorm());
      residual = r.norm();
      Eigen::Matrix4d K = Eigen::Matrix4d::Zero();
      K.topLeftCorner<3, 3>() = hessian - m * Matrix3::Identity();
      K.topRightCorner<3, 1>() = -n;
      K.bottomLeftCorner<1, 3>() = -n.transpose();
      const Eigen::Vector4d step = K.fullPivLu().solve(-r);
      n += step.head<3>();
      m += step[3];
      if (step.norm() < 1e-15 * (1.0 + std::abs(m))) break;
    }
    return n.normalized();
  }
};

}  // namespace touchstone::test
