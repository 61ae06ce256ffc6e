// Four points of a contact patch: as collision/manifold/patch_reduction.
#pragma once

#include "touchstone/gpu/patch.hpp"

namespace touchstone::gpu {

TOUCHSTONE_LANE double twice_area(const PlacePoint& a, const PlacePoint& b, const PlacePoint& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}
TOUCHSTONE_LANE double squared_distance(const PlacePoint& a, const PlacePoint& b) {
  return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
}

// A vertex is a better name than an edge, and one of A than one of B: which of two equal places stays.
TOUCHSTONE_LANE int rank_of(const PlacePoint& p) {
  const int a = kind_of_name(p.a), b = kind_of_name(p.b);
  if (a == kVertexFeature) return 0;
  if (b == kVertexFeature) return 1;
  if (a == kSmoothFeature && b == kFaceFeature) return 2;
  return b == kSmoothFeature && a == kFaceFeature ? 3 : 4;
}

struct PatchReduction {
  PlacePoint kept[kMostPatch];
  short hull[kMostPatch + 2];
  int count, corners;
  double span, radius;

  TOUCHSTONE_LANE bool near_a_kept_point(const PlacePoint& p) const {
    for (int k = 0; k < count; ++k) {
      if (squared_distance(p, kept[k]) <= radius * radius) return true;
    }
    return false;
  }
  TOUCHSTONE_LANE const PlacePoint& corner(int i) const { return kept[hull[i % corners]]; }

  // Points nearer to each other than the radius are one.
  TOUCHSTONE_LANE void merge(const PlacePoint* points, int given) {
    constexpr int kRanks = 5;
    count = 0;
    for (int wanted = 0; wanted < kRanks; ++wanted) {
      for (int k = 0; k < given; ++k) {
        if (rank_of(points[k]) == wanted && !near_a_kept_point(points[k])) kept[count++] = points[k];
      }
    }
  }

  // Andrew's monotone chain.
  TOUCHSTONE_LANE void grow_hull(int i, int start, double straight) {
    while (corners >= start + 2 && twice_area(kept[hull[corners - 2]], kept[hull[corners - 1]], kept[i]) <= straight)
      --corners;
    hull[corners++] = static_cast<short>(i);
  }
  TOUCHSTONE_LANE void make_hull() {
    for (int i = 1; i < count; ++i) {
      const PlacePoint held = kept[i];
      int j = i;
      for (; j > 0 && (held.x != kept[j - 1].x ? held.x < kept[j - 1].x : held.y < kept[j - 1].y); --j)
        kept[j] = kept[j - 1];
      kept[j] = held;
    }
    const double straight = 1e-9 * span * span;
    corners = 0;
    for (int i = 0; i < count; ++i) grow_hull(i, 0, straight);
    const int start = --corners;
    for (int i = count - 1; i >= 0; --i) grow_hull(i, start, straight);
    --corners;
  }

  // Keeps the corners farthest in sixteen directions: a polygon of at least 97 % of the area.
  TOUCHSTONE_LANE void thin_out() {
    constexpr int kDirections = 16;
    if (corners <= kDirections) return;
    bool chosen[kMostPatch];
    for (int k = 0; k < corners; ++k) chosen[k] = false;
    for (int d = 0; d < kDirections; ++d) {
      const double angle = 2.0 * 3.14159265358979323846 * d / kDirections, x = cos(angle), y = sin(angle);
      int best = 0;
      for (int k = 1; k < corners; ++k) {
        if (x * corner(k).x + y * corner(k).y > x * corner(best).x + y * corner(best).y) best = k;
      }
      chosen[best] = true;
    }
    int used = 0;
    for (int k = 0; k < corners; ++k) {
      if (chosen[k]) hull[used++] = hull[k];
    }
    corners = used;
  }

  TOUCHSTONE_LANE void largest_quadrilateral() {
    const int n = corners, chosen = n < 4 ? n : 4;
    int best[4] = {0, 1, 2, 3};
    double most_area = -1.0;
    for (int i = 0; n > 4 && i < n - 2; ++i) {
      for (int k = i + 2, j = i + 1, l = i + 3; k < n; ++k) {
        if (l < k + 1) l = k + 1;
        while (j + 1 < k &&
               twice_area(corner(i), corner(j + 1), corner(k)) > twice_area(corner(i), corner(j), corner(k)))
          ++j;
        while (l + 1 < i + n &&
               twice_area(corner(i), corner(k), corner(l + 1)) > twice_area(corner(i), corner(k), corner(l)))
          ++l;
        const double other = l < i + n ? twice_area(corner(i), corner(k), corner(l)) : 0.0;
        const double area = twice_area(corner(i), corner(j), corner(k)) + other;
        if (!(area > most_area * (1.0 + 1e-12))) continue;
        most_area = area;
        best[0] = i, best[1] = j, best[2] = k, best[3] = l % n;
      }
    }
    PlacePoint result[4];
    for (int k = 0; k < chosen; ++k) result[k] = corner(best[k]);
    for (int k = 0; k < chosen; ++k) kept[k] = result[k];
    count = chosen;
  }

  // Points of the patch within the margin, at most four of them. Leaves them in `kept`.
  TOUCHSTONE_LANE void run(PatchBuilder& patch, double margin) {
    constexpr double kMerge = 1e-2;
    int given = 0;
    for (int k = 0; k < patch.count; ++k) {
      if (patch.point[k].gap() <= margin) patch.point[given++] = patch.point[k];
    }
    count = given;
    if (given > 0) kept[0] = patch.point[0];
    if (given <= 1) return;
    PlacePoint deepest = patch.point[0];
    span = 0.0;
    for (int k = 0; k < given; ++k) {
      if (patch.point[k].gap() < deepest.gap()) deepest = patch.point[k];
      span = most(span, sqrt(squared_distance(patch.point[k], patch.point[0])));
    }
    radius = most(kMerge * span, kPatchTie * patch.size);
    merge(patch.point, given);
    if (count > 4) {
      make_hull();
      thin_out();
      largest_quadrilateral();
    }
    int nearest = 0;
    for (int k = 0; k < count; ++k) {
      if (kept[k].gap() <= deepest.gap() + kPatchDepthTie * patch.size) return;
      if (squared_distance(kept[k], deepest) < squared_distance(kept[nearest], deepest)) nearest = k;
    }
    if (count < 4 && !near_a_kept_point(deepest)) nearest = count++;
    kept[nearest] = deepest;
  }
};

}  // namespace touchstone::gpu
