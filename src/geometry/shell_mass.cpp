// Thin shells of the primitives.
#include <cmath>
#include <numbers>

#include "touchstone/geometry/mass_parts.hpp"

namespace touchstone {
namespace {

using std::numbers::pi;

MassProperties about_origin(double mass, const Vector3& moments) {
  return {mass, Vector3::Zero(), moments.asDiagonal()};
}

MassProperties shell_capsule(double radius, double half_length, double density) {
  const double rr = radius * radius, hh = half_length * half_length;
  const double ball = density * 4.0 * pi * rr;
  const double tube = density * 4.0 * pi * radius * half_length;
  // A hemispherical shell has its centre of mass half a radius beyond the end of the tube.
  const double spread = ball * half_length * (half_length + radius);
  const double across = tube * (rr / 2.0 + hh / 3.0) + ball * rr * 2.0 / 3.0 + spread;
  const double along = tube * rr + ball * rr * 2.0 / 3.0;
  return about_origin(ball + tube, {across, across, along});
}

MassProperties cylinder(double radius, double half_length, double density) {
  const double rr = radius * radius, hh = half_length * half_length;
  const double disks = density * 2.0 * pi * rr;
  const double tube = density * 4.0 * pi * radius * half_length;
  const double across = tube * (rr / 2.0 + hh / 3.0) + disks * (rr / 4.0 + hh);
  return about_origin(disks + tube, {across, across, tube * rr + disks * rr / 2.0});
}

// Three pairs of faces. The inertia about x is the sum of y^2 and z^2 over the surface: a pair at y = +-b gives
// m b^2 there and m c^2 / 3 from its extent along z.
MassProperties box(const Vector3& half, double density) {
  const Vector3 squares = half.cwiseAbs2();
  const Vector3 pair(8.0 * density * half.y() * half.z(), 8.0 * density * half.z() * half.x(),
                     8.0 * density * half.x() * half.y());  // masses of the faces normal to x, y, z
  const double mass = pair.sum();
  Vector3 second;  // integral of x^2, y^2, z^2
  for (int i = 0; i < 3; ++i) second[i] = squares[i] * (pair[i] + (mass - pair[i]) / 3.0);
  return about_origin(mass, Vector3::Constant(second.sum()) - second);
}

// The lateral surface grows linearly from the tip, so its centre lies a third of the height above the base.
MassProperties shell_cone(double radius, double half_height, double density) {
  const double height = 2.0 * half_height, rr = radius * radius, hh = height * height;
  const double side = density * pi * radius * std::sqrt(rr + hh);
  const double disk = density * pi * rr;
  const double across_side = side * (rr / 4.0 + hh / 18.0);  // about its own centre
  const MassProperties lateral{
      side, {0.0, 0.0, height / 3.0 - half_height}, Vector3(across_side, across_side, side * rr / 2.0).asDiagonal()};
  const MassProperties base{
      disk, {0.0, 0.0, -half_height}, Vector3(disk * rr / 4.0, disk * rr / 4.0, disk * rr / 2.0).asDiagonal()};
  return lateral + base;
}

// MuJoCo's approximation, kept for equal models. Area by Thomsen's formula
// (https://www.numericana.com/answer/ellipsoid.htm#thomsen), inertia of the gap between the ellipsoids of semi-axes
// s and s + gap. The differences are expanded in the gap, because subtracting would leave few digits.
MassProperties ellipsoid(const Vector3& s, double density) {
  constexpr double kThomsenExponent = 1.6075;
  constexpr double kGap = 1e-6;  // metres
  const Vector3 product(s.y() * s.z(), s.z() * s.x(), s.x() * s.y());
  const double mean = product.array().pow(kThomsenExponent).mean();
  const double mass = density * 4.0 * pi * std::pow(mean, 1.0 / kThomsenExponent);

  // Of volume / (4 pi / 3): inner V and gap dV; of the squares: outer (s + gap)^2 and gap dS.
  const double V = s.prod();
  const double dV = kGap * (product.sum() + kGap * (s.sum() + kGap));
  const Vector3 dS = kGap * (2.0 * s + Vector3::Constant(kGap));
  const Vector3 outer = s.cwiseAbs2() + dS;
  // Integral of x_i^2 over the gap, times 5 / mass: (outer (V + dV) - s^2 V) / dV.
  const Vector3 second = outer + dS * (V / dV);
  return about_origin(mass, (Vector3::Constant(second.sum()) - second) * (mass / 5.0));
}

}  // namespace

MassProperties shell_primitive_mass(const Shape& shape, double density) {
  const double radius = shape.size.x(), half_length = shape.size.y();
  switch (shape.type) {
    case ShapeType::kSphere: {
      const double mass = density * 4.0 * pi * radius * radius;
      return about_origin(mass, Vector3::Constant(mass * radius * radius * 2.0 / 3.0));
    }
    case ShapeType::kCapsule:
      return shell_capsule(radius, half_length, density);
    case ShapeType::kEllipsoid:
      return ellipsoid(shape.size, density);
    case ShapeType::kCylinder:
      return cylinder(radius, half_length, density);
    case ShapeType::kCone:
      return shell_cone(radius, half_length, density);
    case ShapeType::kBox:
      return box(shape.size, density);
    case ShapeType::kPlane:
    case ShapeType::kHeightField:
    case ShapeType::kMesh:
      break;
  }
  return {};
}

}  // namespace touchstone
