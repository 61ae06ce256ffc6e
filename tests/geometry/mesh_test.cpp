#include "touchstone/geometry/mesh.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

using ::testing::HasSubstr;

TriangleMesh cloud(std::vector<Vector3> points) {
  TriangleMesh mesh;
  mesh.name = "cloud";
  mesh.vertices = std::move(points);
  return mesh;
}

std::vector<Vector3> cube_corners() {
  std::vector<Vector3> points;
  for (int i = 0; i < 8; ++i) points.emplace_back(i & 1, (i >> 1) & 1, (i >> 2) & 1);
  return points;
}

double signed_volume(const TriangleMesh& mesh) {
  double volume = 0.0;
  for (const Eigen::Vector3i& t : mesh.triangles) {
    volume += mesh.vertices[t[0]].dot(mesh.vertices[t[1]].cross(mesh.vertices[t[2]])) / 6.0;
  }
  return volume;
}

// Closed, oriented, and no point of the cloud outside any triangle.
void expect_hull(const TriangleMesh& hull, const TriangleMesh& of) {
  std::set<std::pair<int, int>> half_edges;
  for (const Eigen::Vector3i& t : hull.triangles) {
    for (int k = 0; k < 3; ++k) EXPECT_TRUE(half_edges.emplace(t[k], t[(k + 1) % 3]).second);
  }
  for (const auto& [a, b] : half_edges) EXPECT_TRUE(half_edges.contains({b, a}));
  EXPECT_EQ(hull.triangles.size(), 2 * hull.vertices.size() - 4);  // Euler
  const Bounds box = bounds(of);
  const double tolerance = 1e-12 * (box.upper - box.lower).norm();
  for (const Eigen::Vector3i& t : hull.triangles) {
    const Vector3 a = hull.vertices[t[0]], n = (hull.vertices[t[1]] - a).cross(hull.vertices[t[2]] - a);
    if (n.norm() < tolerance * tolerance) continue;
    for (const Vector3& p : of.vertices) EXPECT_LE(n.normalized().dot(p - a), tolerance);
  }
}

template <typename Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(MergeVertices, JoinsEqualOnesInOrder) {
  TriangleMesh mesh =
      cloud({{1, 0, 0}, {0, 1, 0}, {1, 0, 0}, {0, 0, 1}, {0, 1, -0.0}, {0, 0, std::nextafter(1.0, 2.0)}});
  mesh.triangles = {{0, 1, 3}, {2, 4, 5}, {0, 2, 3}};
  merge_vertices(mesh);
  const std::vector<Vector3> expected = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, std::nextafter(1.0, 2.0)}};
  EXPECT_EQ(mesh.vertices, expected);
  const std::vector<Eigen::Vector3i> triangles = {{0, 1, 2}, {0, 1, 3}};
  EXPECT_EQ(mesh.triangles, triangles);
}

TEST(MergeVertices, EmptyMeshStaysEmpty) {
  TriangleMesh mesh;
  merge_vertices(mesh);
  EXPECT_TRUE(mesh.vertices.empty());
}

TEST(ConvexHull, CubeWithPointsInsideAndOnFaces) {
  TriangleMesh mesh = cloud(cube_corners());
  mesh.vertices.insert(mesh.vertices.begin(), {{0.5, 0.5, 0.5}, {0.5, 0.5, 1.0}, {0.2, 0.0, 0.7}});
  mesh.vertices.insert(mesh.vertices.end(), mesh.vertices.begin(), mesh.vertices.end());  // duplicates
  const TriangleMesh hull = convex_hull(mesh);
  expect_hull(hull, mesh);
  EXPECT_NEAR(signed_volume(hull), 1.0, 1e-14);
  EXPECT_EQ(hull.vertices, cube_corners());  // original order
  EXPECT_EQ(hull.name, "cloud");
}

TEST(ConvexHull, RandomClouds) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  for (const double size : {1e-6, 1.0, 1e4}) {
    for (int n = 4; n < 300; n *= 2) {
      std::vector<Vector3> points;
      for (int i = 0; i < n; ++i) points.push_back(size * Vector3(normal(random), normal(random), normal(random)));
      const TriangleMesh mesh = cloud(points);
      const TriangleMesh hull = convex_hull(mesh);
      expect_hull(hull, mesh);
      EXPECT_EQ(convex_hull(hull).vertices, hull.vertices);
    }
  }
}

// Many coplanar and nearly coplanar points: what qhull merges facets for.
TEST(ConvexHull, GridAndThinPlate) {
  std::vector<Vector3> grid;
  for (int i = 0; i < 1000; ++i) grid.emplace_back(0.1 * (i % 10), 0.1 * (i / 10 % 10), 0.1 * (i / 100));
  EXPECT_NEAR(signed_volume(convex_hull(cloud(grid))), 0.729, 1e-12);
  for (Vector3& p : grid) p.z() *= 1e-7;
  EXPECT_NEAR(signed_volume(convex_hull(cloud(grid))), 0.729e-7, 1e-14);
}

TEST(ConvexHull, RefusesWhatHasNone) {
  EXPECT_THAT(message_of([] { convex_hull(TriangleMesh{}); }), HasSubstr("at least 4"));
  EXPECT_THAT(message_of([] { convex_hull(cloud({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}})); }), HasSubstr("'cloud'"));
  EXPECT_THAT(message_of([] { convex_hull(cloud(std::vector<Vector3>(10, Vector3::Ones()))); }), HasSubstr("it has 1"));
  std::vector<Vector3> line, plane;
  for (int i = 0; i < 20; ++i) {
    line.emplace_back(0.1 * i, 0.2 * i, 0.3 * i);
    plane.emplace_back(0.1 * i, 0.01 * i * i, 0.3 * i - 0.07 * i * i);
  }
  EXPECT_THAT(message_of([&] { convex_hull(cloud(line)); }), HasSubstr("lie in a plane"));
  EXPECT_THAT(message_of([&] { convex_hull(cloud(plane)); }), HasSubstr("lie in a plane"));
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    std::vector<Vector3> points = cube_corners();
    points[5].y() = bad;
    EXPECT_THAT(message_of([&] { convex_hull(cloud(points)); }), HasSubstr("vertex 5 is not finite"));
  }
}

TEST(Bounds, OfShapes) {
  const auto check = [](ShapeType type, const Vector3& size, const Vector3& upper) {
    const Bounds box = bounds(Shape{.type = type, .size = size, .mesh = nullptr, .height_field = nullptr});
    EXPECT_EQ(box.upper, upper) << to_string(type);
    EXPECT_EQ(box.lower, -upper) << to_string(type);
  };
  check(ShapeType::kSphere, {2, 0, 0}, {2, 2, 2});
  check(ShapeType::kCapsule, {2, 3, 0}, {2, 2, 5});
  check(ShapeType::kCylinder, {2, 3, 0}, {2, 2, 3});
  check(ShapeType::kCone, {2, 3, 0}, {2, 2, 3});
  check(ShapeType::kEllipsoid, {2, 3, 4}, {2, 3, 4});
  check(ShapeType::kBox, {2, 3, 4}, {2, 3, 4});

  const Bounds plane =
      bounds(Shape{.type = ShapeType::kPlane, .size = Vector3::Zero(), .mesh = nullptr, .height_field = nullptr});
  EXPECT_EQ(plane.upper.z(), 0.0);
  EXPECT_TRUE(std::isinf(plane.lower.z()) && std::isinf(plane.upper.x()));

  HeightField field;
  field.radius_x = 2;
  field.radius_y = 3;
  field.elevation = 0.5;
  field.base = 0.1;
  Shape shape{.type = ShapeType::kHeightField, .size = Vector3::Zero(), .mesh = nullptr, .height_field = nullptr};
  EXPECT_THROW(bounds(shape), Error);
  shape.height_field = std::make_shared<HeightField>(field);
  EXPECT_EQ(bounds(shape).lower, Vector3(-2, -3, -0.1));
  EXPECT_EQ(bounds(shape).upper, Vector3(2, 3, 0.5));

  Shape mesh{.type = ShapeType::kMesh, .size = Vector3::Zero(), .mesh = nullptr, .height_field = nullptr};
  EXPECT_THROW(bounds(mesh), Error);
  mesh.mesh = std::make_shared<TriangleMesh>(cloud(cube_corners()));
  EXPECT_EQ(bounds(mesh).upper, Vector3::Ones());
  EXPECT_THROW(bounds(TriangleMesh{}), Error);
}

}  // namespace
}  // namespace touchstone
