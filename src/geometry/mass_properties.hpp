// Mass, centre of mass and inertia of shapes, and of their sums.
#pragma once

#include "touchstone/geometry/shape.hpp"

namespace touchstone {

struct MassProperties {
  double mass = 0.0;                  // kg
  Vector3 com = Vector3::Zero();      // metres, in the frame of the shape or body
  Matrix3 inertia = Matrix3::Zero();  // kg m^2, about the centre of mass, axes of that frame
};

// How the volume of a mesh is understood. The choices and their results are those of MuJoCo's mesh/inertia; a mesh
// without triangles stands for its convex hull in all of them.
enum class MeshInertia {
  kExact,   // signed volume of the surface; it must be closed and oriented
  kConvex,  // volume of the convex hull
  kLegacy,  // sum of absolute tetrahedron volumes: tolerates flipped and open surfaces (MuJoCo's default)
  kShell,   // mass on the surface: density is per area
};

// Properties of a solid of the given density (kg/m^3; kg/m^2 for a mesh with kShell). Planes and height fields have
// no mass. Throws Error for a mesh without volume, and with kExact for one whose triangles disagree about the outside.
MassProperties mass_properties(const Shape& shape, double density, MeshInertia mesh_inertia = MeshInertia::kExact);

// The same for a thin shell of the given area density (kg/m^2); for a mesh this is kShell. The ellipsoid follows
// MuJoCo's approximations: Thomsen's area (error up to 1.1 %) and the gap between two ellipsoids as the shell.
MassProperties shell_mass_properties(const Shape& shape, double area_density);

// Volume in m^3: the mass at density one (so the area in m^2 of a mesh with kShell).
double volume(const Shape& shape, MeshInertia mesh_inertia = MeshInertia::kExact);

// The same matter seen from a frame A, given the pose X_AB of its frame B.
MassProperties transformed(const Transform& X_AB, const MassProperties& in_B);

// The sum of two lots of matter in the same frame.
MassProperties operator+(const MassProperties& a, const MassProperties& b);

// The same distribution with another total mass; what has no mass becomes a point.
MassProperties with_mass(const MassProperties& properties, double mass);

// Principal axes: R with inertia = R diag(moments) R', right-handed, moments in decreasing order.
struct PrincipalInertia {
  Vector3 moments;
  Quaternion axes;
};
PrincipalInertia principal_inertia(const Matrix3& inertia);

// Positive moments that satisfy the triangle inequality, with a relative tolerance.
bool is_physical(const Matrix3& inertia, double tolerance = 1e-6);

}  // namespace touchstone
