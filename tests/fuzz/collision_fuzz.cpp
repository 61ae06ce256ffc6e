// Convex shapes and poses from any bytes: every query ends with a status, and a valid contact is finite.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "touchstone/base/error.hpp"
#include "touchstone/geometry/query.hpp"
#include "touchstone/geometry/raycast.hpp"

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

ConvexShape shape(Bytes& bytes) {
  const std::uint8_t kind = bytes.byte();
  const double radius = kind % 3 == 0 ? std::abs(bytes.number()) : 0.0;
  const Vector3 size = bytes.vector().cwiseAbs();
  switch (kind % 8) {
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
    default: {
      std::vector<Vector3> points;
      for (int i = 0, count = bytes.byte() % 40; i < count; ++i) points.push_back(bytes.vector());
      return ConvexShape::polytope(points, radius);
    }
  }
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static QueryWorkspace workspace;
  Bytes bytes(data, size);
  QueryOptions options;
  options.gjk.variant = static_cast<GjkVariant>(bytes.byte() % 5);
  options.gjk.guess = static_cast<GjkGuess>(bytes.byte() % 3);
  options.gjk.direction = Vec3(bytes.vector());
  try {
    const ConvexShape A = shape(bytes), B = shape(bytes);
    const Pose X_WA = pose(bytes), X_WB = pose(bytes);
    check(collide(A, X_WA, B, X_WB, workspace, options));
    overlaps(A, X_WA, B, X_WB, bytes.number(), options);
    const ContactResult apart = distance(A, X_WA, B, X_WB, options);
    if (apart.valid() && !std::isfinite(apart.distance)) std::abort();
    const RayResult ray = raycast(A, X_WA, Vec3(bytes.vector()), Vec3(bytes.vector()));
    if (ray.status == RayStatus::kHit && !(ray.distance >= 0.0)) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
