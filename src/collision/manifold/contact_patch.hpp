// The contact patch: where two support features lie over each other, seen along the contact normal.
//
// Problem: the normal n from A to B is known, with a feature of each shape (support_feature.hpp) that is nearly
//   perpendicular to it. Wanted: at most four points that carry the load of the whole patch.
// Method: project both features along n onto a plane. Their intersection is a convex polygon, cut out by clipping
//   (Sutherland, Hodgman, "Reentrant Polygon Clipping", 1974); its vertices are a vertex of A, a vertex of B, or a
//   crossing of two edges, and that pair of names identifies the point. Every vertex is lifted back along n onto both
//   features. Neither shape is the reference: swapping A and B gives the same points, and nothing can flip between
//   nearly equal faces.
// Disks are not polygons. In the coordinates of its plane a disk is a circle: points are the vertices of the other
//   feature inside of it, the crossings of its edges with the circle, and four points of the rim (see rim_points).
// Ties: a vertex of A may lie outside an edge of B by kTie of the feature's size before it is clipped, so that equal
//   boxes on top of each other keep their corners whatever the rounding errors say.
// Cost: O(vertices of A x vertices of B); no allocation once the vectors have grown.
#pragma once

#include <cstdint>

#include "touchstone/collision/manifold/support_feature.hpp"

namespace touchstone {

// A point of the patch: place in the plane, heights of A and B over it along the normal.
struct PatchPoint {
  double x = 0.0, y = 0.0, z_A = 0.0, z_B = 0.0;
  FeatureName A, B;

  double gap() const { return z_B - z_A; }
};

// Where the plane is: columns of `axes` are t1, t2, n.
struct PatchFrame {
  Vec3 origin;
  Mat3 axes;

  Vec3 point(double x, double y, double z) const { return origin + x * axes.c0 + y * axes.c1 + z * axes.c2; }
};

// A feature in the coordinates of the plane.
struct FlatVertex {
  double x = 0.0, y = 0.0, z = 0.0;
  int name = 0;
};
struct FlatFeature {
  std::vector<FlatVertex> vertices;         // counter-clockwise
  double z0 = 0.0, dz_x = 0.0, dz_y = 0.0;  // height of a face: z0 + dz_x x + dz_y y
  double size = 0.0;  // largest distance of its points from one of them; infinite for a half-space

  double height(double x, double y) const { return z0 + dz_x * x + dz_y * y; }
};

// Memory for one pair at a time.
struct PatchWorkspace {
  struct ClipVertex {
    double x, y;
    PatchPoint names;  // only the names are set
    bool edge_of_A;    // which polygon the edge leaving this vertex belongs to,
    int edge;          // and its first vertex there
  };
  SupportFeature feature_A, feature_B;
  FlatFeature flat_A, flat_B;
  std::vector<ClipVertex> clip, clip_next;
  std::vector<double> distances;
  std::vector<PatchPoint> points, kept;
  std::vector<int> hull;
  std::vector<int> cells, next_in_cell;  // of kept points, when there are many
  std::size_t comparisons = 0;           // of points with kept ones, ever

  PatchWorkspace();
};

// Fraction of a feature's size below which places are the same.
inline constexpr double kTie = 1e-6;
// Fraction of it below which depths are the same.
inline constexpr double kDepthTie = 1e-9;

// Intersects workspace.feature_A and feature_B, both in the frame of `frame`, and puts the points into
// workspace.points (none for a point, for crossing edges, and where nothing overlaps). `rim_direction` fixes the
// four points on the rims of disks. A point over a face counts with `points_too` only. Returns the size of the smaller
// feature.
double intersect_features(const PatchFrame& frame, Vec3 rim_direction, PatchWorkspace& workspace,
                          bool points_too = false);

// The identity of a point from the names of its features. The index of a face does not enter: a vertex that slides
// from one triangle of a floor to the next stays the same point.
std::uint64_t feature_id(const FeatureName& A, const FeatureName& B);
std::uint64_t mix_ids(std::uint64_t id, std::uint64_t more);

// Leaves the best at most four of workspace.points, all no farther apart than `margin`: the four of largest area, or
// those of `previous` ids while these are nearly as good, with the deepest point always among them (to kDepthTie of
// `size`). Returns their number.
int reduce_patch(double margin, double size, const std::uint64_t* previous, int previous_count,
                 PatchWorkspace& workspace);

}  // namespace touchstone
