// Convex shapes, meshes, height fields and poses from any bytes: every query ends with a status, and a valid contact or
// manifold is finite.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "touchstone/base/error.hpp"
#include "touchstone/collision/collision_shape.hpp"
#include "touchstone/collision/narrow/query.hpp"
#include "touchstone/collision/narrow/raycast.hpp"

namespace {

using namespace touchstone;

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  std::uint8_t byte() { return position_ < size_ ? data_[position_++] : 0; }

  // Mostly small grid values, so that coincidences are common; now and then any bits at all.
  double number() {
    const std::uint8_t kind = byte();
    if (kind < 200) return (kind % 21 - 10) * 0.25;
    if (kind < 230) return std::ldexp(1.0 + byte() / 256.0, byte() % 40 - 20);
    if (kind < 240) return 0.0;
    if (kind < 244) return std::numeric_limits<double>::quiet_NaN();
    if (kind < 248) return std::numeric_limits<double>::infinity();
    std::uint8_t raw[8];
    for (std::uint8_t& b : raw) b = byte();
    double value = 0.0;
    std::memcpy(&value, raw, sizeof value);
    return value;
  }
  Vector3 vector() {
    const double x = number(), y = number(), z = number();
    return {x, y, z};
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_, position_ = 0;
};

ConvexShape convex(Bytes& bytes) {
  const std::uint8_t kind = bytes.byte();
  const double radius = kind % 3 == 0 ? std::abs(bytes.number()) : 0.0;
  const Vector3 size = bytes.vector().cwiseAbs();
  switch (kind % 9) {
    case 0:
      return ConvexShape::sphere(size.x());
    case 1:
      return ConvexShape::capsule(size.x(), size.y());
    case 2:
      return ConvexShape::box(size, radius);
    case 3:
      return ConvexShape::ellipsoid(size, radius);
    case 4:
      return ConvexShape::cylinder(size.x(), size.y(), radius);
    case 5:
      return ConvexShape::cone(size.x(), size.y(), radius);
    case 6:
      return ConvexShape::half_space();
    case 7:
      if (!size.allFinite()) throw Error("corners of triangles are the caller's to check");
      return ConvexShape::triangle(Vec3(size), Vec3(0, size.x(), size.y()), Vec3(size.z(), -size.x(), 0), radius);
    default: {
      std::vector<Vector3> points;
      for (int i = 0, count = bytes.byte() % 40; i < count; ++i) points.push_back(bytes.vector());
      return ConvexShape::polytope(points, radius);
    }
  }
}

std::shared_ptr<const TriangleMesh> mesh(Bytes& bytes) {
  auto result = std::make_shared<TriangleMesh>();
  const int vertices = bytes.byte() % 30, triangles = bytes.byte() % 40;
  for (int i = 0; i < vertices; ++i) result->vertices.push_back(bytes.vector());
  for (int i = 0; i < triangles; ++i) {
    const int a = bytes.byte() % 31, b = bytes.byte() % 31, c = bytes.byte() % 31;
    result->triangles.emplace_back(a, b, c);
  }
  return result;
}

std::shared_ptr<const HeightField> field(Bytes& bytes) {
  auto result = std::make_shared<HeightField>();
  result->rows = bytes.byte() % 6;
  result->columns = bytes.byte() % 6;
  result->radius_x = bytes.number();
  result->radius_y = bytes.number();
  result->elevation = bytes.number();
  result->base = bytes.number();
  for (int i = 0; i < result->rows * result->columns; ++i) result->values.push_back(bytes.number());
  return result;
}

CollisionShape shape(Bytes& bytes) {
  Shape result;
  const std::uint8_t kind = bytes.byte();
  const double margin = kind % 5 == 0 ? std::abs(bytes.number()) : 0.0;
  switch (kind % 4) {
    case 0:
      return CollisionShape(convex(bytes));
    case 1:
      result.type = ShapeType::kHeightField;
      result.height_field = field(bytes);
      break;
    case 2:
      result.type = ShapeType::kMesh;
      result.mesh_collision = MeshCollision::kTriangles;
      result.mesh = mesh(bytes);
      break;
    default:
      result.type = ShapeType::kMesh;
      result.mesh_collision = MeshCollision::kPieces;
      for (int i = 0, count = bytes.byte() % 4; i < count; ++i) result.pieces.push_back(mesh(bytes));
  }
  return CollisionShape::make(result, margin);
}

Pose pose(Bytes& bytes) {
  const Vector3 position = bytes.vector(), axis = bytes.vector();
  Quaternion rotation(bytes.number(), axis.x(), axis.y(), axis.z());
  rotation = rotation.norm() > 1e-9 && std::isfinite(rotation.norm()) ? rotation.normalized() : Quaternion::Identity();
  return Pose(Transform{position, rotation});
}

void check(const ContactResult& contact) {
  if (!contact.valid()) return;
  const bool ok = std::isfinite(contact.distance) && finite(contact.point_A) && finite(contact.point_B) &&
                  std::abs(norm(contact.normal) - 1.0) < 1e-6;
  if (!ok) std::abort();
}

void check(const Manifold& manifold) {
  if (!manifold.valid()) {
    if (manifold.count != 0) std::abort();
    return;
  }
  if (manifold.count < 0 || manifold.count > 4) std::abort();
  for (const ManifoldPoint& p : manifold) {
    const bool ok = std::isfinite(p.distance) && finite(p.point_A) && finite(p.point_B) &&
                    std::abs(norm(manifold.normal) - 1.0) < 1e-6;
    if (!ok) std::abort();
  }
}

void collide_convex(Bytes& bytes, const QueryOptions& options) {
  static QueryWorkspace workspace;
  const ConvexShape A = convex(bytes), B = convex(bytes);
  const Pose X_WA = pose(bytes), X_WB = pose(bytes);
  check(collide(A, X_WA, B, X_WB, workspace, options));
  check(collide_manifold(A, X_WA, B, X_WB, bytes.number(), workspace, options));
  overlaps(A, X_WA, B, X_WB, bytes.number(), options);
  const ContactResult apart = distance(A, X_WA, B, X_WB, options);
  if (apart.valid() && !std::isfinite(apart.distance)) std::abort();
  const RayResult ray = raycast(A, X_WA, Vec3(bytes.vector()), Vec3(bytes.vector()));
  if (ray.status == RayStatus::kHit && !(ray.distance >= 0.0)) std::abort();
}

void collide_shapes(Bytes& bytes, const QueryOptions& options) {
  static CollisionWorkspace workspace;
  static std::vector<Manifold> manifolds;
  const CollisionShape A = shape(bytes), B = shape(bytes);
  const Pose X_WA = pose(bytes), X_WB = pose(bytes);
  const double margin = bytes.number();
  manifolds.clear();
  collide(A, X_WA, B, X_WB, margin, workspace, nullptr, manifolds, options);
  for (const Manifold& manifold : manifolds) check(manifold);
  const ContactResult apart = distance(A, X_WA, B, X_WB, workspace, options);
  if (apart.valid() && !std::isfinite(apart.distance)) std::abort();
  overlaps(A, X_WA, B, X_WB, margin, workspace, options);
  const RayResult ray = raycast(A, X_WA, Vec3(bytes.vector()), Vec3(bytes.vector()));
  if (ray.status == RayStatus::kHit && !(ray.distance >= 0.0)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  QueryOptions options;
  options.gjk.variant = static_cast<GjkVariant>(bytes.byte() % 5);
  const std::uint8_t kind = bytes.byte();
  options.gjk.guess = static_cast<GjkGuess>(kind % 3);
  options.gjk.direction = Vec3(bytes.vector());
  try {
    kind < 128 ? collide_convex(bytes, options) : collide_shapes(bytes, options);
  } catch (const Error&) {
  }
  return 0;
}
