// Contact points of two simple shapes. As in collision/manifold: faces and edges within five degrees of perpendicular
// to the normal touch with all their corners, everything else with one point.
#pragma once

#include "touchstone/gpu/algebra.hpp"
#include "touchstone/gpu/model_arrays.hpp"

namespace touchstone::gpu {

constexpr double kFeatureAngle = 0.08715574274765817;  // sine of five degrees
constexpr double kFeatureCosine = 0.9961946980917455;  // its cosine
constexpr double kParallelEdges = 2e-3;                // rad: edges at a smaller angle touch along a line
constexpr double kTouching = 1e-14;                    // distances below this share of the lengths are rounding errors

struct PlacedShape {
  int type;
  Pose X;
  Vec size;
};

struct ManifoldPoint {
  Vec position;  // midway between the surfaces
  double distance;
  int feature;
};

struct Manifold {
  Vec normal;  // from A to B
  int count = 0;
  ManifoldPoint points[4];
};

TOUCHSTONE_LANE void add_point(Manifold& manifold, Vec on_a, Vec on_b, double distance, int feature) {
  if (manifold.count < 4) manifold.points[manifold.count++] = {0.5 * (on_a + on_b), distance, feature};
}

// One point: nearest points of the cores at a distance along the normal, radii around both.
TOUCHSTONE_LANE void add_single(Manifold& manifold, Vec core_a, double radius_a, Vec core_b, double radius_b,
                                double core_distance, double margin, int feature) {
  const double distance = core_distance - radius_a - radius_b;
  if (!(distance <= margin)) return;
  add_point(manifold, core_a + radius_a * manifold.normal, core_b - radius_b * manifold.normal, distance, feature);
}

TOUCHSTONE_LANE Vec perpendicular_to(Vec u) { return contact_frame(u).a; }

// --- planes: A is the half-space below its z axis ---

// A point of B, with a radius, above the plane.
TOUCHSTONE_LANE void add_above(const Pose& plane, Vec point, double radius, double margin, int feature,
                               Manifold& found) {
  const double height = dot(plane.R.c, point - plane.p), distance = height - radius;
  if (!(distance <= margin)) return;
  const Vec low = point - radius * plane.R.c;
  add_point(found, low - distance * plane.R.c, low, distance, feature);
}

TOUCHSTONE_LANE Vec box_corner(Vec half, int corner) {
  return {(corner & 1) != 0 ? -half.x : half.x, (corner & 2) != 0 ? -half.y : half.y,
          (corner & 4) != 0 ? -half.z : half.z};
}

TOUCHSTONE_LANE void plane_capsule(const Pose& plane, const PlacedShape& b, double margin, Manifold& found) {
  const Vec end = b.size.y * b.X.R.c;
  const double slope = dot(b.X.R.c, plane.R.c);
  const bool lies = fabs(slope) <= kFeatureAngle && b.size.y > 0.0;
  if (lies || slope < 0.0) add_above(plane, b.X.p + end, b.size.x, margin, 0, found);
  if (lies || slope >= 0.0) add_above(plane, b.X.p - end, b.size.x, margin, 1, found);
}

// The corners of the face, the edge or the corner that looks along a direction of the box. Returns how many.
TOUCHSTONE_LANE int box_feature(Vec half, Vec d, int* corners) {
  int largest = 0, smallest = 0;
  const int corner = (d.x < 0.0 ? 1 : 0) | (d.y < 0.0 ? 2 : 0) | (d.z < 0.0 ? 4 : 0);
  for (int k = 1; k < 3; ++k) {
    if (fabs(entry(d, k)) > fabs(entry(d, largest))) largest = k;
    if (fabs(entry(d, k)) < fabs(entry(d, smallest))) smallest = k;
  }
  if (fabs(entry(d, largest)) >= kFeatureCosine) {
    const int base = corner & (1 << largest), i = 1 << ((largest + 1) % 3), j = 1 << ((largest + 2) % 3);
    corners[0] = base, corners[1] = base | i, corners[2] = base | i | j, corners[3] = base | j;
    return 4;
  }
  corners[0] = corner & ~(1 << smallest);
  corners[1] = corner | (1 << smallest);
  if (fabs(entry(d, smallest)) <= kFeatureAngle && entry(half, smallest) > 0.0) return 2;
  corners[0] = corner;
  return 1;
}

TOUCHSTONE_LANE void plane_box(const Pose& plane, const PlacedShape& b, double margin, Manifold& found) {
  int corners[4];
  const int count = box_feature(b.size, transpose_times(b.X.R, -plane.R.c), corners);
  for (int k = 0; k < count; ++k)
    add_above(plane, b.X * box_corner(b.size, corners[k]), 0.0, margin, corners[k], found);
}

TOUCHSTONE_LANE void plane_ellipsoid(const Pose& plane, const PlacedShape& b, double margin, Manifold& found) {
  const Vec d = transpose_times(b.X.R, -plane.R.c);
  const Vec scaled{b.size.x * d.x, b.size.y * d.y, b.size.z * d.z};
  const double inverse = 1.0 / length(scaled);
  const Vec low{b.size.x * scaled.x * inverse, b.size.y * scaled.y * inverse, b.size.z * scaled.z * inverse};
  add_above(plane, b.X * low, 0.0, margin, 0, found);
}

TOUCHSTONE_LANE void plane_shape(const Pose& plane, const PlacedShape& b, double margin, Manifold& found) {
  found.normal = plane.R.c;
  if (b.type == kSphereShape) add_above(plane, b.X.p, b.size.x, margin, 0, found);
  if (b.type == kCapsuleShape) plane_capsule(plane, b, margin, found);
  if (b.type == kBoxShape) plane_box(plane, b, margin, found);
  if (b.type == kEllipsoidShape) plane_ellipsoid(plane, b, margin, found);
}

// --- spheres and capsules ---

// The unit vector of a difference, or a fallback where it has no direction.
TOUCHSTONE_LANE double direction_of(Vec d, double scale, Vec fallback, Vec& direction) {
  const double squared = dot(d, d);
  if (!(squared > kTouching * kTouching * scale * scale + 1e-280)) {
    direction = fallback;
    return 0.0;
  }
  const double distance = sqrt(squared);
  direction = (1.0 / distance) * d;
  return distance;
}

TOUCHSTONE_LANE void sphere_sphere(const PlacedShape& a, const PlacedShape& b, double margin, Manifold& found) {
  const double distance = direction_of(b.X.p - a.X.p, 0.0, Vec{0, 0, 1}, found.normal);
  add_single(found, a.X.p, a.size.x, b.X.p, b.size.x, distance, margin, 0);
}

TOUCHSTONE_LANE void capsule_sphere(const PlacedShape& a, const PlacedShape& b, double margin, Manifold& found) {
  const double half = a.size.y;
  const Vec core = a.X.p + clamp(dot(a.X.R.c, b.X.p - a.X.p), -half, half) * a.X.R.c;
  const Vec fallback = half > 0.0 ? a.X.R.a : Vec{0, 0, 1};
  const double distance = direction_of(b.X.p - core, half, fallback, found.normal);
  add_single(found, core, a.size.x, b.X.p, b.size.x, distance, margin, 0);
}

// Parameters of the nearest points of two segments (Ericson, "Real-Time Collision Detection", 2005, section 5.1.9).
TOUCHSTONE_LANE void nearest_on_segments(Vec p, Vec u, double half_a, Vec v, double half_b, double& s, double& t) {
  const Vec both = cross(u, v);
  const double along = dot(u, v), sine2 = dot(both, both), p_u = dot(p, u), p_v = dot(p, v);
  t = sine2 > kTouching ? (p_u * along - p_v) / sine2 : 0.0;
  t = clamp(t, -half_b, half_b);
  s = clamp(p_u + t * along, -half_a, half_a);
  t = clamp(s * along - p_v, -half_b, half_b);
  s = clamp(p_u + t * along, -half_a, half_a);
}

// Nearly parallel segments touch at the ends of their common part; false if they have none, or cross.
TOUCHSTONE_LANE bool add_parallel(const PlacedShape& a, const PlacedShape& b, double margin, Manifold& found) {
  const Vec u = a.X.R.c, v = b.X.R.c, n = found.normal;
  if (fabs(dot(u, n)) > kFeatureAngle || fabs(dot(v, n)) > kFeatureAngle) return false;
  if (!(a.size.y > 0.0) || !(b.size.y > 0.0)) return false;
  const Vec flat_u = u - dot(u, n) * n, flat_v = v - dot(v, n) * n;
  const double len_u = length(flat_u), len_v = length(flat_v);
  if (length(cross(flat_u, flat_v)) > kParallelEdges * len_u * len_v) return false;
  // Along the direction of A: what B covers.
  const Vec e = (1.0 / len_u) * flat_u, d = b.X.p - a.X.p;
  const double reach_a = a.size.y * len_u, middle = dot(d, e), slope = dot(flat_v, e), reach_b = b.size.y * fabs(slope);
  const double low = most(-reach_a, middle - reach_b), high = least(reach_a, middle + reach_b);
  if (!(high - low > 1e-6 * least(2.0 * a.size.y, 2.0 * b.size.y))) return false;
  for (int k = 0; k < 2; ++k) {
    const double x = k == 0 ? high : low;
    const Vec on_a = a.X.p + (x / len_u) * u, on_b = b.X.p + ((x - middle) / slope) * v;
    const double distance = dot(on_b - on_a, n) - a.size.x - b.size.x;
    if (distance <= margin) {
      const Vec middle_point = on_a + (a.size.x + 0.5 * distance) * n;
      add_point(found, middle_point, middle_point, distance, 2 + k);
    }
  }
  return true;
}

TOUCHSTONE_LANE void capsule_capsule(const PlacedShape& a, const PlacedShape& b, double margin, Manifold& found) {
  const Vec u = a.X.R.c, v = b.X.R.c, p = b.X.p - a.X.p;
  double s = 0.0, t = 0.0;
  nearest_on_segments(p, u, a.size.y, v, b.size.y, s, t);
  const double scale = a.size.y + b.size.y + fabs(dot(p, u)) + fabs(dot(p, v));
  const Vec both = cross(u, v);
  const double sine = length(both);
  const Vec fallback = sine * sine > kTouching ? (1.0 / sine) * both : perpendicular_to(u);
  const Vec core_a = a.X.p + s * u, core_b = b.X.p + t * v;
  const double distance = direction_of(core_b - core_a, scale, fallback, found.normal);
  if (!(distance - a.size.x - b.size.x <= margin)) return;
  if (add_parallel(a, b, margin, found)) return;
  add_single(found, core_a, a.size.x, core_b, b.size.x, distance, margin, 0);
}

// --- boxes and spheres ---

TOUCHSTONE_LANE void box_sphere(const PlacedShape& a, const PlacedShape& b, double margin, Manifold& found) {
  const Vec half = a.size, p = transpose_times(a.X.R, b.X.p - a.X.p);
  const Vec inside{clamp(p.x, -half.x, half.x), clamp(p.y, -half.y, half.y), clamp(p.z, -half.z, half.z)};
  Vec normal;
  double distance = direction_of(p - inside, 0.0, Vec{0, 0, 0}, normal);
  if (distance == 0.0) {
    const Vec gap{half.x - fabs(p.x), half.y - fabs(p.y), half.z - fabs(p.z)};
    int face = gap.y < gap.x ? 1 : 0;
    if (gap.z < entry(gap, face)) face = 2;
    normal = axis(face, entry(p, face) < 0.0 ? -1.0 : 1.0);
    distance = -entry(gap, face);
  }
  found.normal = a.X.R * normal;
  add_single(found, b.X.p - distance * found.normal, 0.0, b.X.p, b.size.x, distance, margin, 0);
}

TOUCHSTONE_LANE void turn_round(Manifold& found) { found.normal = -found.normal; }

}  // namespace touchstone::gpu
