#include "touchstone/collision/collision_shape.hpp"

#include <gtest/gtest.h>

#include <set>

#include "collision/surface_support.hpp"
#include "support/allocation_guard.hpp"
#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

using test::Random;
using test::uniform;

std::vector<Manifold> touch(const CollisionShape& A, const Pose& X_WA, const CollisionShape& B, const Pose& X_WB,
                            double margin) {
  CollisionWorkspace workspace;
  std::vector<Manifold> out;
  EXPECT_EQ(collide(A, X_WA, B, X_WB, margin, workspace, nullptr, out), QueryStatus::kConverged);
  std::set<std::uint64_t> ids;
  for (const Manifold& m : out) {
    EXPECT_TRUE(m.valid());
    EXPECT_NEAR(norm(m.normal), 1.0, 1e-12);
    for (const ManifoldPoint& p : m) {
      ids.insert(p.feature);
      EXPECT_LE(p.distance, margin);
      EXPECT_LT(norm(p.point_B - p.point_A - p.distance * m.normal), 1e-9);
    }
  }
  EXPECT_EQ(static_cast<int>(ids.size()), test::count_points(out)) << "ids are unique";
  return out;
}

// Dropped in any pose on a tessellated floor: the same manifold as on a half-space.
TEST(MeshSurface, FloorIsAPlane) {
  Random random(21);
  const CollisionShape ground(ConvexShape::half_space()), floor = test::triangles(test::grid_mesh(37, 3.0, test::flat));
  const CollisionShape field = test::field_shape(test::grid_field(37, 3.0, test::flat));
  const auto u = [&] { return uniform(random, 0.1, 0.5); };
  for (int i = 0; i < 600; ++i) {
    const int kind = i % 6;
    const ConvexShape convex = kind == 0   ? ConvexShape::box({u(), u(), u()})
                               : kind == 1 ? ConvexShape::sphere(u())
                               : kind == 2 ? ConvexShape::capsule(u(), u())
                               : kind == 3 ? ConvexShape::cylinder(u(), u())
                               : kind == 4 ? ConvexShape::polytope(test::random_points(random, 30, u()))
                                           : ConvexShape::box({u(), u(), u()}, 0.1 * u());
    const CollisionShape shape(convex);
    Pose X(i % 2 == 0 ? test::about(uniform(random, -3, 3), Vector3::UnitZ())
                      : Mat3(Matrix3(test::random_rotation(random).toRotationMatrix())),
           Vec3(uniform(random, -1.5, 1.5), uniform(random, -1.5, 1.5), 0.0));
    X.p.lanes[2] = uniform(random, -0.05, 4e-3) - shape.bounds(X).lower.z();
    SCOPED_TRACE(testing::Message() << "case " << i);
    const std::vector<Manifold> expected = touch(ground, Pose(), shape, X, 5e-3);
    for (const CollisionShape* surface : {&floor, &field}) {
      const std::vector<Manifold> found = touch(*surface, Pose(), shape, X, 5e-3);
      ASSERT_EQ(found.size(), expected.size());
      if (expected.empty()) continue;
      ASSERT_EQ(found[0].count, expected[0].count);
      EXPECT_LT(norm(found[0].normal - Vec3(0, 0, 1)), 1e-15);
      for (const ManifoldPoint& p : expected[0]) {
        const bool same = std::any_of(found[0].begin(), found[0].end(), [&](const ManifoldPoint& q) {
          return norm(p.point_A - q.point_A) < 1e-9 && norm(p.point_B - q.point_B) < 1e-9 &&
                 std::abs(p.distance - q.distance) < 1e-12;
        });
        EXPECT_TRUE(same);
      }
      const std::vector<Manifold> reverse = touch(shape, X, *surface, Pose(), 5e-3);
      ASSERT_EQ(reverse.size(), 1u);
      EXPECT_EQ(reverse[0].count, expected[0].count);
      EXPECT_LT(norm(reverse[0].normal + Vec3(0, 0, 1)), 1e-15);
    }
  }
}

TEST(MeshSurface, SphereRollsWithoutBumps) {
  const CollisionShape floor = test::triangles(test::grid_mesh(20, 1.0, test::flat)), ball(ConvexShape::sphere(0.1));
  std::uint64_t id = 0;
  for (int step = 0; step <= 1000; ++step) {
    const double t = step * 1e-3;
    const Pose X(Mat3::identity(), Vec3(-0.9 + 1.8 * t, -0.5 + 1.1 * t, 0.0999));
    const std::vector<Manifold> m = touch(floor, Pose(), ball, X, 1e-3);
    ASSERT_EQ(m.size(), 1u);
    ASSERT_EQ(m[0].count, 1);
    EXPECT_LT(norm(m[0].normal - Vec3(0, 0, 1)), 1e-12);
    EXPECT_NEAR(m[0].points[0].distance, -1e-4, 1e-12);
    if (step > 0) {
      EXPECT_EQ(m[0].points[0].feature, id);
    }
    id = m[0].points[0].feature;
  }
}

// A ball against the triangles of a cube is a ball against the cube: faces, edges and corners.
TEST(MeshSurface, CubeOfTrianglesWithBall) {
  Random random(22);
  const Vector3 half(0.5, 0.4, 0.3);
  const CollisionShape mesh = test::triangles(test::hull_mesh(test::box_points(half)));
  const ConvexShape box = ConvexShape::box(half);
  QueryWorkspace workspace;
  int touching = 0, edges = 0;
  for (int i = 0; i < 5000; ++i) {
    const double r = uniform(random, 0.05, 0.3);
    const Pose X = test::random_pose(random, 1.2);
    const ConvexShape ball = ConvexShape::sphere(r);
    const ContactResult expected = collide(box, Pose(), ball, X, workspace);
    if (expected.distance < -0.9 * r) continue;  // the centre is in the cube
    const std::vector<Manifold> found = touch(mesh, Pose(), CollisionShape(ball), X, 0.02);
    ASSERT_EQ(found.size(), expected.distance <= 0.02 ? 1u : 0u) << i << " " << expected.distance;
    if (found.empty()) continue;
    ++touching;
    ASSERT_EQ(found[0].count, 1);
    EXPECT_NEAR(found[0].points[0].distance, expected.distance, 1e-12);
    EXPECT_LT(norm(found[0].normal - expected.normal), 1e-9);
    edges += std::abs(expected.normal.eigen().cwiseAbs().maxCoeff() - 1.0) > 1e-6 ? 1 : 0;
  }
  EXPECT_GT(touching, 500);
  EXPECT_GT(edges, 100);
}

// The same for any convex: the deepest contact is that of the cube, for shallow ones.
TEST(MeshSurface, CubeOfTrianglesWithConvex) {
  Random random(23);
  const Vector3 half(0.5, 0.4, 0.3);
  const CollisionShape mesh = test::triangles(test::hull_mesh(test::box_points(half)));
  const ConvexShape box = ConvexShape::box(half);
  QueryWorkspace workspace;
  int touching = 0, differ = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto u = [&] { return uniform(random, 0.1, 0.4); };
    const ConvexShape shape = i % 3 == 0   ? ConvexShape::box({u(), u(), u()})
                              : i % 3 == 1 ? ConvexShape::capsule(u(), u())
                                           : ConvexShape::polytope(test::random_points(random, 20, 0.4));
    Pose X = test::random_pose(random, 1.0);
    const ContactResult apart = collide(box, Pose(), shape, X, workspace);
    X.p = X.p + (uniform(random, -0.02, 0.02) - apart.distance) * apart.normal;
    const ContactResult expected = collide(box, Pose(), shape, X, workspace);
    if (expected.distance > 0.02 || expected.distance < -0.02) continue;
    SCOPED_TRACE(testing::Message() << "case " << i << " distance " << expected.distance);
    const std::vector<Manifold> found = touch(mesh, Pose(), CollisionShape(shape), X, 0.03);
    ASSERT_FALSE(found.empty());
    const auto [m, p] = test::deepest(found);
    ++touching;
    if (expected.distance >= 0.0) {
      double nearest = 1.0;
      for (const Manifold& manifold : found) {
        for (const ManifoldPoint& point : manifold) nearest = std::min(nearest, point.distance);
      }
      EXPECT_NEAR(nearest, expected.distance, 1e-9);
    } else {
      differ += std::abs(p->distance - expected.distance) > 1e-6 || norm(m->normal - expected.normal) > 1e-3 ? 1 : 0;
    }
  }
  EXPECT_GT(touching, 2000);
  EXPECT_EQ(differ, 0);
}

// A ball in a bowl: the hull of the bowl would hold it at the rim.
TEST(MeshSurface, BallInABowl) {
  const auto bowl = [](double x, double y) { return 0.5 * (x * x + y * y); };
  const CollisionShape mesh = test::triangles(test::grid_mesh(40, 1.0, bowl));
  const CollisionShape ball(ConvexShape::sphere(0.2));
  for (const double height : {0.1995, 0.21}) {
    const std::vector<Manifold> m = touch(mesh, Pose(), ball, Pose(Mat3::identity(), Vec3(0.01, 0.02, height)), 1e-3);
    EXPECT_EQ(m.empty(), height > 0.201 + 1e-3);
    for (const Manifold& manifold : m) {
      EXPECT_GT(manifold.normal.z(), 0.99);
      for (const ManifoldPoint& p : manifold) EXPECT_LT(norm(p.point_A), 0.1);
    }
  }
  const CollisionShape hull =
      CollisionShape::make(test::mesh_shape(test::grid_mesh(40, 1.0, bowl), MeshCollision::kHull));
  const std::vector<Manifold> wrong = touch(hull, Pose(), ball, Pose(Mat3::identity(), Vec3(0, 0, 0.3)), 1e-3);
  ASSERT_EQ(wrong.size(), 1u);  // the ball hangs in the air, inside of the hull
  EXPECT_LT(wrong[0].points[0].distance, -0.2);
}

// A ball in a valley touches both sides, each with the face's own normal.
TEST(MeshSurface, BallInAValley) {
  const auto valley = [](double x, double) { return std::abs(x); };
  const CollisionShape mesh = test::triangles(test::grid_mesh(10, 1.0, valley)), ball(ConvexShape::sphere(0.1));
  std::set<std::uint64_t> ids;
  for (int step = 0; step < 200; ++step) {
    const Pose X(Mat3::identity(), Vec3(0.0, -0.5 + 0.005 * step, 0.1 * std::sqrt(2.0) - 1e-4));
    const std::vector<Manifold> m = touch(mesh, Pose(), ball, X, 1e-3);
    ASSERT_EQ(m.size(), 2u);
    for (const Manifold& manifold : m) {
      EXPECT_NEAR(std::abs(manifold.normal.x()), std::sqrt(0.5), 1e-12);
      EXPECT_NEAR(manifold.points[0].distance, -1e-4 / std::sqrt(2.0), 1e-12);
      ids.insert(manifold.points[0].feature);
    }
  }
  EXPECT_EQ(ids.size(), 2u);  // the same two over all triangles of the valley
}

// Bumpy ground: the height field is the mesh.
TEST(FieldSurface, EqualsTheMesh) {
  Random random(24);
  const auto bumps = [](double x, double y) { return 0.1 + 0.05 * std::sin(3.0 * x) * std::cos(4.0 * y + 1.0); };
  const CollisionShape mesh = test::triangles(test::grid_mesh(24, 1.5, bumps));
  const CollisionShape field = test::field_shape(test::grid_field(24, 1.5, bumps));
  int points = 0;
  for (int i = 0; i < 500; ++i) {
    const auto u = [&] { return uniform(random, 0.05, 0.3); };
    const CollisionShape shape(i % 3 == 0   ? ConvexShape::sphere(u())
                               : i % 3 == 1 ? ConvexShape::box({u(), u(), u()})
                                            : ConvexShape::capsule(u(), u()));
    Pose X = test::random_pose(random, 0.8);
    X.p.lanes[2] = 0.1 - shape.bounds(Pose(X.R, Vec3())).lower.z() + uniform(random, -0.05, 0.05);
    if (X.p.z() < bumps(X.p.x(), X.p.y()) + 0.01) continue;  // inside of the field, which knows that
    const std::vector<Manifold> a = touch(mesh, Pose(), shape, X, 1e-3), b = touch(field, Pose(), shape, X, 1e-3);
    SCOPED_TRACE(testing::Message() << "case " << i);
    ASSERT_EQ(test::count_points(a), test::count_points(b));
    points += test::count_points(a);
    if (a.empty()) continue;
    EXPECT_NEAR(test::deepest(a).second->distance, test::deepest(b).second->distance, 1e-12);
    EXPECT_LT(norm(test::deepest(a).first->normal - test::deepest(b).first->normal), 1e-9);
  }
  EXPECT_GT(points, 300);
}

// A box beside a table with a fine top, 1 mm into its side: the way out is sideways, and the triangles of the top,
// under which the box reaches far, must not lift it.
TEST(MeshSurface, DeepUnderAFineTop) {
  auto table = test::grid_mesh(400, 0.2, test::flat);  // cells of 1 mm
  const int row = 401;
  for (const double y : {-0.2, 0.2}) table->vertices.emplace_back(0.2, y, -0.3);
  const int below = static_cast<int>(table->vertices.size()) - 2;  // (x, -y), then (x, +y)
  for (int r = 0; r < 400; ++r) {                                  // the side at +x: a fan
    const int v = r * row + 400;
    table->triangles.emplace_back(v, below, v + row);
  }
  table->triangles.emplace_back(400 * row + 400, below, below + 1);
  const CollisionShape mesh = test::triangles(table), box(ConvexShape::box({0.1, 0.05, 0.1}));
  const std::vector<Manifold> found =
      touch(mesh, Pose(), box, Pose(Mat3::identity(), Vec3(0.3 - 2.5e-3, 0.0, -0.05)), 1e-3);
  ASSERT_FALSE(found.empty());
  for (const Manifold& m : found) {
    EXPECT_GT(m.normal.x(), 0.999);
    for (const ManifoldPoint& p : m) EXPECT_GT(p.distance, -2.6e-3);
  }
  EXPECT_NEAR(test::deepest(found).second->distance, -2.5e-3, 1e-9);
}

// A shape under the surface of a height field is inside of it and is pushed up.
TEST(FieldSurface, IsSolidBelow) {
  const CollisionShape field =
      test::field_shape(test::grid_field(20, 2.0, [](double x, double) { return 1.0 + 0.1 * x; }));
  const CollisionShape ball(ConvexShape::sphere(0.1));
  const std::vector<Manifold> m = touch(field, Pose(), ball, Pose(Mat3::identity(), Vec3(0, 0, 0.5)), 1e-3);
  ASSERT_EQ(test::count_points(m), 1);
  EXPECT_NEAR(m[0].points[0].distance, -0.1 - 0.5 / std::sqrt(1.01), 1e-12);
  EXPECT_GT(m[0].normal.z(), 0.99);
  EXPECT_TRUE(touch(field, Pose(), ball, Pose(Mat3::identity(), Vec3(0, 0, -2.0)), 1e-3).empty());
  EXPECT_TRUE(touch(field, Pose(), ball, Pose(Mat3::identity(), Vec3(3, 0, 0.5)), 1e-3).empty());
}

TEST(MeshSurface, MeshOnMeshAndOnPlane) {
  const auto cube = test::hull_mesh(test::box_points({0.31, 0.27, 0.23}));
  const CollisionShape mesh = test::triangles(cube);
  const CollisionShape floor = test::triangles(test::grid_mesh(17, 1.0, test::flat)), ground(ConvexShape::half_space());
  for (const double gap : {5e-4, -1e-3}) {
    const Pose X(test::about(0.3, Vector3::UnitZ()), Vec3(0.03, 0.05, 0.23 + gap));
    for (const CollisionShape* under : {&floor, &ground}) {
      const std::vector<Manifold> m = touch(*under, Pose(), mesh, X, 1e-3);
      ASSERT_EQ(m.size(), 1u) << gap;
      ASSERT_EQ(m[0].count, 4);
      EXPECT_LT(norm(m[0].normal - Vec3(0, 0, 1)), 1e-12);
      for (const ManifoldPoint& p : m[0]) {
        EXPECT_NEAR(p.distance, gap, 1e-12);
        const Vec3 local = transpose_times(X.R, p.point_B - X.p);
        EXPECT_NEAR(std::abs(local.x()), 0.31, 1e-9);
        EXPECT_NEAR(std::abs(local.y()), 0.27, 1e-9);
      }
    }
  }
}

TEST(CollisionShape, Pieces) {
  // An L of two boxes; a ball in its corner touches both, which a hull would not allow.
  Shape shape;
  shape.type = ShapeType::kMesh;
  shape.mesh_collision = MeshCollision::kPieces;
  const auto moved_box = [](const Vector3& half, const Vector3& at) {
    return test::hull_mesh(test::moved(test::box_points(half), Pose(Mat3::identity(), Vec3(at))));
  };
  shape.pieces = {moved_box({1, 0.5, 0.1}, {0, 0, -0.1}), moved_box({0.1, 0.5, 1}, {-1.1, 0, 0.8})};
  const CollisionShape corner = CollisionShape::make(shape), ball(ConvexShape::sphere(0.2));
  EXPECT_LT((corner.bounds().lower - Vector3(-1.2, -0.5, -0.2)).norm(), 1e-15);
  EXPECT_LT((corner.bounds().upper - Vector3(1, 0.5, 1.8)).norm(), 1e-15);
  const std::vector<Manifold> m =
      touch(corner, Pose(), ball, Pose(Mat3::identity(), Vec3(-0.8 - 1e-3, 0, 0.2 - 2e-3)), 1e-3);
  ASSERT_EQ(m.size(), 2u);
  double sum = 0.0;
  for (const Manifold& manifold : m) sum += manifold.points[0].distance;
  EXPECT_NEAR(sum, -3e-3, 1e-12);
  const std::vector<Manifold> reverse =
      touch(ball, Pose(Mat3::identity(), Vec3(-0.8 - 1e-3, 0, 0.2 - 2e-3)), corner, Pose(), 1e-3);
  EXPECT_EQ(reverse.size(), 2u);
}

TEST(Bvh, AgreesWithBruteForce) {
  Random random(28);
  for (const int count : {0, 1, 5, 300}) {
    std::vector<Bounds> boxes;
    for (int i = 0; i < count; ++i) {
      const Vector3 centre = 2.0 * test::random_unit(random);
      const Vector3 half =
          (i % 7 == 0 ? 0.0 : 0.3) * Vector3::Ones().cwiseProduct(test::random_unit(random).cwiseAbs());
      boxes.push_back({centre - half, centre + half});
    }
    if (count > 20) boxes[20] = boxes[21] = boxes[22] = boxes[23] = boxes[24] = boxes[25] = boxes[26];
    const Bvh tree(boxes);
    for (int q = 0; q < 100; ++q) {
      const Vector3 centre = 2.0 * test::random_unit(random), half = Vector3::Constant(uniform(random, 0.0, 0.8));
      const Bounds query{centre - half, centre + half};
      std::set<int> found;
      tree.overlapping(query, [&](int i) { return found.insert(i).second; });
      for (int i = 0; i < count; ++i) {
        const Bounds& box = boxes[static_cast<std::size_t>(i)];
        const bool overlap =
            (box.lower.array() <= query.upper.array()).all() && (query.lower.array() <= box.upper.array()).all();
        EXPECT_TRUE(!overlap || found.count(i) == 1);  // leaves may hold others, too
      }
      const Vec3 origin(3.0 * test::random_unit(random));
      const Vec3 direction = q % 3 == 0 ? Vec3(0, 0, -1) : Vec3(test::random_unit(random));
      std::set<int> hit;
      tree.along_ray(origin, direction, 5.0, [&](int i, double&) { hit.insert(i); });
      for (int i = 0; i < count; ++i) {
        const Bounds& box = boxes[static_cast<std::size_t>(i)];
        const Vector3 size = box.upper - box.lower, middle = 0.5 * (box.upper + box.lower);
        const RayResult ray = raycast(ConvexShape::box(0.5 * size), Pose(Mat3::identity(), Vec3(middle)), origin,
                                      direction, {.max_distance = 5.0});
        EXPECT_TRUE(ray.status != RayStatus::kHit || hit.count(i) == 1);
      }
    }
  }
}

TEST(CollisionShape, BoundsContainTheShape) {
  Random random(25);
  const auto bumps = [](double x, double y) { return 0.1 + 0.05 * std::sin(3.0 * x) * std::cos(4.0 * y + 1.0); };
  const auto mesh = test::grid_mesh(8, 1.5, bumps);
  const CollisionShape surface = test::triangles(mesh, 0.01);
  for (int i = 0; i < 100; ++i) {
    const Pose X = test::random_pose(random, 2.0);
    const Bounds box = surface.bounds(X);
    for (const Vector3& v : mesh->vertices) {
      const Vector3 p = (X * Vec3(v)).eigen();
      EXPECT_TRUE((p.array() >= box.lower.array() + 0.0099).all() && (p.array() <= box.upper.array() - 0.0099).all());
    }
  }
  EXPECT_TRUE(std::isinf(CollisionShape(ConvexShape::half_space()).bounds(Pose()).lower.x()));
}

// Distances and rays against all triangles, one by one.
TEST(CollisionShape, QueriesAgreeWithBruteForce) {
  Random random(26);
  const auto bumps = [](double x, double y) { return 0.2 + 0.2 * std::sin(3.0 * x) * std::cos(4.0 * y + 1.0); };
  const auto mesh = test::grid_mesh(20, 1.5, bumps);
  const CollisionShape surface = test::triangles(mesh), field = test::field_shape(test::grid_field(20, 1.5, bumps));
  std::vector<ConvexShape> all;
  for (const Eigen::Vector3i& t : mesh->triangles) {
    all.push_back(ConvexShape::triangle(Vec3(mesh->vertices[static_cast<std::size_t>(t[0])]),
                                        Vec3(mesh->vertices[static_cast<std::size_t>(t[1])]),
                                        Vec3(mesh->vertices[static_cast<std::size_t>(t[2])])));
  }
  CollisionWorkspace workspace;
  int hits = 0;
  for (int i = 0; i < 200; ++i) {
    const ConvexShape box = ConvexShape::box({0.1, 0.2, 0.15});
    const Pose X_WS = test::random_pose(random, 1.0), X = test::random_pose(random, 3.0);
    double nearest = 1e9;
    for (const ConvexShape& t : all) nearest = std::min(nearest, distance(t, X_WS, box, X).distance);
    for (const CollisionShape* s : {&surface, &field}) {
      const ContactResult found = distance(*s, X_WS, CollisionShape(box), X, workspace);
      ASSERT_TRUE(found.valid());
      EXPECT_NEAR(found.distance, nearest, 1e-9);
      EXPECT_NEAR(distance(CollisionShape(box), X, *s, X_WS, workspace).distance, nearest, 1e-9);
      for (const double margin : {0.0, 0.5 * nearest, 1.5 * nearest}) {
        const OverlapStatus expected = nearest <= margin ? OverlapStatus::kOverlapping : OverlapStatus::kSeparated;
        EXPECT_EQ(overlaps(*s, X_WS, CollisionShape(box), X, margin, workspace), expected);
      }
      const Vec3 origin = X_WS * Vec3(uniform(random, -1.4, 1.4), uniform(random, -1.4, 1.4), 1.0);
      const Vec3 direction =
          X_WS.R * Vec3(uniform(random, -0.5, 0.5), i % 4 == 0 ? 0.0 : uniform(random, -0.5, 0.5), -1.0);
      double first = 1e9;
      for (const ConvexShape& t : all) {
        const RayResult hit = raycast(t, X_WS, origin, direction);
        if (hit.status == RayStatus::kHit) first = std::min(first, hit.distance);
      }
      const RayResult ray = raycast(*s, X_WS, origin, direction);
      EXPECT_EQ(ray.status == RayStatus::kHit, first < 1e9);
      if (ray.status != RayStatus::kHit) continue;
      ++hits;
      EXPECT_NEAR(ray.distance, first, 1e-9);
      EXPECT_LT(dot(ray.normal, direction), 0.0);
    }
  }
  EXPECT_GT(hits, 100);
}

TEST(CollisionShape, BadInputIsAnError) {
  const auto bad = [](const Shape& shape) { EXPECT_THROW(CollisionShape::make(shape), Error); };
  bad(test::mesh_shape(nullptr, MeshCollision::kHull));
  bad(test::mesh_shape(nullptr, MeshCollision::kTriangles));
  bad(test::mesh_shape(test::grid_mesh(2, 1.0, test::flat), MeshCollision::kPieces));  // no pieces
  Shape null_piece = test::mesh_shape(nullptr, MeshCollision::kPieces);
  null_piece.pieces = {nullptr};
  bad(null_piece);
  auto mesh = test::grid_mesh(2, 1.0, test::flat);
  mesh->triangles[0][1] = 99;
  bad(test::mesh_shape(mesh, MeshCollision::kTriangles));
  mesh->triangles.clear();
  bad(test::mesh_shape(mesh, MeshCollision::kTriangles));
  mesh = test::grid_mesh(2, 1.0, test::flat);
  mesh->vertices[3].x() = std::numeric_limits<double>::quiet_NaN();
  bad(test::mesh_shape(mesh, MeshCollision::kTriangles));
  mesh = test::grid_mesh(2, 0.0, test::flat);  // all in one place
  bad(test::mesh_shape(mesh, MeshCollision::kTriangles));
  bad(test::mesh_shape(test::grid_mesh(2, 1e-80, test::flat), MeshCollision::kTriangles));  // nearly so
  Shape field_shape;
  field_shape.type = ShapeType::kHeightField;
  bad(field_shape);
  for (int k = 0; k < 6; ++k) {
    auto field = test::grid_field(3, 1.0, test::flat);
    if (k == 0) field->rows = 1;
    if (k == 1) field->values.pop_back();
    if (k == 2) field->radius_x = -1.0;
    if (k == 3) field->values[0] = std::numeric_limits<double>::infinity();
    if (k == 4) field->base = -1.0;
    if (k == 5) field->radius_x = 8e-255;
    field_shape.height_field = field;
    bad(field_shape);
  }
  Shape box;
  box.type = ShapeType::kBox;
  box.size = Vector3(1, std::numeric_limits<double>::quiet_NaN(), 1);
  bad(box);
  box.size = Vector3(1, 1, 1);
  EXPECT_THROW(CollisionShape::make(box, -1.0), Error);
}

TEST(CollisionShape, BadPosesAreAStatus) {
  const CollisionShape floor = test::triangles(test::grid_mesh(4, 1.0, test::flat)), ball(ConvexShape::sphere(0.1));
  CollisionWorkspace workspace;
  std::vector<Manifold> out;
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Pose X(Mat3::identity(), Vec3(0, bad, 0));
    EXPECT_EQ(collide(floor, X, ball, Pose(), 0.1, workspace, nullptr, out), QueryStatus::kInvalid);
    EXPECT_EQ(distance(floor, X, ball, Pose(), workspace).status, QueryStatus::kInvalid);
    EXPECT_EQ(overlaps(floor, X, ball, Pose(), 0.1, workspace), OverlapStatus::kInvalid);
    EXPECT_EQ(raycast(floor, X, Vec3(), Vec3(0, 0, 1)).status, RayStatus::kInvalid);
  }
  EXPECT_TRUE(out.empty());
}

TEST(CollisionShape, NothingIsAllocated) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  Random random(27);
  const auto bumps = [](double x, double y) { return 0.1 + 0.05 * std::sin(3.0 * x) * std::cos(4.0 * y + 1.0); };
  const CollisionShape shapes[] = {test::triangles(test::grid_mesh(24, 1.5, bumps)),
                                   test::field_shape(test::grid_field(24, 1.5, bumps)),
                                   test::triangles(test::hull_mesh(test::box_points({0.3, 0.2, 0.2}))),
                                   CollisionShape(ConvexShape::box({0.3, 0.2, 0.2})),
                                   CollisionShape(ConvexShape::polytope(test::random_points(random, 50, 0.3)))};
  std::vector<Pose> poses;
  poses.reserve(40);
  for (int i = 0; i < 40; ++i) poses.push_back(test::random_pose(random, 0.5));
  CollisionWorkspace workspace;
  std::vector<Manifold> out;
  PairCache cache;
  for (int pass = 0; pass < 2; ++pass) {
    const test::AllocationGuard guard;
    int points = 0;
    for (const CollisionShape& A : shapes) {
      for (const CollisionShape& B : shapes) {
        for (const Pose& X : poses) {
          out.clear();
          collide(A, Pose(), B, X, 1e-3, workspace, &cache, out);
          points += test::count_points(out);
          points += distance(A, Pose(), B, X, workspace).gjk_iterations;
        }
      }
    }
    EXPECT_GT(points, 100);
    if (pass == 1) {
      EXPECT_EQ(guard.allocations(), 0u);
    }
  }
}

}  // namespace
}  // namespace touchstone
