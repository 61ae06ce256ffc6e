#include "touchstone/geometry/shape.hpp"

namespace touchstone {

std::string_view to_string(ShapeType type) {
  switch (type) {
    case ShapeType::kPlane:
      return "plane";
    case ShapeType::kSphere:
      return "sphere";
    case ShapeType::kCapsule:
      return "capsule";
    case ShapeType::kEllipsoid:
      return "ellipsoid";
    case ShapeType::kCylinder:
      return "cylinder";
    case ShapeType::kCone:
      return "cone";
    case ShapeType::kBox:
      return "box";
    case ShapeType::kMesh:
      return "mesh";
    case ShapeType::kHeightField:
      return "height field";
  }
  return "unknown shape";
}

std::string_view to_string(MeshCollision collision) {
  switch (collision) {
    case MeshCollision::kHull:
      return "hull";
    case MeshCollision::kTriangles:
      return "triangles";
    case MeshCollision::kPieces:
      return "pieces";
  }
  return "unknown mesh collision";
}

}  // namespace touchstone
