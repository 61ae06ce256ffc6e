// Convex shapes as the narrow phase sees them: a core given by its support function, plus a radius.
//
// A shape is the Minkowski sum of its core and a ball of `radius`. A sphere is a point plus a radius and a capsule a
// segment plus a radius, so that their distances are those of the cores minus the radii, exactly; a box with a radius
// is a rounded box. The support function of a core is s(d) = argmax { d.x : x in core }.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "touchstone/geometry/mesh.hpp"
#include "touchstone/geometry/shape.hpp"
#include "touchstone/math/vec3.hpp"

namespace touchstone {

// m. Beyond this, products of four coordinates may overflow: queries answer kInvalid.
inline constexpr double kLargestCoordinate = 1e70;

enum class CoreType : std::uint8_t {
  kPoint,
  kSegment,    // along z, half length size[2]
  kTriangle,   // three corners anywhere
  kBox,        // half extents size
  kCylinder,   // radius size[0], half length size[2] along z
  kCone,       // base radius size[0], half height size[2], tip at +z
  kEllipsoid,  // semi-axes size
  kPolytope,
  kHalfSpace,  // z <= 0; unbounded, hence without support function
};
inline constexpr unsigned kCoreTypes = static_cast<unsigned>(CoreType::kHalfSpace) + 1;

// The vertices of a convex hull, ready for support queries. Immutable, shared by the shapes that use it.
struct Polytope {
  std::vector<Vec3> vertices;
  // Edges of the hull by vertex: the neighbours of v are neighbours[first_neighbour[v] .. first_neighbour[v + 1]).
  // Empty for a flat set of points, which has no hull; its support is always found exhaustively.
  std::vector<int> first_neighbour;
  std::vector<int> neighbours;
  std::vector<Eigen::Vector3i> triangles;  // outward; empty for a flat set
  // The vertices again, four to a block: x of four, y of four, z of four. The last block repeats the last vertex.
  std::vector<Lanes> blocks;
  // Where climbing starts, by direction: the surface of a cube in 6 x resolution^2 cells (see convex.cpp), and for each
  // the extreme vertex along its middle. Empty when all vertices are looked at.
  std::vector<int> starts;
  int resolution = 0;

  // Faces: coplanar triangles merged into polygons (polytope_faces.cpp). The loop of face f, counter-clockwise from
  // outside, is face_vertices[first_face_vertex[f] .. first_face_vertex[f + 1]); the faces that have vertex v are
  // vertex_faces[first_vertex_face[v] .. first_vertex_face[v + 1]). A flat set has two faces, front and back; a set on
  // a line has one "face" of two vertices, with the normal zero.
  std::vector<Vec3> face_normals;  // unit, outward
  std::vector<int> first_face_vertex, face_vertices;
  std::vector<int> first_vertex_face, vertex_faces;
};

// Fills the faces of a polytope from its vertices and triangles.
void build_faces(Polytope& polytope);

// Vertices above which climbing along edges beats looking at all of them, four at a time.
inline constexpr int kExhaustiveLimit = 32;

class ConvexShape {
 public:
  // A mesh becomes its convex hull; points without volume are kept as they are. Throws Error for a height field (not
  // convex), for missing data and for sizes that are negative or not finite. Zero sizes are allowed. `margin` (m) is
  // added to the radius: the shape grows by it on all sides.
  static ConvexShape make(const Shape& shape, double margin = 0.0);

  static ConvexShape sphere(double radius);
  static ConvexShape capsule(double radius, double half_length);
  static ConvexShape box(const Vector3& half_extents, double radius = 0.0);
  static ConvexShape ellipsoid(const Vector3& semi_axes, double radius = 0.0);
  static ConvexShape cylinder(double cylinder_radius, double half_length, double radius = 0.0);
  static ConvexShape cone(double base_radius, double half_height, double radius = 0.0);
  static ConvexShape half_space();
  static ConvexShape polytope(const std::vector<Vector3>& points, double radius = 0.0);
  // Allocates nothing, unlike a polytope of three points. The corners are the caller's to check.
  static ConvexShape triangle(Vec3 a, Vec3 b, Vec3 c, double radius = 0.0);

  CoreType core() const { return core_; }
  Vec3 size() const { return size_; }
  double radius() const { return radius_; }
  const Polytope* polytope() const { return polytope_.get(); }
  const Vec3* corners() const { return corners_; }  // the three of a triangle
  bool bounded() const { return core_ != CoreType::kHalfSpace; }
  // Whether the core has finitely many vertices, so that GJK and EPA end after finitely many steps.
  bool polyhedral() const { return core_ <= CoreType::kBox || core_ == CoreType::kPolytope; }

  // Local axis-aligned box including the radius, its centre, and the largest distance of the core from the origin.
  Bounds bounds() const { return {lower_.eigen(), upper_.eigen()}; }
  Vec3 centre() const { return centre_; }
  double extent() const { return extent_; }

  // The axis-aligned box in the world at pose X_WS, tight for the core, including the radius.
  Bounds bounds(const Pose& X_WS) const;

  // A point of the core farthest along d (any length; for the zero vector some point of the core). `vertex` is in-out:
  // the last answer as a hint where climbing starts (-1: none), and the vertex found: its index for a polytope or a
  // triangle, corner bits for a box (bit k set: coordinate k negative), end for a segment (1: lower), 0 for a point, -1
  // for others.
  Vec3 support(Vec3 d, int& vertex) const;

 private:
  ConvexShape(CoreType core, Vec3 size, double radius, std::shared_ptr<const Polytope> polytope = nullptr);
  Vec3 polytope_support(Vec3 d, int& vertex) const;

  CoreType core_;
  double radius_;
  Vec3 size_;
  std::shared_ptr<const Polytope> polytope_;
  Vec3 lower_, upper_, centre_;
  double extent_ = 0.0;
  Vec3 corners_[3];
};

namespace convex_support {

using LaneBits = long long __attribute__((vector_size(32)));

inline Vec3 box(Vec3 size, Vec3 d, int& corner) {
  const LaneBits sign_bit = LaneBits{} + static_cast<long long>(1ull << 63);
  const LaneBits sign = std::bit_cast<LaneBits>(d.lanes) & sign_bit;
  corner = (sign[0] != 0 ? 1 : 0) | (sign[1] != 0 ? 2 : 0) | (sign[2] != 0 ? 4 : 0);
  return Vec3(std::bit_cast<Lanes>(sign | std::bit_cast<LaneBits>(size.lanes)));
}

// 1/sqrt(squared), for a number that may be zero or so small that its inverse overflows: zero then. Root and division
// run side by side, which is faster than one after the other.
inline double inverse_root(double squared) {
  constexpr double kTiny = 1e-280;
  return squared > kTiny ? std::sqrt(squared) * (1.0 / squared) : 0.0;
}

inline Vec3 ellipsoid(Vec3 size, Vec3 d) {
  const Vec3 scaled(size.lanes * d.lanes);
  return Vec3(size.lanes * scaled.lanes) * inverse_root(dot(scaled, scaled));
}

inline Vec3 cylinder(Vec3 size, Vec3 d) {
  const double scale = size.x() * inverse_root(d.x() * d.x() + d.y() * d.y());
  return {scale * d.x(), scale * d.y(), std::copysign(size.z(), d.z())};
}

inline Vec3 triangle(const Vec3* corners, Vec3 d, int& vertex) {
  const double a = dot(corners[0], d), b = dot(corners[1], d), c = dot(corners[2], d);
  vertex = a >= b && a >= c ? 0 : (b >= c ? 1 : 2);
  return corners[vertex];
}

inline Vec3 cone(Vec3 size, Vec3 d) {
  const double squared = d.x() * d.x() + d.y() * d.y(), up = 2.0 * size.z() * d.z();
  if (up > 0.0 && up * up > size.x() * size.x() * squared) return {0.0, 0.0, size.z()};
  const double scale = size.x() * inverse_root(squared);
  return {scale * d.x(), scale * d.y(), -size.z()};
}

}  // namespace convex_support

inline Vec3 ConvexShape::support(Vec3 d, int& vertex) const {
  switch (core_) {
    case CoreType::kPoint:
      vertex = 0;
      return {};
    case CoreType::kSegment:
      vertex = std::signbit(d.z()) ? 1 : 0;
      return {0.0, 0.0, std::copysign(size_.z(), d.z())};
    case CoreType::kTriangle:
      return convex_support::triangle(corners_, d, vertex);
    case CoreType::kBox:
      return convex_support::box(size_, d, vertex);
    case CoreType::kPolytope:
      return polytope_support(d, vertex);
    case CoreType::kEllipsoid:
      vertex = -1;
      return convex_support::ellipsoid(size_, d);
    case CoreType::kCylinder:
      vertex = -1;
      return convex_support::cylinder(size_, d);
    case CoreType::kCone:
      vertex = -1;
      return convex_support::cone(size_, d);
    case CoreType::kHalfSpace:
      break;
  }
  vertex = -1;
  return {};
}

}  // namespace touchstone
