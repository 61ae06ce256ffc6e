// Solids by formulas of their own, for tests of the narrow phase: support, projection, and from these two oracles.
//
// Distance: Nesterov's accelerated projected gradient on |a - b|^2 over A x B, which uses projections where the library
// uses support points. Its result comes with a bound: the gap between the supporting planes along b - a.
// Depth: the least h(n) = max { n.(a - b) } over the sphere, by compass search from the best of many directions.
#pragma once

#include "collision/collision_support.hpp"

namespace touchstone::test {

enum class Kind { kSphere, kCapsule, kBox, kHull, kEllipsoid, kCylinder, kCone };
inline constexpr const char* kKindNames[] = {"Sphere", "Capsule", "Box", "Hull", "Ellipsoid", "Cylinder", "Cone"};

inline bool is_polytope_core(Kind kind) { return kind <= Kind::kHull; }

struct Solid {
  Kind kind = Kind::kSphere;
  Vector3 size =
      Vector3::Zero();          // radius; radius, half length; half extents; -; semi-axes; radius, half length (twice)
  std::vector<Vector3> points;  // of a hull

  static Solid random(Random& random, Kind kind) {
    Solid s{kind, random_sizes(random, 0.1, 1.0), {}};
    if (kind == Kind::kHull) s.points = random_points(random, 10, 1.0);
    return s;
  }

  Solid scaled(double factor) const {
    Solid s{kind, factor * size, points};
    for (Vector3& p : s.points) p *= factor;
    return s;
  }

  ConvexShape shape() const {
    switch (kind) {
      case Kind::kSphere:
        return ConvexShape::sphere(size[0]);
      case Kind::kCapsule:
        return ConvexShape::capsule(size[0], size[1]);
      case Kind::kBox:
        return ConvexShape::box(size);
      case Kind::kEllipsoid:
        return ConvexShape::ellipsoid(size);
      case Kind::kCylinder:
        return ConvexShape::cylinder(size[0], size[1]);
      case Kind::kCone:
        return ConvexShape::cone(size[0], size[1]);
      case Kind::kHull:
        break;
    }
    return ConvexShape::polytope(points);
  }

  // The vertices of the core of a polytope, a segment or a point, and what is around it.
  std::vector<Vector3> core() const {
    if (kind == Kind::kSphere) return {Vector3::Zero()};
    if (kind == Kind::kCapsule) return {Vector3(0, 0, -size[1]), Vector3(0, 0, size[1])};
    return kind == Kind::kBox ? box_points(size) : points;
  }
  double radius() const { return kind <= Kind::kCapsule ? size[0] : 0.0; }

  // max { n.x } for a unit vector n.
  double reach(const Vector3& n) const {
    const double across = std::hypot(n.x(), n.y());
    switch (kind) {
      case Kind::kSphere:
        return size[0];
      case Kind::kCapsule:
        return size[0] + size[1] * std::abs(n.z());
      case Kind::kBox:
        return size.dot(n.cwiseAbs());
      case Kind::kEllipsoid:
        return size.cwiseProduct(n).norm();
      case Kind::kCylinder:
        return size[0] * across + size[1] * std::abs(n.z());
      case Kind::kCone:
        return std::max(size[1] * n.z(), size[0] * across - size[1] * n.z());
      case Kind::kHull:
        break;
    }
    double best = -std::numeric_limits<double>::infinity();
    for (const Vector3& p : points) best = std::max(best, n.dot(p));
    return best;
  }

  // The nearest point of the solid; not for hulls.
  Vector3 project(const Vector3& x) const {
    const double rho = std::hypot(x.x(), x.y());
    const auto at = [&](double radial, double z) -> Vector3 {
      return rho > 0.0 ? Vector3(x.x() / rho * radial, x.y() / rho * radial, z) : Vector3(radial, 0.0, z);
    };
    switch (kind) {
      case Kind::kSphere:
        return x.norm() > size[0] ? Vector3(size[0] * x.normalized()) : x;
      case Kind::kCapsule: {
        const Vector3 axis(0.0, 0.0, std::clamp(x.z(), -size[1], size[1]));
        return (x - axis).norm() > size[0] ? Vector3(axis + size[0] * (x - axis).normalized()) : x;
      }
      case Kind::kBox:
        return x.cwiseMax(-size).cwiseMin(size);
      case Kind::kCylinder:
        return at(std::min(rho, size[0]), std::clamp(x.z(), -size[1], size[1]));
      case Kind::kCone: {  // the nearest of three edges of the profile, or the point itself
        const double r = size[0], h = size[1];
        if (x.z() >= -h && 2.0 * h * (rho - r) + r * (x.z() + h) <= 0.0) return x;
        const Eigen::Vector2d p(rho, x.z()), rim(r, -h), side(-r, 2.0 * h);
        const Eigen::Vector2d slant = rim + std::clamp((p - rim).dot(side) / side.squaredNorm(), 0.0, 1.0) * side;
        const Eigen::Vector2d base(std::min(rho, r), -h);
        const Eigen::Vector2d best = (p - slant).norm() < (p - base).norm() ? slant : base;
        return at(best.x(), best.y());
      }
      default:
        return project_ellipsoid(x);
    }
  }

 private:
  // x_i s_i^2 / (s_i^2 + t) with the t >= 0 that puts it on the surface, by Newton's method on a decreasing convex
  // function.
  Vector3 project_ellipsoid(const Vector3& x) const {
    const Vector3 squares = size.cwiseAbs2();
    double t = 0.0;
    for (int k = 0; k < 100; ++k) {
      double value = -1.0, slope = 0.0;
      for (int i = 0; i < 3; ++i) {
        const double root = size[i] * x[i] / (squares[i] + t);
        value += root * root;
        slope -= 2.0 * root * root / (squares[i] + t);
      }
      if (!(value > 1e-15)) break;
      t -= value / slope;
    }
    return x.cwiseProduct(squares).cwiseQuotient((squares.array() + t).matrix());
  }
};

struct Placed {
  Solid solid;
  Pose X;

  double reach(const Vector3& n) const { return solid.reach(X.R.eigen().transpose() * n) + n.dot(X.p.eigen()); }
  Vector3 project(const Vector3& x) const {
    const Matrix3 R = X.R.eigen();
    return R * solid.project(R.transpose() * (x - X.p.eigen())) + X.p.eigen();
  }
};

// The gap between the supporting planes of A and B with normal n: a lower bound of the distance, and minus an upper
// bound of the depth.
inline double plane_gap(const Placed& A, const Placed& B, const Vector3& n) { return -B.reach(-n) - A.reach(n); }

struct DistanceBounds {
  double lower, upper;
};

inline DistanceBounds projected_gradient(const Placed& A, const Placed& B, double tolerance, int limit) {
  Vector3 a = A.project(B.X.p.eigen()), b = B.project(a), a_last = a, b_last = b;
  DistanceBounds bounds{-1.0, (a - b).norm()};
  double momentum = 1.0;
  for (int k = 0; k < limit; ++k) {
    const double next = 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * momentum * momentum));
    const double push = (momentum - 1.0) / next;
    momentum = next;
    const Vector3 a_mid = a + push * (a - a_last), b_mid = b + push * (b - b_last), step = 0.5 * (b_mid - a_mid);
    a_last = a;
    b_last = b;
    a = A.project(a_mid + step);
    b = B.project(b_mid - step);
    const double distance = (a - b).norm();
    if (distance > bounds.upper) momentum = 1.0;
    bounds.upper = std::min(bounds.upper, distance);
    if (distance > 0.0) bounds.lower = std::max(bounds.lower, plane_gap(A, B, (b - a) / distance));
    if (bounds.upper - bounds.lower < tolerance) break;
  }
  return bounds;
}

// The least h(n) near n, by compass search in the tangent plane.
inline double least_reach(const Placed& A, const Placed& B, Vector3 n) {
  double value = -plane_gap(A, B, n), step = 0.3;
  for (int k = 0; k < 400 && step > 1e-9; ++k) {
    const Vector3 u = n.unitOrthogonal(), v = n.cross(u);
    const double turn = 0.7 * k;  // other axes each time: creases of h stop fixed ones
    bool better = false;
    for (int side = 0; side < 4 && !better; ++side) {
      const double angle = turn + 1.5707963267948966 * side;
      const Vector3 trial = (n + step * (std::cos(angle) * u + std::sin(angle) * v)).normalized();
      const double there = -plane_gap(A, B, trial);
      if (there < value) {
        value = there;
        n = trial;
        better = true;
      }
    }
    if (!better) step *= 0.5;
  }
  return value;
}

// The best of compass searches from the `starts` best of many directions.
inline double oracle_depth(const Placed& A, const Placed& B, int starts) {
  constexpr int kDirections = 64;
  std::vector<std::pair<double, Vector3>> directions;
  directions.reserve(kDirections);
  for (int i = 0; i < kDirections; ++i) {  // a spiral on the sphere
    const double z = 1.0 - (2.0 * i + 1.0) / kDirections, angle = 2.399963229728653 * i, r = std::sqrt(1.0 - z * z);
    const Vector3 n(r * std::cos(angle), r * std::sin(angle), z);
    directions.emplace_back(-plane_gap(A, B, n), n);
  }
  std::sort(directions.begin(), directions.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < starts; ++i)
    best = std::min(best, least_reach(A, B, directions[static_cast<std::size_t>(i)].second));
  return best;
}

}  // namespace touchstone::test
