// Meshes and height fields for the tests of surfaces.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include "collision/collision_support.hpp"
#include "touchstone/collision/collision_shape.hpp"

namespace touchstone::test {

using Height = std::function<double(double, double)>;

// cells x cells squares over [-radius, radius]^2, two triangles each, split along the diagonal from least x and y.
inline std::shared_ptr<TriangleMesh> grid_mesh(int cells, double radius, const Height& height) {
  auto mesh = std::make_shared<TriangleMesh>();
  mesh->name = "grid";
  for (int r = 0; r <= cells; ++r) {
    for (int c = 0; c <= cells; ++c) {
      const double x = -radius + 2.0 * radius * c / cells, y = -radius + 2.0 * radius * r / cells;
      mesh->vertices.emplace_back(x, y, height(x, y));
    }
  }
  for (int r = 0; r < cells; ++r) {
    for (int c = 0; c < cells; ++c) {
      const int v = r * (cells + 1) + c, w = v + cells + 1;
      mesh->triangles.emplace_back(v, v + 1, w + 1);
      mesh->triangles.emplace_back(v, w + 1, w);
    }
  }
  return mesh;
}

inline double flat(double, double) { return 0.0; }

// The same surface as a height field; the least height must be 0 or more.
inline std::shared_ptr<HeightField> grid_field(int cells, double radius, const Height& height) {
  auto field = std::make_shared<HeightField>();
  field->name = "grid";
  field->rows = field->columns = cells + 1;
  field->radius_x = field->radius_y = radius;
  field->elevation = 1.0;
  field->base = 0.5;
  const auto mesh = grid_mesh(cells, radius, height);
  for (const Vector3& v : mesh->vertices) field->values.push_back(v.z());
  return field;
}

// The convex hull's triangles of a set of points, as a mesh.
inline std::shared_ptr<TriangleMesh> hull_mesh(const std::vector<Vector3>& points) {
  TriangleMesh cloud;
  cloud.name = "hull";
  cloud.vertices = points;
  return std::make_shared<TriangleMesh>(convex_hull(cloud));
}

inline Shape mesh_shape(std::shared_ptr<const TriangleMesh> mesh, MeshCollision collision) {
  Shape shape;
  shape.type = ShapeType::kMesh;
  shape.mesh = std::move(mesh);
  shape.mesh_collision = collision;
  return shape;
}

inline CollisionShape triangles(std::shared_ptr<const TriangleMesh> mesh, double margin = 0.0) {
  return CollisionShape::make(mesh_shape(std::move(mesh), MeshCollision::kTriangles), margin);
}

inline CollisionShape field_shape(std::shared_ptr<const HeightField> field) {
  Shape shape;
  shape.type = ShapeType::kHeightField;
  shape.height_field = std::move(field);
  return CollisionShape::make(shape);
}

inline Mat3 about(double angle, const Vector3& axis) {
  return Mat3(Matrix3(Eigen::AngleAxisd(angle, axis.normalized()).toRotationMatrix()));
}

inline int count_points(const std::vector<Manifold>& manifolds) {
  int count = 0;
  for (const Manifold& m : manifolds) count += m.count;
  return count;
}

// The manifold and point with the least distance.
inline std::pair<const Manifold*, const ManifoldPoint*> deepest(const std::vector<Manifold>& manifolds) {
  std::pair<const Manifold*, const ManifoldPoint*> best{nullptr, nullptr};
  for (const Manifold& m : manifolds) {
    for (const ManifoldPoint& p : m) {
      if (best.second == nullptr || p.distance < best.second->distance) best = {&m, &p};
    }
  }
  return best;
}

}  // namespace touchstone::test
