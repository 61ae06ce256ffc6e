// Whether a ray meets a simple shape, or starts in it: what a touch sensor asks. The direction is a unit vector, both
// in the frame of the shape.
#pragma once

#include "touchstone/gpu/algebra.hpp"
#include "touchstone/gpu/model_arrays.hpp"

namespace touchstone::gpu {

TOUCHSTONE_LANE bool ray_meets_sphere(Vec o, Vec d, double radius) {
  const double along = dot(o, d), square = dot(o, o) - radius * radius;
  return square <= 0.0 || (along < 0.0 && along * along >= square * dot(d, d));
}

// The slab |x| <= half narrows the part [t0, t1] of the ray that is inside.
TOUCHSTONE_LANE bool clip_slab(double o, double d, double half, double& t0, double& t1) {
  if (d == 0.0) return fabs(o) <= half;
  const double a = (-half - o) / d, b = (half - o) / d;
  t0 = most(t0, least(a, b));
  t1 = least(t1, most(a, b));
  return t0 <= t1;
}

// The part of the ray in the cylinder x^2 + y^2 <= radius^2.
TOUCHSTONE_LANE bool clip_round(Vec o, Vec d, double radius, double& t0, double& t1) {
  const double a = d.x * d.x + d.y * d.y, b = o.x * d.x + o.y * d.y, c = o.x * o.x + o.y * o.y - radius * radius;
  if (!(a > 0.0)) return c <= 0.0;
  const double root2 = b * b - a * c;
  if (!(root2 >= 0.0)) return false;
  const double span = sqrt(root2);
  t0 = most(t0, (-b - span) / a);
  t1 = least(t1, (-b + span) / a);
  return t0 <= t1;
}

TOUCHSTONE_LANE bool ray_meets(int shape, Vec size, Vec o, Vec d) {
  double t0 = 0.0, t1 = 1e300;
  switch (shape) {
    case kSphereShape:
      return ray_meets_sphere(o, d, size.x);
    case kBoxShape:
      return clip_slab(o.x, d.x, size.x, t0, t1) && clip_slab(o.y, d.y, size.y, t0, t1) &&
             clip_slab(o.z, d.z, size.z, t0, t1);
    case kCylinderShape:
      return clip_round(o, d, size.x, t0, t1) && clip_slab(o.z, d.z, size.y, t0, t1);
    case kCapsuleShape: {
      const Vec end{0, 0, size.y};
      if (ray_meets_sphere(o - end, d, size.x) || ray_meets_sphere(o + end, d, size.x)) return true;
      return clip_round(o, d, size.x, t0, t1) && clip_slab(o.z, d.z, size.y, t0, t1);
    }
    default:  // an ellipsoid is a ball in coordinates of its own
      return ray_meets_sphere({o.x / size.x, o.y / size.y, o.z / size.z}, {d.x / size.x, d.y / size.y, d.z / size.z},
                              1.0);
  }
}

}  // namespace touchstone::gpu
