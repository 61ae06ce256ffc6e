// Geoms to shapes: sizes, fromto, primitives fitted to meshes.
#include <algorithm>
#include <cmath>

#include "touchstone/geometry/mesh.hpp"
#include "touchstone/io/mjcf/mjcf_compiler.hpp"
#include "touchstone/io/xml/xml.hpp"
#include "touchstone/math/so3.hpp"

namespace touchstone::mjcf {
namespace {

ShapeType shape_type(GeomType type) {
  switch (type) {
    case GeomType::kPlane:
      return ShapeType::kPlane;
    case GeomType::kHeightField:
      return ShapeType::kHeightField;
    case GeomType::kSphere:
      return ShapeType::kSphere;
    case GeomType::kCapsule:
      return ShapeType::kCapsule;
    case GeomType::kEllipsoid:
      return ShapeType::kEllipsoid;
    case GeomType::kCylinder:
      return ShapeType::kCylinder;
    case GeomType::kBox:
      return ShapeType::kBox;
    case GeomType::kMesh:
    case GeomType::kSdf:
      return ShapeType::kMesh;
  }
  return ShapeType::kSphere;
}

// How many sizes the type has; the others are set to zero.
int size_count(ShapeType type) {
  switch (type) {
    case ShapeType::kSphere:
      return 1;
    case ShapeType::kCapsule:
    case ShapeType::kCylinder:
      return 2;
    case ShapeType::kEllipsoid:
    case ShapeType::kBox:
      return 3;
    case ShapeType::kPlane:
      return 2;
    default:
      return 0;
  }
}

bool is_elongated(GeomType type) {
  return type == GeomType::kCapsule || type == GeomType::kCylinder || type == GeomType::kBox ||
         type == GeomType::kEllipsoid;
}

// z points from the second point to the first.
void apply_fromto(GeomType type, const std::array<double, 6>& fromto, const Origin& origin, Vector3& size,
                  Transform& pose) {
  if (!is_elongated(type)) fail(origin, "fromto is given", "only capsule, cylinder, box and ellipsoid have fromto");
  const Vector3 from(fromto[0], fromto[1], fromto[2]), to(fromto[3], fromto[4], fromto[5]);
  const double length = (from - to).norm();
  if (length < 1e-14) fail(origin, "the two points of fromto are the same");
  pose = {0.5 * (from + to), rotation_from_z(from - to)};
  if (type == GeomType::kBox || type == GeomType::kEllipsoid)
    size = {size[0], size[0], 0.5 * length};
  else
    size[1] = 0.5 * length;
}

// Half sizes of the box with the same principal moments, for unit mass: I_x = (b^2 + c^2) / 3 and so on.
Vector3 inertia_box(const Vector3& moments) {
  const double sum = moments.sum();
  Vector3 half;
  for (int i = 0; i < 3; ++i) half[i] = std::sqrt(std::max(0.0, 1.5 * (sum - 2.0 * moments[i])));
  return half;
}

Vector3 fitted_size(GeomType type, const Vector3& box, bool aabb) {
  const double mean_radius = 0.5 * (box[0] + box[1]), largest_radius = std::max(box[0], box[1]);
  const double radius = aabb ? largest_radius : mean_radius;
  switch (type) {
    case GeomType::kSphere:
      return {aabb ? box.maxCoeff() : box.mean(), 0.0, 0.0};
    case GeomType::kCapsule:
      return {radius, std::max(0.0, box[2] - (aabb ? radius : 0.5 * radius)), 0.0};
    case GeomType::kCylinder:
      return {radius, box[2], 0.0};
    default:
      return box;
  }
}

}  // namespace

Compiler::Place Compiler::fitted_to_mesh(const GeomSpec& geom, const Transform& written) {
  const Origin& origin = geom.element.origin;
  const Assets::Mesh& mesh = assets_.mesh(geom.mesh, origin);
  const Assets::MeshMass& mass = assets_.mesh_mass(geom.mesh, origin);
  Transform X_fit{mass.unit.com, mass.frame.axes};
  const bool aabb = geom.compiler && geom.compiler->fit_aabb;
  Vector3 box = inertia_box(mass.frame.moments / mass.unit.mass);
  if (aabb) {
    // Bounds in the frame of the principal axes. MuJoCo's are in single precision, so that the eighth digit differs.
    TriangleMesh turned;
    const Transform back = X_fit.inverse();
    for (const Vector3& vertex : mesh.data->vertices) turned.vertices.push_back(back * vertex);
    const Bounds limits = bounds(turned);
    box = 0.5 * (limits.upper - limits.lower);
    X_fit.position = X_fit * (0.5 * (limits.upper + limits.lower)).eval();
  }
  Place place;
  place.shape.type = shape_type(geom.type);
  place.shape.size = fitted_size(geom.type, box, aabb) * geom.fit_scale;
  place.pose = written * X_fit;
  return place;
}

Compiler::Place Compiler::place_of(const GeomSpec& geom) {
  const Origin& origin = geom.element.origin;
  Place place;
  place.shape.type = shape_type(geom.type);
  place.pose = geom.pose.transform();
  Vector3 size = geom.size;
  if (geom.fromto) apply_fromto(geom.type, *geom.fromto, origin, size, place.pose);
  if (geom.type == GeomType::kMesh) {
    if (geom.mesh.empty()) fail(origin, "attribute 'mesh' is missing");
    place.shape.mesh = assets_.mesh(geom.mesh, origin).data;
    return place;
  }
  if (geom.type == GeomType::kHeightField) {
    if (geom.height_field.empty()) fail(origin, "attribute 'hfield' is missing");
    place.shape.height_field = assets_.height_field(geom.height_field, origin);
    return place;
  }
  if (!geom.mesh.empty()) {
    if (geom.type == GeomType::kPlane) fail(origin, "a plane cannot be fitted to a mesh");
    return fitted_to_mesh(geom, place.pose);
  }
  const int count = size_count(place.shape.type);
  place.shape.size.head(count) = size.head(count);
  const bool plane = place.shape.type == ShapeType::kPlane;
  if (plane ? size.head<2>().minCoeff() < 0.0 : size.head(count).minCoeff() <= 0.0) {
    fail(origin, fmt::format("size is ({}, {}, {})", size[0], size[1], size[2]),
         fmt::format("a {} needs {} positive sizes", to_string(place.shape.type), count));
  }
  return place;
}

Site Compiler::compile_site(const SiteSpec& spec, const std::vector<Transform>& frames) {
  Site site = spec.site;
  Transform pose = spec.pose.transform();
  Vector3 size = spec.size;
  if (spec.fromto) apply_fromto(spec.type, *spec.fromto, site.origin, size, pose);
  site.shape.type = shape_type(spec.type);
  if (spec.type == GeomType::kMesh && !spec.mesh.empty()) {
    site.shape.mesh = assets_.mesh(spec.mesh, site.origin).data;
  } else if (site.shape.type == ShapeType::kMesh || site.shape.type == ShapeType::kHeightField) {
    fail(site.origin, "a site of this type is not supported",
         "sites are spheres, capsules, ellipsoids, cylinders or boxes");
  } else {
    const int count = size_count(site.shape.type);
    site.shape.size.head(count) = size.head(count);
    if (size.head(count).minCoeff() <= 0.0) {
      fail(site.origin, fmt::format("size is ({}, {}, {})", size[0], size[1], size[2]), "sizes must be positive");
    }
  }
  site.pose = spec.frame < 0 ? pose : frames[static_cast<std::size_t>(spec.frame)] * pose;
  site.color = colour(spec.rgba, spec.material);
  return site;
}

}  // namespace touchstone::mjcf
