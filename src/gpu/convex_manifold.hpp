// Contact points of two convex shapes of any kind: nearest or deepest points by iteration (of a plane in closed form),
// then the patch of both features along the normal. As collision/manifold/manifold.
#pragma once

#include "touchstone/gpu/gjk.hpp"
#include "touchstone/gpu/patch_reduction.hpp"

namespace touchstone::gpu {

// How far the points of a core are from its origin at most.
TOUCHSTONE_LANE double core_extent(const ModelView& m, const ConvexCore& core, int shape) {
  if (core.type == kPlaneShape || core.type == kSphereShape) return 0.0;
  return core.type == kBoxShape || core.type == kCapsuleShape ? length(core.size) : m.shape_radius[shape];
}

// 16 bits that tell the points of a pair apart: faces need no names.
TOUCHSTONE_LANE int feature_id(int a, int b) {
  const auto key = [](int name) -> std::uint64_t {
    return kind_of_name(name) == kFaceFeature ? 2u : static_cast<std::uint32_t>(name) + 3u;
  };
  std::uint64_t x = (key(a) << 32 | key(b)) + 0x9E3779B97F4A7C15ull;  // splitmix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return static_cast<int>((x ^ (x >> 31)) & 0xffffu);
}

struct PatchMemory {
  PatchBuilder patch;
  PatchReduction reduction;
};

// Half of it is used at a time: on a GPU it is the local memory of every lane, so a kernel has one of them.
union ConvexMemory {
  Epa epa;
  PatchMemory patch;
};
struct NoMemory {};

struct ManifoldBuilder {
  ConvexPair pair;
  CoreContact contact;
  PatchBuilder& patch;
  PatchReduction& reduction;

  TOUCHSTONE_LANE double gap_along(Vec n) { return -dot(n, pair.support(n).w); }

  TOUCHSTONE_LANE bool adopt(Vec n, double least_gap) {
    constexpr double kNearlyAligned = 1e-3;
    const Vec change = n - contact.normal;
    if (!(dot(change, change) <= kNearlyAligned * kNearlyAligned)) return false;
    const MinkowskiPoint p = pair.support(n);
    const double gap = -dot(n, p.w);
    if (!(gap >= least_gap)) return false;
    contact.normal = n, contact.distance = gap;
    contact.on_a = contact.on_a + dot(n, p.a - contact.on_a) * n;
    return true;
  }

  // Of a round shape the iteration knows the normal less well than the distance: that of a face, or across an edge, is
  // the better answer where it is as good a normal.
  TOUCHSTONE_LANE void refine_normal() {
    constexpr double kAsGood = 2e-9;
    const double least_gap = gap_along(contact.normal) - kAsGood * pair.scale;
    for (int k = 0; k < 2; ++k) {
      const Feature& f = patch.feature[k];
      if (f.is_face() && adopt(k == 0 ? f.normal : -f.normal, least_gap)) return;
    }
    for (int k = 0; k < 2; ++k) {
      const Feature& f = patch.feature[k];
      if (!f.is_edge()) continue;
      const Vec e = f.point[1] - f.point[0], n = contact.normal;
      const Vec across = n - (dot(n, e) / dot(e, e)) * e;
      if (adopt((1.0 / length(across)) * across, least_gap)) return;
    }
  }

  // A direction that turns with the shape a disk lies on; of two disks, with the larger shape.
  TOUCHSTONE_LANE Vec rim_direction(double extent_a, double extent_b) const {
    const bool disk_a = patch.feature[0].disk, disk_b = patch.feature[1].disk;
    if (!disk_a && !disk_b) return {0, 0, 0};
    const bool follow_a = disk_a && disk_b ? extent_a >= extent_b : disk_b;
    if (follow_a) return contact_frame(contact.normal).a;
    return pair.X_AB.R * contact_frame(transpose_times(pair.X_AB.R, -contact.normal)).a;
  }

  // The points of the patch on the cores, at most four of them, in `reduction`.
  TOUCHSTONE_LANE void find_points(double extent_a, double extent_b, double margin) {
    Feature& b = patch.feature[1];
    core_feature(pair.m, pair.a, contact.normal, patch.feature[0]);
    core_feature(pair.m, pair.b, transpose_times(pair.X_AB.R, -contact.normal), b);
    for (int k = 0; k < b.count; ++k) b.point[k] = pair.X_AB * b.point[k];
    b.normal = pair.X_AB.R * b.normal;
    b.centre = pair.X_AB * b.centre;
    const bool bounded = pair.a.type != kPlaneShape && pair.b.type != kPlaneShape;
    if (bounded && (pair.a.is_round() || pair.b.is_round())) refine_normal();
    patch.axes = contact_frame(contact.normal);
    patch.origin = contact.on_a;
    patch.rim_direction = rim_direction(extent_a, extent_b);
    patch.intersect();
    bool has_deepest = false;
    for (int k = 0; k < patch.count; ++k)
      has_deepest = has_deepest || patch.point[k].gap() <= contact.distance + kPatchDepthTie * patch.size;
    if (!has_deepest) patch.add(0, 0.0, 0.0, 0.0, contact.distance, patch.feature[0].name, patch.feature[1].name);
    reduction.run(patch, margin + pair.a.radius + pair.b.radius);
  }

  TOUCHSTONE_LANE void build(const Pose& X_A, double extent_a, double extent_b, double margin, Manifold& found) {
    find_points(extent_a, extent_b, margin);
    found.normal = X_A.R * contact.normal;
    for (int k = 0; k < reduction.count && k < 4; ++k) {
      const PlacePoint& p = reduction.kept[k];
      const double middle = 0.5 * (p.z_a + pair.a.radius + p.z_b - pair.b.radius);
      const Vec at = X_A * (patch.origin + p.x * patch.axes.a + p.y * patch.axes.b + middle * patch.axes.c);
      add_point(found, at, at, p.gap() - pair.a.radius - pair.b.radius, feature_id(p.a, p.b));
    }
  }
};

// A is the half-space below its plane, or B is: the lowest point of the other decides.
TOUCHSTONE_LANE void plane_contact(ConvexPair& pair, CoreContact& found) {
  found.beyond = false;
  int hint = 0;
  if (pair.a.type == kPlaneShape) {
    found.normal = {0, 0, 1};
    found.on_b = pair.X_AB * core_support(pair.m, pair.b, transpose_times(pair.X_AB.R, -found.normal), hint);
    found.distance = found.on_b.z;
    found.on_a = {found.on_b.x, found.on_b.y, 0.0};
    return;
  }
  found.normal = -pair.X_AB.R.c;
  found.on_a = core_support(pair.m, pair.a, found.normal, hint);
  found.distance = dot(found.normal, pair.X_AB.p - found.on_a);
  found.on_b = found.on_a + found.distance * found.normal;
}

TOUCHSTONE_LANE void collide_convex(const ModelView& m, int shape_a, int shape_b, const PlacedShape& a,
                                    const PlacedShape& b, double margin, ConvexMemory& memory, Manifold& found) {
  const ConvexCore core_a = convex_core(a, m.shape_hull[shape_a]), core_b = convex_core(b, m.shape_hull[shape_b]);
  const Mat R{transpose_times(a.X.R, b.X.R.a), transpose_times(a.X.R, b.X.R.b), transpose_times(a.X.R, b.X.R.c)};
  const Pose X_AB{R, transpose_times(a.X.R, b.X.p - a.X.p)};
  const double extent_a = core_extent(m, core_a, shape_a), extent_b = core_extent(m, core_b, shape_b);
  ManifoldBuilder builder{{m, core_a, core_b, X_AB, extent_a + extent_b + length(X_AB.p), 0, 0},
                          {},
                          memory.patch.patch,
                          memory.patch.reduction};
  const double reach = margin + core_a.radius + core_b.radius;
  found.count = 0;
  if (a.type == kPlaneShape || b.type == kPlaneShape) {
    plane_contact(builder.pair, builder.contact);
  } else {
    Simplex simplex;
    if (!gjk(builder.pair, most(0.0, reach), simplex, builder.contact))
      expand(builder.pair, simplex, memory.epa, builder.contact);
  }
  if (builder.contact.beyond || !(builder.contact.distance <= reach)) return;
  builder.build(a.X, extent_a, extent_b, margin, found);
}

// Whether a pair is none of those in closed form (boxes.hpp).
TOUCHSTONE_BOTH bool is_iterated(int a, int b) {
  const bool plane = a == kPlaneShape || b == kPlaneShape;
  const auto other = [plane](int type) { return type > kEllipsoidShape || (type == kEllipsoidShape && !plane); };
  return other(a) || other(b);
}

}  // namespace touchstone::gpu
