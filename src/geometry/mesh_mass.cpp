// Mass properties of meshes as MuJoCo 4.0.0 computes them (mesh/inertia), so that compiled models agree.
//
// Every triangle spans a tetrahedron with a reference point. Pass one sums their volumes about the area centroid of
// the surface for the centre of mass; pass two sums volumes and second moments about that centre. For a closed
// surface the reference point does not matter. For an open one, and with the absolute volumes of kLegacy, it does,
// and then the sums of pass two do not have their centroid at the centre of pass one: an artefact kept for parity.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "touchstone/base/error.hpp"
#include "touchstone/geometry/mass_parts.hpp"
#include "touchstone/geometry/mesh.hpp"

namespace touchstone {
namespace {

// A volume below this fraction of the cube of the bounding box's diagonal is rounding of a flat mesh.
constexpr double kFlatMesh = 1e-13;

struct Triangle {
  Vector3 a, b, c;
  double area() const { return 0.5 * (b - a).cross(c - a).norm(); }
  Vector3 centroid() const { return (a + b + c) / 3.0; }
};

Triangle triangle(const TriangleMesh& mesh, const Eigen::Vector3i& t, const Vector3& origin) {
  return {mesh.vertices[t[0]] - origin, mesh.vertices[t[1]] - origin, mesh.vertices[t[2]] - origin};
}

// Weight of a triangle seen from the origin of its coordinates: m^3, or m^2 for a shell.
double weight(const Triangle& t, MeshInertia kind) {
  if (kind == MeshInertia::kShell) return t.area();
  const double volume = t.a.dot(t.b.cross(t.c)) / 6.0;
  return kind == MeshInertia::kLegacy ? std::abs(volume) : volume;
}

void check_indices(const TriangleMesh& mesh) {
  const int count = static_cast<int>(mesh.vertices.size());
  for (const Eigen::Vector3i& t : mesh.triangles) {
    if (t.minCoeff() < 0 || t.maxCoeff() >= count) {
      throw Error("mesh '{}': triangle ({}, {}, {}) refers to a vertex outside 0..{}", label_of(mesh), t[0], t[1], t[2],
                  count - 1);
    }
  }
  for (int i = 0; i < count; ++i) {
    if (!mesh.vertices[i].allFinite()) throw Error("mesh '{}': vertex {} is not finite", label_of(mesh), i);
  }
}

// Two triangles that run through an edge in the same direction disagree about which side is outside.
void check_orientation(const TriangleMesh& mesh) {
  constexpr double kNoArea = 3e-8;  // m^2: MuJoCo excuses triangles below sqrt(mjMINVAL), and so do we
  std::vector<std::pair<int, int>> half_edges;
  half_edges.reserve(3 * mesh.triangles.size());
  for (const Eigen::Vector3i& t : mesh.triangles) {
    if (triangle(mesh, t, Vector3::Zero()).area() <= kNoArea) continue;
    for (int i = 0; i < 3; ++i) half_edges.emplace_back(t[i], t[(i + 1) % 3]);
  }
  std::sort(half_edges.begin(), half_edges.end());
  const auto twice = std::adjacent_find(half_edges.begin(), half_edges.end());
  if (twice == half_edges.end()) return;
  throw Error(
      "mesh '{}': two triangles run through the edge from vertex {} to {} in the same direction, so the exact volume "
      "has no meaning; orient the triangles alike, or choose inertia 'convex' or 'legacy'",
      label_of(mesh), twice->first, twice->second);
}

Vector3 area_centroid(const TriangleMesh& mesh, const Vector3& origin) {
  double area = 0.0;
  Vector3 moment = Vector3::Zero();
  for (const Eigen::Vector3i& t : mesh.triangles) {
    const Triangle corners = triangle(mesh, t, origin);
    const double a = corners.area();
    area += a;
    moment += a * corners.centroid();
  }
  if (area <= 0.0) {
    throw Error("mesh '{}': its {} triangles have no area; check the file and its scale", label_of(mesh),
                mesh.triangles.size());
  }
  return origin + moment / area;
}

Vector3 centre_of_mass(const TriangleMesh& mesh, MeshInertia kind, const Vector3& reference, double diagonal) {
  double volume = 0.0;
  Vector3 moment = Vector3::Zero();
  for (const Eigen::Vector3i& t : mesh.triangles) {
    const Triangle corners = triangle(mesh, t, reference);
    const double w = weight(corners, kind);
    volume += w;
    moment += 0.75 * w * corners.centroid();
  }
  if (volume < kFlatMesh * diagonal * diagonal * diagonal) {
    throw Error("mesh '{}': its volume is {} m^3; {}", label_of(mesh), volume,
                volume < 0.0 ? "reverse its triangles, or choose inertia 'convex' or 'legacy'"
                             : "choose inertia 'shell' for a surface without thickness, or give mass and inertia");
  }
  return reference + moment / volume;
}

MassProperties integrate(const TriangleMesh& mesh, MeshInertia kind, const Vector3& com) {
  double total = 0.0;
  Matrix3 second = Matrix3::Zero();  // integral of x x'
  const double scale = kind == MeshInertia::kShell ? 1.0 / 12.0 : 1.0 / 20.0;
  for (const Eigen::Vector3i& t : mesh.triangles) {
    const Triangle corners = triangle(mesh, t, com);
    const double w = weight(corners, kind);
    const Vector3 sum = corners.a + corners.b + corners.c;
    total += w;
    second += w * scale *
              (corners.a * corners.a.transpose() + corners.b * corners.b.transpose() +
               corners.c * corners.c.transpose() + sum * sum.transpose());
  }
  return {total, com, second.trace() * Matrix3::Identity() - second};
}

}  // namespace

MassProperties mesh_mass(const TriangleMesh& mesh, double density, MeshInertia kind) {
  check_indices(mesh);
  if (kind == MeshInertia::kConvex || mesh.triangles.empty()) {
    // A hull without triangles cannot come back, so this recursion ends.
    return mesh_mass(convex_hull(mesh), density, kind == MeshInertia::kShell ? kind : MeshInertia::kExact);
  }
  if (kind == MeshInertia::kExact) check_orientation(mesh);
  const Bounds box = bounds(mesh);
  const Vector3 reference = area_centroid(mesh, 0.5 * (box.lower + box.upper));
  // Of a shell the area centroid is the centre of mass.
  const Vector3 com =
      kind == MeshInertia::kShell ? reference : centre_of_mass(mesh, kind, reference, (box.upper - box.lower).norm());
  MassProperties result = integrate(mesh, kind, com);
  result.mass *= density;
  result.inertia *= density;
  return result;
}

}  // namespace touchstone
