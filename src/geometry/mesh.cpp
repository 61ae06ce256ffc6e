#include "touchstone/geometry/mesh.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <unordered_map>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

// The bits of a vertex, with one zero only (-0 is the same place as +0).
struct VertexBits {
  std::uint64_t x, y, z;
  explicit VertexBits(const Vector3& v)
      : x(std::bit_cast<std::uint64_t>(v.x() + 0.0)),
        y(std::bit_cast<std::uint64_t>(v.y() + 0.0)),
        z(std::bit_cast<std::uint64_t>(v.z() + 0.0)) {}
  bool operator==(const VertexBits&) const = default;
};

struct VertexHash {
  std::size_t operator()(const VertexBits& v) const {
    constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15ull;  // 2^64 over the golden ratio, spreads the bits
    std::uint64_t h = v.x * kMultiplier;
    h = (h ^ (h >> 32) ^ v.y) * kMultiplier;
    h = (h ^ (h >> 32) ^ v.z) * kMultiplier;
    return static_cast<std::size_t>(h ^ (h >> 32));
  }
};

Bounds symmetric_bounds(double x, double y, double z) { return {Vector3(-x, -y, -z), Vector3(x, y, z)}; }

}  // namespace

void merge_vertices(TriangleMesh& mesh) {
  std::unordered_map<VertexBits, int, VertexHash> first;
  first.reserve(mesh.vertices.size());
  std::vector<int> target(mesh.vertices.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
    const auto [entry, is_new] = first.emplace(VertexBits(mesh.vertices[i]), static_cast<int>(kept));
    if (is_new) mesh.vertices[kept++] = mesh.vertices[i];
    target[i] = entry->second;
  }
  mesh.vertices.resize(kept);

  std::erase_if(mesh.triangles, [&](Eigen::Vector3i& t) {
    for (int k = 0; k < 3; ++k) t[k] = target.at(static_cast<std::size_t>(t[k]));
    return t[0] == t[1] || t[1] == t[2] || t[2] == t[0];
  });
}

Bounds bounds(const TriangleMesh& mesh) {
  if (mesh.vertices.empty()) throw Error("mesh '{}' has no vertices, hence no bounds", mesh.name);
  Bounds box{mesh.vertices.front(), mesh.vertices.front()};
  for (const Vector3& v : mesh.vertices) {
    box.lower = box.lower.cwiseMin(v);
    box.upper = box.upper.cwiseMax(v);
  }
  return box;
}

Bounds bounds(const Shape& shape) {
  const Vector3& s = shape.size;
  switch (shape.type) {
    case ShapeType::kPlane:  // solid below z = 0
      return {Vector3::Constant(-kInfinity), Vector3(kInfinity, kInfinity, 0.0)};
    case ShapeType::kSphere:
      return symmetric_bounds(s.x(), s.x(), s.x());
    case ShapeType::kCapsule:
      return symmetric_bounds(s.x(), s.x(), s.x() + s.y());
    case ShapeType::kCylinder:
    case ShapeType::kCone:
      return symmetric_bounds(s.x(), s.x(), s.y());
    case ShapeType::kEllipsoid:
    case ShapeType::kBox:
      return symmetric_bounds(s.x(), s.y(), s.z());
    case ShapeType::kMesh:
      if (!shape.mesh) throw Error("a mesh shape has no mesh; set Shape::mesh");
      return bounds(*shape.mesh);
    case ShapeType::kHeightField: {
      if (!shape.height_field) throw Error("a height field shape has no data; set Shape::height_field");
      const HeightField& field = *shape.height_field;
      return {Vector3(-field.radius_x, -field.radius_y, -field.base),
              Vector3(field.radius_x, field.radius_y, field.elevation)};
    }
  }
  return {};
}

}  // namespace touchstone
