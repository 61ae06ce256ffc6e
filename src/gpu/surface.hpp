// What one triangle of a height field finds of a convex shape: as collision/surface/surface_contact, which says why.
//   1. A shape beyond the margin, or behind the triangle, does not touch it.
//   2. Its support feature is clipped against the triangle along the triangle's normal. That is the answer when nothing
//      can be nearer, and for triangles without ridges, as no other normal is allowed there.
//   3. Otherwise the iteration gives the normal; where a ridge or a vertex does not allow it, step 2 stands.
// Everything is in the frame of the field and on the core of the shape. One lane looks at a triangle.
#pragma once

#include "touchstone/gpu/convex_manifold.hpp"
#include "touchstone/gpu/height_field.hpp"
#include "touchstone/gpu/world.hpp"

namespace touchstone::gpu {

constexpr double kBehindSurface = 0.1;   // a shape of which less than this part reaches to the front is behind
constexpr double kAlignedNormal = 1e-4;  // rad: normals of smooth shapes are inexact
constexpr double kWedgeRoom = 1e-6;      // sine: how far a normal may leave the wedge of a ridge

// A shape near a height field.
struct SurfaceShape {
  ConvexCore core;
  Pose X;  // in the field
  double extent, core_margin;

  TOUCHSTONE_LANE Vec support(const ModelView& m, Vec d) const {
    int hint = 0;
    return X * core_support(m, core, transpose_times(X.R, d), hint);
  }
  // The middle of its box, in the field.
  TOUCHSTONE_LANE Vec centre(const ModelView& m) const {
    if (core.type != kHullShape) return X.p;
    Vec middle{0, 0, 0};
    for (int k = 0; k < 3; ++k) {
      int hint = 0;
      const double high = entry(core_support(m, core, axis(k, 1.0), hint), k);
      const double low = entry(core_support(m, core, axis(k, -1.0), hint), k);
      middle = middle + axis(k, 0.5 * (high + low));
    }
    return X * middle;
  }
};

struct TriangleVisit {
  const ModelView& m;
  const HeightFieldView& field;
  const SurfaceShape& shape;
  ConvexMemory& memory;
  FieldTriangle t;
  // What was found: points are in memory.patch.patch.
  Vec normal, lowest;
  double least_gap;
  bool proven;
  int count;

  TOUCHSTONE_LANE PatchBuilder& patch() { return memory.patch.patch; }

  // After t is set. Leaves count = 0 where nothing touches.
  TOUCHSTONE_LANE void look() {
    count = 0;
    normal = t.normal;
    lowest = shape.support(m, -t.normal);
    const double gap = dot(t.normal, lowest - t.corner[0]);
    if (!(gap <= shape.core_margin)) return;
    const double front = dot(t.normal, shape.support(m, t.normal) - t.corner[0]);
    if (front < kBehindSurface * (front - gap) - kPatchTie * shape.extent) return;
    find_feature();
    if (t.is_flat() && !patch().feature[1].disk) return take_vertices_over();
    clip(gap);
    double least_of_patch = shape.core_margin;
    for (int k = 0; k < patch().count; ++k) least_of_patch = least(least_of_patch, patch().point[k].gap());
    if (least_of_patch <= gap + kPatchDepthTie * patch().size && gap >= 0.0) return take_patch(true);
    if (!t.has_ridge()) return take_patch(false);
    iterate(gap);
  }

  // The deepest point of the shape against the plane of the triangle, over it or not.
  TOUCHSTONE_LANE void force() {
    normal = t.normal;
    lowest = shape.support(m, -t.normal);
    find_feature();
    least_gap = dot(t.normal, lowest - t.corner[0]);
    proven = false;
    patch().axes = contact_frame(t.normal);
    patch().origin = lowest - least_gap * t.normal;
    patch().count = 0;
    patch().add(0, 0.0, 0.0, 0.0, least_gap, feature_name(kFaceFeature, 0), patch().feature[1].name);
    count = 1;
  }

 private:
  TOUCHSTONE_LANE void find_feature() {
    Feature& b = patch().feature[1];
    core_feature(m, shape.core, transpose_times(shape.X.R, -t.normal), b);
    for (int k = 0; k < b.count; ++k) b.point[k] = shape.X * b.point[k];
    b.normal = shape.X.R * b.normal;
    b.centre = shape.X * b.centre;
  }

  TOUCHSTONE_LANE bool is_over(Vec p) const {
    for (int k = 0; k < 3; ++k) {
      const Vec v = t.corner[k], e = t.corner[k == 2 ? 0 : k + 1] - v;
      const double tie = kPatchTie * (fabs(e.x) + fabs(e.y) + fabs(e.z)), inward = dot(cross(t.normal, e), p - v);
      if (inward < 0.0 && inward < -tie * length(e)) return false;
    }
    return true;
  }

  // Of a triangle inside of a plane only the vertices of the shape over it count: points that its own edges and
  // vertices could add lie inside of a larger patch.
  TOUCHSTONE_LANE void take_vertices_over() {
    const Feature& b = patch().feature[1];
    patch().axes = contact_frame(t.normal);
    patch().origin = t.corner[0];
    patch().count = 0;
    least_gap = shape.core_margin;
    for (int k = 0; k < b.count; ++k) {
      if (!is_over(b.point[k])) continue;
      const Vec p = transpose_times(patch().axes, b.point[k] - t.corner[0]);
      if (p.z > shape.core_margin) continue;
      if (patch().count == 0) proven = p.z >= 0.0;
      least_gap = least(least_gap, p.z);
      patch().add(0, p.x, p.y, 0.0, p.z, feature_name(kFaceFeature, 0),
                  b.is_point() ? b.name : feature_name(kVertexFeature, b.label[k]));
    }
    count = patch().count;
  }

  // The points of the patch along the normal of the triangle.
  TOUCHSTONE_LANE void clip(double gap) {
    Feature& a = patch().feature[0];
    a.name = feature_name(kFaceFeature, 0);
    a.count = 3;
    a.disk = a.unbounded = false;
    a.normal = t.normal;
    a.radius = 0.0;
    for (int k = 0; k < 3; ++k) a.point[k] = t.corner[k], a.label[k] = k;
    patch().axes = contact_frame(t.normal);
    patch().origin = lowest - gap * t.normal;
    patch().rim_direction = patch().axes.a;
    patch().intersect();
    if (!patch().feature[1].is_point()) return;
    const FlatShape &face = patch().flat[0], &point = patch().flat[1];
    const double x = point.x[0], y = point.y[0];
    if (patch().is_over(face, x, y))
      patch().add(1, x, y, point.z[0], face.height(x, y), patch().feature[1].name, a.name);
  }

  // Keeps the points within the margin that are not made by flat edges and vertices inside of a plane: those lie inside
  // of a larger patch.
  TOUCHSTONE_LANE void take_patch(bool is_proven) {
    proven = is_proven;
    least_gap = shape.core_margin;
    for (int k = 0; k < patch().count; ++k) {
      const PlacePoint p = patch().point[k];
      if (p.gap() > shape.core_margin) continue;
      least_gap = least(least_gap, p.gap());
      if (!is_inside_a_plane(p.a)) patch().point[count++] = p;
    }
  }

  TOUCHSTONE_LANE static int edge_of_name(int name) {
    const int v = (name >> 14) & 16383, w = name & 16383;
    return v == 0 ? (w == 1 ? 0 : 2) : 1;
  }
  TOUCHSTONE_LANE bool is_inside_a_plane(int name) const {
    if (kind_of_name(name) == kVertexFeature) return field.is_inner(t.name[(name >> 14) & 16383]);
    return kind_of_name(name) == kEdgeFeature && t.edge[edge_of_name(name)] == kFlatEdge;
  }

  TOUCHSTONE_LANE void iterate(double gap) {
    // About a corner, so that the size of the field costs no digits.
    const Vec corner[3] = {{0, 0, 0}, t.corner[1] - t.corner[0], t.corner[2] - t.corner[0]};
    const ConvexCore triangle{kTriangleShape, {0, 0, 0}, 0.0, -1, corner};
    const Pose X{shape.X.R, shape.X.p - t.corner[0]};
    const double extent = most(length(corner[1]), length(corner[2]));
    ManifoldBuilder builder{{m, triangle, shape.core, X, extent + shape.extent + length(X.p), 0, 0},
                            {},
                            memory.patch.patch,
                            memory.patch.reduction};
    Simplex simplex;
    const bool apart = gjk(builder.pair, most(0.0, shape.core_margin), simplex, builder.contact);
    if (!apart) expand(builder.pair, simplex, memory.epa, builder.contact);
    if (builder.contact.beyond || !(builder.contact.distance <= shape.core_margin)) return;
    const Vec change = builder.contact.normal - t.normal;
    const bool aligned = dot(change, change) <= kAlignedNormal * kAlignedNormal;
    if (aligned || !allows(builder.contact.normal)) {
      if (!apart) find_feature(), clip(gap);  // the expansion took their memory
      if (!aligned || patch().count > 0) return take_patch(aligned);
    }
    builder.find_points(extent, shape.extent, shape.core_margin - shape.core.radius);
    normal = builder.contact.normal;
    lowest = shape.support(m, -normal);
    proven = true;
    least_gap = shape.core_margin;
    patch().origin = patch().origin + t.corner[0];
    for (int k = 0; k < builder.reduction.count && k < 4; ++k) {
      const PlacePoint p = builder.reduction.kept[k];
      least_gap = least(least_gap, p.gap());
      if (!is_inside_a_plane(p.a)) patch().point[count++] = p;
    }
  }

  TOUCHSTONE_LANE static bool is_level(Vec n, Vec e) { return fabs(dot(n, e)) <= kAlignedNormal * length(e); }
  TOUCHSTONE_LANE static Vec outward(Vec e, Vec face) {
    const Vec u = cross(e, face);
    return (1.0 / length(u)) * u;
  }
  TOUCHSTONE_LANE bool edge_allows(int k, Vec n) const {
    if (t.edge[k] != kRidgeEdge) return false;
    const Vec e = t.corner[(k + 1) % 3] - t.corner[k];
    return dot(n, outward(e, t.normal)) >= -kWedgeRoom && dot(n, outward(-e, t.across[k])) >= -kWedgeRoom;
  }
  // Whether n may be the normal of a contact of this triangle: between the faces of a ridge, or of a vertex.
  TOUCHSTONE_LANE bool allows(Vec n) const {
    int top = 0;
    for (int k = 1; k < 3; ++k) {
      if (dot(n, t.corner[k] - t.corner[top]) > 0.0) top = k;
    }
    const int before = (top + 2) % 3, after = (top + 1) % 3;
    const bool level_before = is_level(n, t.corner[before] - t.corner[top]);
    const bool level_after = is_level(n, t.corner[after] - t.corner[top]);
    if (level_before && level_after) return dot(n, t.normal) > 0.0;
    if (level_after) return edge_allows(top, n);
    if (level_before) return edge_allows(before, n);
    return dot(n, t.normal) > -kWedgeRoom && field.vertex_allows(t.name[top], n);
  }
};

// The name of a feature of a triangle in the field; of vertices far apart it may be the same.
TOUCHSTONE_LANE int name_in_field(const FieldTriangle& t, int name) {
  const int v = (name >> 14) & 16383, w = name & 16383;
  if (kind_of_name(name) == kVertexFeature) return feature_name(kVertexFeature, t.name[v] & 16383);
  if (kind_of_name(name) == kEdgeFeature) return edge_name(t.name[v] & 16383, t.name[w] & 16383);
  return name;
}

}  // namespace touchstone::gpu
