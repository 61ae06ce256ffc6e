// Contacts of a convex shape with a surface of triangles.
//
// Problem: triangle by triangle, a box that slides over a tessellated floor would meet the inner edges with normals of
//   their own and stumble, and touch every triangle under it with points of its own.
// Method: for each triangle near the shape
//   1. the shape is in front when the plane of the triangle separates them: no contact beyond the margin; one of which
//      less than a tenth reaches to the front is behind, and there are no contacts from behind;
//   2. the support feature of the shape is clipped against the triangle along the triangle's normal. That is the answer
//      when the gap of the clipped points is that of the planes (nothing can be nearer), and for triangles without
//      ridges, as no other normal is allowed there: the depth is the one along the face normal, however deep;
//   3. otherwise GJK and EPA give the normal. It stands when it is the face's, or one between the two faces of a ridge,
//      or in the cone of a vertex; else the points of step 2 are taken (only those that lie over the triangle: the
//      neighbour has the others).
//   Contacts of step 2 that nobody has proved to be the shortest way out are dropped when a shorter one also
//   frees the shape from their triangle. What is left is grouped by normals (within kOneNormal) and each group reduced
//   to four points, without those made by flat edges and vertices inside of a plane: a box on a tessellated floor has
//   the four points it has on a plane.
// Ids name the convex's vertices and the surface's vertices and edges, but not its faces: a corner keeps its id over
//   the whole floor. The same name in two groups (a ball in a valley) is told apart by the order of the normals.
// Cost: O(n log n) for n triangles that touch (surface_explained.hpp, surface_manifolds.cpp), beside one GJK for each.
//   What may be looked at is counted (SurfaceWorkspace::allowance): of two surfaces far inside each other, or with the
//   margin of bodies that fly apart, every triangle is near every other.
// A convex that is a triangle of another surface is treated alike; then faces that look the same way do not touch.
#pragma once

#include "touchstone/collision/manifold/manifold.hpp"
#include "touchstone/collision/surface/triangle_surface.hpp"

namespace touchstone {

// Normals closer than this (rad) belong to one manifold.
inline constexpr double kOneNormal = 2e-3;

// The contacts of a pair while they are collected. One for each thread, reused.
struct SurfaceWorkspace {
  struct Point {
    Vec3 a, b;  // on the triangle and on the core of the convex, in the frame of the surface
    FeatureName A, B;
  };
  // What one triangle has found.
  struct Batch {
    Vec3 normal;
    double least = 0.0;   // gap of the cores
    bool proven = false;  // no normal that is allowed gives less depth
    bool dropped = false;
    bool grouped = false;
    Vec3 corners[3];
    std::size_t first = 0, count = 0;  // of points
    int triangle = 0, sub_shape_B = 0;
    ActiveFeatures active;
    QueryStatus status = QueryStatus::kConverged;
  };
  struct Identity {
    std::uint64_t id;
    Vec3 normal;
    std::size_t manifold;
    int point;
  };
  // What one batch says: the plane `least` below the lowest point of the shape.
  struct Plane {
    Vec3 normal, lowest;
    double least;
    std::size_t batch;
  };
  struct PlaneNode {  // of a tree of planes, see surface_explained.hpp
    Vec3 lower, upper, origin;
    double height = 0.0, least = 0.0;
  };
  // Batches in the order of a number: the cell of the normal, or the depth.
  template <typename Number>
  struct Place {
    Number key;
    std::size_t batch;

    friend bool operator<(const Place& a, const Place& b) { return a.key != b.key ? a.key < b.key : a.batch < b.batch; }
  };
  std::vector<int> triangles, other_triangles;
  std::vector<Point> points;
  std::vector<Batch> batches;
  std::vector<Identity> identities;
  std::vector<Plane> planes;
  std::vector<PlaneNode> plane_nodes;
  std::vector<Place<double>> by_depth;
  std::vector<Place<std::uint64_t>> by_normal;
  std::vector<std::size_t> group;
  std::size_t comparisons = 0;  // of batches with each other, ever: the part of the work that could grow with a square

  std::size_t visits = 0;  // of triangles, ever

  // Triangles that may be looked at, and batches that may be kept, before the search ends where it is.
  struct Allowance {
    std::size_t visits = kMostVisits, batches = kMostBatches;
    bool is_spent() const { return visits == 0 || batches == 0; }
  };
  static constexpr std::size_t kMostVisits = std::size_t{1} << 20, kMostBatches = std::size_t{1} << 16;
  Allowance allowance;
};

// A convex shape near a surface, in the frame of the surface.
struct SurfacePartner {
  const ConvexShape& shape;
  Pose X_SB;
  int sub_shape = 0;                          // enters the ids
  const TriangleSurface* surface = nullptr;   // when the shape is a triangle of another surface: which surface,
  const SurfaceTriangle* triangle = nullptr;  // and its names there
};

struct SurfaceSettings {
  double radius = 0.0;  // of the surface, m
  double margin = 0.0;
  const QueryOptions& options;
};

// Adds the contacts of `partner` to the batches, as far as the allowance goes.
void find_surface_contacts(const TriangleSurface& surface, const SurfacePartner& partner,
                           const SurfaceSettings& settings, QueryWorkspace& query, SurfaceWorkspace& workspace);

// Makes manifolds of all batches, appends them to `out` and clears the batches. The surface is A, or B when `swapped`;
// the other shape has the radius `other_radius`. The cache (may be null) remembers the points of one manifold.
void flush_surface_contacts(const Pose& X_WS, const SurfaceSettings& settings, double other_radius, bool swapped,
                            QueryCache* cache, QueryWorkspace& query, SurfaceWorkspace& workspace,
                            std::vector<Manifold>& out);

// Makes the ids of out[first..] unique: equal ones are numbered in the order of their normals.
void number_equal_ids(std::size_t first, SurfaceWorkspace& workspace, std::vector<Manifold>& out);

}  // namespace touchstone
