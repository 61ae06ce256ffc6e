// Convex shapes by their support functions: spheres, capsules, boxes, ellipsoids, cylinders and hulls of points, and
// the features with which they touch. As collision/narrow/convex and collision/manifold/support_feature.
#pragma once

#include "touchstone/gpu/manifold.hpp"

namespace touchstone::gpu {

constexpr int kMostLoop = 32;  // vertices of a face of a hull

// A core, which a radius surrounds.
struct ConvexCore {
  int type;
  Vec size;
  double radius;
  int hull;                     // -1: none
  const Vec* corner = nullptr;  // of a triangle

  TOUCHSTONE_LANE bool is_round() const { return type == kEllipsoidShape || type == kCylinderShape; }
};

TOUCHSTONE_LANE ConvexCore convex_core(const PlacedShape& shape, int hull) {
  if (shape.type == kSphereShape) return {shape.type, {0, 0, 0}, shape.size.x, -1};
  if (shape.type == kCapsuleShape) return {shape.type, {0, 0, shape.size.y}, shape.size.x, -1};
  if (shape.type == kCylinderShape) return {shape.type, {shape.size.x, shape.size.x, shape.size.y}, 0.0, -1};
  return {shape.type, shape.size, 0.0, hull};
}

TOUCHSTONE_LANE Vec hull_vertex(const ModelView& m, int hull, int v) {
  return load_vec(m.hull_vertex + 3 * (m.hull_start[hull] + v));
}

// The vertex farthest along d: uphill from a start, since on a convex surface there is one summit. Without edges (a
// flat hull) all are looked at.
TOUCHSTONE_LANE int hull_support(const ModelView& m, int hull, Vec d, int start) {
  const int first = m.hull_start[hull], count = m.hull_start[hull + 1] - first;
  int best = start;
  double most_along = dot(hull_vertex(m, hull, best), d);
  if (m.hull_edge_start[first] == m.hull_edge_start[first + count]) {
    for (int v = 0; v < count; ++v) {
      const double along = dot(hull_vertex(m, hull, v), d);
      if (along > most_along) most_along = along, best = v;
    }
    return best;
  }
  for (int step = 0; step < count; ++step) {
    const int from = best;
    for (int k = m.hull_edge_start[first + from]; k < m.hull_edge_start[first + from + 1]; ++k) {
      const int v = m.hull_edge[k];
      const double along = dot(hull_vertex(m, hull, v), d);
      if (along > most_along) most_along = along, best = v;
    }
    if (best == from) break;
  }
  return best;
}

TOUCHSTONE_LANE int triangle_support(const Vec* corner, Vec d) {
  int best = 0;
  for (int k = 1; k < 3; ++k) {
    if (dot(d, corner[k]) > dot(d, corner[best])) best = k;
  }
  return best;
}

// The point of the core farthest along d, in its frame; `hint` is where a hull was touched last.
TOUCHSTONE_LANE Vec core_support(const ModelView& m, const ConvexCore& core, Vec d, int& hint) {
  const Vec h = core.size;
  if (core.type == kEllipsoidShape) {
    const Vec scaled{h.x * d.x, h.y * d.y, h.z * d.z};
    const double square = dot(scaled, scaled), inverse = square > 1e-280 ? 1.0 / sqrt(square) : 0.0;
    return {h.x * scaled.x * inverse, h.y * scaled.y * inverse, h.z * scaled.z * inverse};
  }
  if (core.type == kCylinderShape) {
    const double square = d.x * d.x + d.y * d.y, scale = square > 1e-280 ? h.x / sqrt(square) : 0.0;
    return {scale * d.x, scale * d.y, d.z < 0.0 ? -h.z : h.z};
  }
  if (core.type == kHullShape) {
    hint = hull_support(m, core.hull, d, hint);
    return hull_vertex(m, core.hull, hint);
  }
  if (core.type == kTriangleShape) return core.corner[triangle_support(core.corner, d)];
  return {d.x < 0.0 ? -h.x : h.x, d.y < 0.0 ? -h.y : h.y, d.z < 0.0 ? -h.z : h.z};
}

// --- features ---

enum FeatureKind { kVertexFeature, kEdgeFeature, kFaceFeature, kSmoothFeature };

// A name as one number: kind, and up to two indices below 2^14 (collision/manifold/feature_name.hpp).
TOUCHSTONE_LANE int feature_name(FeatureKind kind, int first, int second = 0) {
  return (static_cast<int>(kind) << 28) | (first << 14) | second;
}
TOUCHSTONE_LANE int edge_name(int v, int w) { return feature_name(kEdgeFeature, v < w ? v : w, v < w ? w : v); }
TOUCHSTONE_LANE int kind_of_name(int name) { return name >> 28; }

// What of a shape looks along a direction: a point, an edge, a polygon, a disk, or a half-space.
struct Feature {
  int name, count;  // vertices; 0 for disks and half-spaces
  bool disk, unbounded;
  Vec normal, centre;
  double radius;
  Vec point[kMostLoop];
  int label[kMostLoop];

  TOUCHSTONE_LANE bool is_face() const { return kind_of_name(name) == kFaceFeature; }
  TOUCHSTONE_LANE bool is_edge() const { return kind_of_name(name) == kEdgeFeature; }
  TOUCHSTONE_LANE bool is_point() const { return !is_face() && !is_edge(); }
};

TOUCHSTONE_LANE void set_point(Feature& f, int name, Vec p, int label = 0) {
  f.name = name, f.count = 1, f.point[0] = p, f.label[0] = label;
}
TOUCHSTONE_LANE void set_edge(Feature& f, Vec p, int v, Vec q, int w) {
  f.name = edge_name(v, w), f.count = 2;
  f.point[0] = p, f.label[0] = v, f.point[1] = q, f.label[1] = w;
}

TOUCHSTONE_LANE void box_face_or_edge(Vec half, Vec d, Feature& f) {
  int corners[4];
  const int count = box_feature(half, d, corners);
  if (count == 2)
    return set_edge(f, box_corner(half, corners[0]), corners[0], box_corner(half, corners[1]), corners[1]);
  if (count == 1)
    return set_point(f, feature_name(kVertexFeature, corners[0]), box_corner(half, corners[0]), corners[0]);
  int largest = fabs(d.y) > fabs(d.x) ? 1 : 0;
  if (fabs(d.z) > fabs(entry(d, largest))) largest = 2;
  const bool down = entry(d, largest) < 0.0;
  f.name = feature_name(kFaceFeature, 2 * largest + (down ? 1 : 0)), f.count = 4;
  f.normal = axis(largest, down ? -1.0 : 1.0);
  for (int k = 0; k < 4; ++k) {  // counter-clockwise from outside
    f.label[k] = corners[down ? 3 - k : k];
    f.point[k] = box_corner(half, f.label[k]);
  }
}

TOUCHSTONE_LANE void cylinder_feature(Vec size, Vec d, Feature& f) {
  const double radial = sqrt(d.x * d.x + d.y * d.y), small = 1e-9 * (size.x + size.z);
  const int cap = d.z < 0.0 ? 1 : 0;
  const double z = cap != 0 ? -size.z : size.z;
  if (radial <= kFeatureAngle) {
    if (!(size.x > small)) return set_point(f, feature_name(kVertexFeature, cap), {0, 0, z}, cap);
    f.name = feature_name(kFaceFeature, cap), f.count = 0, f.disk = true;
    f.normal = {0, 0, cap != 0 ? -1.0 : 1.0}, f.centre = {0, 0, z}, f.radius = size.x;
    return;
  }
  const double x = size.x * d.x / radial, y = size.x * d.y / radial;
  if (fabs(d.z) <= kFeatureAngle && size.z > small) return set_edge(f, {x, y, size.z}, 0, {x, y, -size.z}, 1);
  set_point(f, feature_name(kSmoothFeature, 8 * cap + 7), {x, y, z});
}

TOUCHSTONE_LANE void hull_feature(const ModelView& m, int hull, Vec d, Feature& f) {
  const int first = m.hull_start[hull], v = hull_support(m, hull, d, 0);
  int face = -1, other = -1;
  double most_along = kFeatureCosine, least_slope = kFeatureAngle;
  for (int k = m.hull_vertex_face_start[first + v]; k < m.hull_vertex_face_start[first + v + 1]; ++k) {
    const double along = dot(load_vec(m.hull_face_normal + 3 * m.hull_vertex_face[k]), d);
    if (along > most_along) most_along = along, face = m.hull_vertex_face[k];
  }
  if (face >= 0) {
    const int start = m.hull_loop_start[face];
    f.name = feature_name(kFaceFeature, (face - m.hull_face_start[hull]) & 16383);
    f.count = m.hull_loop_start[face + 1] - start;
    f.normal = load_vec(m.hull_face_normal + 3 * face);
    for (int k = 0; k < f.count && k < kMostLoop; ++k) {
      f.label[k] = m.hull_loop[start + k];
      f.point[k] = hull_vertex(m, hull, f.label[k]);
    }
    return;
  }
  const Vec p = hull_vertex(m, hull, v);
  for (int k = m.hull_vertex_face_start[first + v]; k < m.hull_vertex_face_start[first + v + 1]; ++k) {
    const int start = m.hull_loop_start[m.hull_vertex_face[k]], end = m.hull_loop_start[m.hull_vertex_face[k] + 1];
    for (int i = start; i < end; ++i) {
      if (m.hull_loop[i] != v) continue;
      const int ends[2] = {m.hull_loop[i == start ? end - 1 : i - 1], m.hull_loop[i == end - 1 ? start : i + 1]};
      for (const int w : ends) {
        const Vec e = hull_vertex(m, hull, w) - p;
        const double len = length(e), slope = len > 0.0 ? fabs(dot(e, d)) / len : 2.0;
        if (slope <= least_slope) least_slope = slope, other = w;
      }
    }
  }
  if (other >= 0) return set_edge(f, p, v, hull_vertex(m, hull, other), other);
  set_point(f, feature_name(kVertexFeature, v), p, v);
}

TOUCHSTONE_LANE void triangle_feature(const Vec* corner, Vec d, Feature& f) {
  const Vec n = cross(corner[1] - corner[0], corner[2] - corner[0]);
  const double area = length(n), along = dot(n, d);
  if (area > 0.0 && fabs(along) >= kFeatureCosine * area) {
    const bool back = along < 0.0;
    f.name = feature_name(kFaceFeature, back ? 1 : 0), f.count = 3;
    f.normal = ((back ? -1.0 : 1.0) / area) * n;
    for (int k = 0; k < 3; ++k) {
      f.label[k] = back ? 2 - k : k;
      f.point[k] = corner[f.label[k]];
    }
    return;
  }
  const int v = triangle_support(corner, d);
  int other = -1;
  double least_slope = kFeatureAngle;
  for (int k = 1; k < 3; ++k) {
    const Vec e = corner[(v + k) % 3] - corner[v];
    const double len = length(e), slope = len > 0.0 ? fabs(dot(e, d)) / len : 2.0;
    if (slope <= least_slope) least_slope = slope, other = (v + k) % 3;
  }
  if (other >= 0) return set_edge(f, corner[v], v, corner[other], other);
  set_point(f, feature_name(kVertexFeature, v), corner[v], v);
}

// The feature of a core along the unit vector d, in the frame of the shape.
TOUCHSTONE_LANE void core_feature(const ModelView& m, const ConvexCore& core, Vec d, Feature& f) {
  f.disk = f.unbounded = false;
  f.normal = f.centre = {0, 0, 0};
  f.radius = 0.0;
  const Vec top{0, 0, core.size.z};
  int unused = 0;
  switch (core.type) {
    case kPlaneShape:
      f.name = feature_name(kFaceFeature, 0), f.count = 0, f.unbounded = true, f.normal = {0, 0, 1};
      return;
    case kCapsuleShape:
      if (fabs(d.z) <= kFeatureAngle && top.z > 0.0) return set_edge(f, top, 0, -top, 1);
      return set_point(f, feature_name(kVertexFeature, d.z < 0.0 ? 1 : 0), d.z < 0.0 ? -top : top, d.z < 0.0 ? 1 : 0);
    case kBoxShape:
      return box_face_or_edge(core.size, d, f);
    case kCylinderShape:
      return cylinder_feature(core.size, d, f);
    case kHullShape:
      return hull_feature(m, core.hull, d, f);
    case kTriangleShape:
      return triangle_feature(core.corner, d, f);
    default:  // spheres, ellipsoids
      return set_point(f, feature_name(kSmoothFeature, 0), core_support(m, core, d, unused));
  }
}

}  // namespace touchstone::gpu
