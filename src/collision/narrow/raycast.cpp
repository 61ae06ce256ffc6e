#include "touchstone/collision/narrow/raycast.hpp"

#include <algorithm>
#include <cmath>

namespace touchstone {
namespace {

constexpr double kLargestRay = 1e70;  // as in GJK: products of four coordinates must not overflow

RayResult miss() {
  RayResult result;
  result.status = RayStatus::kMiss;
  return result;
}

RayResult inside() {
  RayResult result;
  result.status = RayStatus::kInside;
  return result;
}

RayResult hit(double t, Vec3 normal, const RayOptions& options) {
  if (t > options.max_distance) return miss();
  RayResult result;
  result.status = RayStatus::kHit;
  result.distance = t;
  result.normal = normal;
  return result;
}

RayResult half_space(double radius, Vec3 o, Vec3 r, const RayOptions& options) {
  const double height = o.z() - radius;
  if (height <= 0.0) return inside();
  if (!(r.z() < 0.0)) return miss();
  return hit(height / -r.z(), Vec3(0, 0, 1), options);
}

// Slabs: the ray is in the box between the last entry and the first exit.
RayResult box(Vec3 half, Vec3 o, Vec3 r, const RayOptions& options) {
  double enter = -std::numeric_limits<double>::infinity(), leave = std::numeric_limits<double>::infinity();
  int axis = 0;
  for (int k = 0; k < 3; ++k) {
    if (r[k] == 0.0) {
      if (std::abs(o[k]) > half[k]) return miss();
      continue;
    }
    const double sign = r[k] > 0.0 ? 1.0 : -1.0;
    const double entry = (-sign * half[k] - o[k]) / r[k];
    if (entry > enter) {
      enter = entry;
      axis = k;
    }
    leave = std::min(leave, (sign * half[k] - o[k]) / r[k]);
  }
  if (enter > leave || leave < 0.0) return miss();
  if (enter <= 0.0) return inside();
  Vec3 normal;
  normal.lanes[axis] = r[axis] > 0.0 ? -1.0 : 1.0;
  return hit(enter, normal, options);
}

// |S^-1 (o + t r)| = 1, by the distance of the line from the centre, which is stable for far rays.
RayResult ellipsoid(Vec3 semi_axes, Vec3 o, Vec3 r, const RayOptions& options) {
  const Vec3 inverse(1.0 / semi_axes.x(), 1.0 / semi_axes.y(), 1.0 / semi_axes.z());
  const Vec3 p(o.lanes * inverse.lanes), q(r.lanes * inverse.lanes);
  if (dot(p, p) <= 1.0) return inside();
  const double length = dot(q, q), middle = -dot(p, q) / length;
  const Vec3 nearest = p + middle * q;
  const double room = 1.0 - dot(nearest, nearest);
  if (!(middle > 0.0) || !(room >= 0.0)) return miss();
  const double t = middle - std::sqrt(room / length);
  const Vec3 on = p + t * q;
  const Vec3 gradient(on.lanes * inverse.lanes);
  return hit(t, gradient * (1.0 / norm(gradient)), options);
}

// Newton's method on the distance, as the header says. o and r in the frame of the shape.
RayResult advance(const ConvexShape& shape, Vec3 o, Vec3 r, const RayOptions& options) {
  static const ConvexShape point = ConvexShape::sphere(0.0);
  RayResult result;
  Simplex simplex;
  double t = 0.0;
  Vec3 normal;
  const double tolerance = options.relative_tolerance * (shape.extent() + shape.radius() + norm(o));
  for (int k = 0; k < options.max_iterations; ++k) {
    MinkowskiDifference D(shape, point, Pose(Mat3::identity(), o + t * r));
    GjkOptions gjk_options;
    gjk_options.simplex = &simplex;
    gjk_options.guess = simplex.size > 0 ? GjkGuess::kSimplex : GjkGuess::kCentres;
    const GjkResult found = gjk(D, gjk_options);
    result.iterations = k + 1;
    if (found.status == GjkStatus::kInvalid) return {};
    // The lower bound keeps the steps on the safe side when GJK has not converged.
    const double gap = found.status == GjkStatus::kOverlapping ? 0.0 : found.lower_bound - shape.radius();
    if (gap <= tolerance) {
      const int iterations = result.iterations;
      if (k == 0) return inside();
      result = hit(t, normal, options);
      result.iterations = iterations;
      return result;
    }
    normal = found.separation * (-1.0 / found.distance);
    const double approach = -dot(normal, r);
    if (!(approach > 0.0)) return miss();
    t += gap / approach;
    if (t > options.max_distance || !(t < kLargestRay)) return miss();
    simplex = found.simplex;
  }
  result.status = RayStatus::kLimited;
  result.distance = t;
  return result;
}

bool by_formula(const ConvexShape& shape) {
  if (shape.core() == CoreType::kPoint || shape.core() == CoreType::kHalfSpace) return true;
  if (shape.radius() > 0.0) return false;
  const Vec3 s = shape.size();
  if (shape.core() == CoreType::kEllipsoid) return std::min({s.x(), s.y(), s.z()}) > 0.0;
  return shape.core() == CoreType::kBox;
}

RayResult in_shape_frame(const ConvexShape& shape, Vec3 o, Vec3 r, const RayOptions& options) {
  if (!by_formula(shape)) return advance(shape, o, r, options);
  switch (shape.core()) {
    case CoreType::kHalfSpace:
      return half_space(shape.radius(), o, r, options);
    case CoreType::kBox:
      return box(shape.size(), o, r, options);
    case CoreType::kEllipsoid:
      return ellipsoid(shape.size(), o, r, options);
    default: {
      const double radius = shape.radius();
      if (!(radius > 0.0)) return advance(shape, o, r, options);
      return ellipsoid(Vec3(radius, radius, radius), o, r, options);
    }
  }
}

}  // namespace

RayResult raycast(const ConvexShape& shape, const Pose& X_WS, Vec3 origin_W, Vec3 direction_W,
                  const RayOptions& options) {
  const double length = norm(direction_W), far = norm(origin_W) + norm(X_WS.p) + shape.extent() + shape.radius();
  const bool finite_pose = finite(X_WS.R.c0) && finite(X_WS.R.c1) && finite(X_WS.R.c2);
  if (!(length > 0.0) || !std::isfinite(length) || !(far < kLargestRay) || !finite_pose) return {};
  const Vec3 r_W = direction_W * (1.0 / length);
  const Vec3 o = transpose_times(X_WS.R, origin_W - X_WS.p), r = transpose_times(X_WS.R, r_W);
  RayResult result = in_shape_frame(shape, o, r, options);
  if (std::isnan(result.distance) || !finite(result.normal)) return {};
  result.point = origin_W + result.distance * r_W;
  result.normal = X_WS.R * result.normal;
  return result;
}

}  // namespace touchstone
