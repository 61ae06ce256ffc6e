// Solids by their textbook formulas; size is read as shape.hpp lays it out.
#include <numbers>

#include "touchstone/geometry/mass_parts.hpp"

namespace touchstone {
namespace {

using std::numbers::pi;

MassProperties about_origin(double mass, double ixx, double iyy, double izz) {
  return {mass, Vector3::Zero(), Vector3(ixx, iyy, izz).asDiagonal()};
}

MassProperties solid_capsule(double radius, double half_length, double density) {
  const double length = 2.0 * half_length, rr = radius * radius;
  const double cylinder = density * pi * rr * length;
  const double ball = density * pi * rr * radius * 4.0 / 3.0;
  // Each hemisphere has its centre of mass 3/8 radius beyond the end of the cylinder: the parallel axis theorem
  // adds ball ((h + 3r/8)^2 - (3r/8)^2) to the inertia of the undivided ball.
  const double spread = ball * half_length * (half_length + 0.75 * radius);
  const double across = cylinder * (3.0 * rr + length * length) / 12.0 + ball * 0.4 * rr + spread;
  const double along = cylinder * 0.5 * rr + ball * 0.4 * rr;
  return about_origin(cylinder + ball, across, across, along);
}

MassProperties solid_cone(double radius, double half_height, double density) {
  const double height = 2.0 * half_height, rr = radius * radius;
  const double mass = density * pi * rr * height / 3.0;
  const double across = mass * (3.0 / 20.0 * rr + 3.0 / 80.0 * height * height);
  MassProperties result = about_origin(mass, across, across, 0.3 * mass * rr);
  result.com.z() = -0.5 * half_height;  // a quarter of the height above the base
  return result;
}

}  // namespace

MassProperties solid_primitive_mass(const Shape& shape, double density) {
  const double x = shape.size.x(), y = shape.size.y(), z = shape.size.z();
  switch (shape.type) {
    case ShapeType::kSphere: {
      const double mass = density * pi * x * x * x * 4.0 / 3.0, inertia = 0.4 * mass * x * x;
      return about_origin(mass, inertia, inertia, inertia);
    }
    case ShapeType::kCapsule:
      return solid_capsule(x, y, density);
    case ShapeType::kEllipsoid: {
      const double mass = density * pi * x * y * z * 4.0 / 3.0;
      return about_origin(mass, mass * (y * y + z * z) / 5.0, mass * (x * x + z * z) / 5.0,
                          mass * (x * x + y * y) / 5.0);
    }
    case ShapeType::kCylinder: {
      const double mass = density * pi * x * x * 2.0 * y, across = mass * (3.0 * x * x + 4.0 * y * y) / 12.0;
      return about_origin(mass, across, across, 0.5 * mass * x * x);
    }
    case ShapeType::kCone:
      return solid_cone(x, y, density);
    case ShapeType::kBox: {
      const double mass = density * 8.0 * x * y * z;
      return about_origin(mass, mass * (y * y + z * z) / 3.0, mass * (x * x + z * z) / 3.0,
                          mass * (x * x + y * y) / 3.0);
    }
    case ShapeType::kPlane:
    case ShapeType::kHeightField:
    case ShapeType::kMesh:
      break;
  }
  return {};
}

}  // namespace touchstone
