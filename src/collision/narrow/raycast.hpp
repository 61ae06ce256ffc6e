// Rays against convex shapes.
//
// Half-spaces, spheres, boxes and ellipsoids by formula. Every other shape, and every rounded one, by Newton's method
// on the distance f(t) between the shape and the point at t of the ray: f is convex and its slope is -n.direction, with
// n the unit vector from the point to the shape, so that the steps approach the first contact from outside and never
// pass it (conservative advancement). A ray that meets a face ends in one step from where the face is nearest; one
// that grazes a smooth shape takes more, bounded by max_iterations.
#pragma once

#include <limits>

#include "touchstone/collision/narrow/gjk.hpp"

namespace touchstone {

struct RayOptions {
  double max_distance = std::numeric_limits<double>::infinity();  // m
  double relative_tolerance = 1e-12;                              // of the scale of shape and ray
  int max_iterations = 64;
};

enum class RayStatus : std::uint8_t {
  kHit,
  kInside,   // the ray starts in the shape: distance 0, no normal
  kMiss,     // also when the shape is beyond max_distance
  kLimited,  // not decided within the iterations; distance is a lower bound
  kInvalid,  // not finite input, or no direction
};

struct RayResult {
  RayStatus status = RayStatus::kInvalid;
  double distance = 0.0;  // from the origin of the ray, m
  Vec3 point, normal;     // in the world; the normal points out of the shape
  int iterations = 0;
};

// `direction_W` may have any length but zero.
RayResult raycast(const ConvexShape& shape, const Pose& X_WS, Vec3 origin_W, Vec3 direction_W,
                  const RayOptions& options = {});

}  // namespace touchstone
