// Shapes: what bodies are made of, for collision, for mass properties and for the viewer.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/math/types.hpp"

namespace touchstone {

// Triangles over shared vertices. Vertices are in the frame of the shape that uses the mesh.
struct TriangleMesh {
  std::string name;
  std::string file;                        // where it was read from, empty for inline vertices
  std::vector<Vector3> vertices;           // metres
  std::vector<Eigen::Vector3i> triangles;  // counter-clockwise from outside; none for a point cloud: its hull is meant
};

// Its name, or its file.
inline std::string label_of(const TriangleMesh& mesh) { return mesh.name.empty() ? mesh.file : mesh.name; }

// A grid of elevations over [-radius_x, radius_x] x [-radius_y, radius_y], rows along y.
struct HeightField {
  std::string name;
  int rows = 0;                           // along y
  int columns = 0;                        // along x
  double radius_x = 0.0, radius_y = 0.0;  // half extents, metres
  double elevation = 0.0;                 // height of the value 1, metres
  double base = 0.0;                      // thickness below the value 0, metres
  std::vector<double> values;             // rows x columns, row-major, each in [0, 1]
};

enum class ShapeType { kPlane, kSphere, kCapsule, kEllipsoid, kCylinder, kCone, kBox, kMesh, kHeightField };

std::string_view to_string(ShapeType type);

// What a mesh is for collision.
enum class MeshCollision {
  kHull,       // its convex hull
  kTriangles,  // a surface, solid behind its triangles
  kPieces,     // the convex hulls of Shape::pieces
};

std::string_view to_string(MeshCollision collision);

// Sizes, all in metres:
//   plane      half extents x, y for display (0 = infinite); the plane is z = 0, solid below
//   sphere     radius
//   capsule    radius, half length of the cylinder part along z
//   ellipsoid  semi-axes x, y, z
//   cylinder   radius, half length along z
//   cone       base radius, half height along z; the tip points to +z, the origin is at half height
//   box        half extents x, y, z
//   mesh, height field: the data below
struct Shape {
  ShapeType type = ShapeType::kSphere;
  Vector3 size = Vector3::Zero();
  std::shared_ptr<const TriangleMesh> mesh;
  std::shared_ptr<const HeightField> height_field;
  MeshCollision mesh_collision = MeshCollision::kHull;
  std::vector<std::shared_ptr<const TriangleMesh>> pieces{};  // in the frame of the shape, for kPieces
};

}  // namespace touchstone
