// Surfaces made of triangles, as collision sees them: triangle meshes and height fields.
//
// A surface is solid behind its triangles (the side their normals point away from); contacts are on the front. Edges
// between triangles know how their faces meet, for contact normals must not come from edges inside a surface.
#pragma once

#include <memory>
#include <vector>

#include "touchstone/collision/narrow/raycast.hpp"
#include "touchstone/collision/surface/bvh.hpp"

namespace touchstone {

enum class EdgeKind : std::uint8_t {
  kFlat,     // the faces lie in one plane, within kFlatEdge
  kConcave,  // a valley
  kConvex,   // a ridge: the only kind with normals of its own, those between the normals of the two faces
  kBorder,   // a ridge without a face on the other side: normals from the face's to straight outward
};

// Sine of the angle between normals below which an edge is flat.
inline constexpr double kFlatEdge = 1e-4;

// Edges shorter than this (m) make normals whose squares are no normal numbers. Queries refuse what is larger than its
// inverse.
inline constexpr double kShortest = 1e-70;

struct SurfaceTriangle {
  int index = 0;
  Vec3 vertices[3];                                                               // counter-clockwise from the front
  Vec3 normal;                                                                    // unit, to the front
  int names[3] = {};                                                              // of the vertices in the surface
  EdgeKind edges[3] = {EdgeKind::kBorder, EdgeKind::kBorder, EdgeKind::kBorder};  // k: from vertex k to the next
  Vec3 across[3];  // normals of the neighbours across ridges

  bool is_flat() const {
    return edges[0] == EdgeKind::kFlat && edges[1] == EdgeKind::kFlat && edges[2] == EdgeKind::kFlat;
  }
  bool has_ridge() const {
    return edges[0] >= EdgeKind::kConvex || edges[1] >= EdgeKind::kConvex || edges[2] >= EdgeKind::kConvex;
  }
};

class TriangleSurface {
 public:
  virtual ~TriangleSurface() = default;

  virtual Bounds bounds() const = 0;
  virtual int triangle_count() const = 0;
  virtual int vertex_count() const = 0;
  virtual Vec3 vertex(int name) const = 0;
  virtual SurfaceTriangle triangle(int index) const = 0;
  // Whether all faces around a vertex lie in one plane.
  virtual bool is_inner(int name) const = 0;
  // Whether n lies in the cone of normals of a vertex: it falls along all edges there.
  virtual bool vertex_allows(int name, Vec3 n) const = 0;
  // Adds the triangles near the box: all that overlap it, and maybe some more.
  virtual void overlapping(const Bounds& box, std::vector<int>& triangles) const = 0;
  // Adds the vertices with normal.x <= offset, each once.
  virtual void vertices_below(Vec3 normal, double offset, std::vector<int>& names) const = 0;
  // The triangle over a point under the surface, for surfaces that know their inside; -1 for a point that is not.
  virtual int triangle_above(Vec3 point) const = 0;
  // Rays meet the front of triangles only. In the frame of the surface, with a unit direction.
  virtual RayResult raycast(Vec3 origin, Vec3 direction, double limit) const = 0;
};

// Makes a surface from a mesh: vertices in the same place are merged, triangles without area are left out. Throws Error
// for a mesh without triangles, for bad indices and for vertices that are not finite.
std::unique_ptr<const TriangleSurface> make_mesh_surface(const TriangleMesh& mesh);

// Makes a surface from a height field: two triangles for each cell, split along the diagonal from the corner of least x
// and y; solid down to the base, with vertical walls at the border (walls give normals to border edges, but are no
// faces). Throws Error for a grid smaller than 2 x 2, for cells narrower than kShortest and for data that does not fit.
std::unique_ptr<const TriangleSurface> make_field_surface(std::shared_ptr<const HeightField> field);

namespace surface {

// How two faces meet at an edge that runs along e around the first.
EdgeKind edge_kind(Vec3 normal, Vec3 across, Vec3 e);
// Where a ray meets the front of a triangle; infinite when it does not.
double ray_triangle(Vec3 origin, Vec3 direction, const Vec3* vertices);
// Moves `result` to a hit at t when that is nearer than `limit`; lowers the limit.
void hit_triangle(Vec3 origin, Vec3 direction, const Vec3* vertices, double& limit, RayResult& result);

}  // namespace surface

}  // namespace touchstone
