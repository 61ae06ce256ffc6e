// The parts of mass_properties.cpp: one function for each family of shapes.
#pragma once

#include "touchstone/geometry/mass_properties.hpp"

namespace touchstone {

// Sphere, capsule, ellipsoid, cylinder, cone and box; zero for the others.
MassProperties solid_primitive_mass(const Shape& shape, double density);
MassProperties shell_primitive_mass(const Shape& shape, double area_density);

MassProperties mesh_mass(const TriangleMesh& mesh, double density, MeshInertia mesh_inertia);

}  // namespace touchstone
