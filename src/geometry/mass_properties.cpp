#include "touchstone/geometry/mass_properties.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>

#include "touchstone/base/error.hpp"
#include "touchstone/geometry/mass_parts.hpp"

namespace touchstone {
namespace {

MassProperties checked(const Shape& shape, const MassProperties& result) {
  if (!std::isfinite(result.mass) || !result.inertia.allFinite() || result.mass < 0.0) {
    throw Error("a {} of size ({}, {}, {}) has mass {}; sizes and density must be finite and not negative",
                to_string(shape.type), shape.size.x(), shape.size.y(), shape.size.z(), result.mass);
  }
  return result;
}

const TriangleMesh& mesh_of(const Shape& shape) {
  if (!shape.mesh) throw Error("a mesh shape has no mesh; set Shape::mesh");
  return *shape.mesh;
}

// Inertia of a point mass at p about the origin.
Matrix3 point_inertia(double mass, const Vector3& p) {
  return mass * (p.squaredNorm() * Matrix3::Identity() - p * p.transpose());
}

}  // namespace

MassProperties mass_properties(const Shape& shape, double density, MeshInertia mesh_inertia) {
  return checked(shape, shape.type == ShapeType::kMesh ? mesh_mass(mesh_of(shape), density, mesh_inertia)
                                                       : solid_primitive_mass(shape, density));
}

MassProperties shell_mass_properties(const Shape& shape, double area_density) {
  return checked(shape, shape.type == ShapeType::kMesh ? mesh_mass(mesh_of(shape), area_density, MeshInertia::kShell)
                                                       : shell_primitive_mass(shape, area_density));
}

double volume(const Shape& shape, MeshInertia mesh_inertia) { return mass_properties(shape, 1.0, mesh_inertia).mass; }

MassProperties transformed(const Transform& X_AB, const MassProperties& in_B) {
  const Matrix3 R = X_AB.rotation.toRotationMatrix();
  return {in_B.mass, X_AB * in_B.com, R * in_B.inertia * R.transpose()};
}

MassProperties operator+(const MassProperties& a, const MassProperties& b) {
  const double mass = a.mass + b.mass;
  if (mass == 0.0) return {0.0, Vector3::Zero(), a.inertia + b.inertia};
  const Vector3 com = (a.mass * a.com + b.mass * b.com) / mass;
  return {mass, com, a.inertia + b.inertia + point_inertia(a.mass, a.com - com) + point_inertia(b.mass, b.com - com)};
}

MassProperties with_mass(const MassProperties& properties, double mass) {
  if (properties.mass == 0.0) return {mass, properties.com, Matrix3::Zero()};
  return {mass, properties.com, properties.inertia * (mass / properties.mass)};
}

PrincipalInertia principal_inertia(const Matrix3& inertia) {
  const Matrix3 symmetric = 0.5 * (inertia + inertia.transpose());
  const Eigen::SelfAdjointEigenSolver<Matrix3> solver(symmetric);
  PrincipalInertia result;
  result.moments = solver.eigenvalues().reverse();  // Eigen sorts them upwards
  Matrix3 axes = solver.eigenvectors().rowwise().reverse();
  if (axes.determinant() < 0.0) axes.col(2) = -axes.col(2);
  result.axes = Quaternion(axes).normalized();
  return result;
}

bool is_physical(const Matrix3& inertia, double tolerance) {
  if (!inertia.allFinite()) return false;
  const Vector3 moments = principal_inertia(inertia).moments;  // decreasing
  return moments[2] > 0.0 && moments[0] <= (moments[1] + moments[2]) * (1.0 + tolerance);
}

}  // namespace touchstone
