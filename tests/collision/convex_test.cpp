#include "touchstone/collision/narrow/convex.hpp"

#include <gtest/gtest.h>

#include "collision/collision_support.hpp"
#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

using test::Random;
using test::uniform;

// The support value from the definition of each shape, by other formulas than the library's.
double support_value(const ConvexShape& shape, const Vector3& d) {
  const Vector3 s = shape.size().eigen();
  const double radial = std::hypot(d.x(), d.y());
  switch (shape.core()) {
    case CoreType::kSegment:
      return s.z() * std::abs(d.z());
    case CoreType::kBox:
      return s.dot(d.cwiseAbs());
    case CoreType::kEllipsoid:
      return s.cwiseProduct(d).norm();
    case CoreType::kCylinder:
      return s.x() * radial + s.z() * std::abs(d.z());
    case CoreType::kCone:
      return std::max(s.z() * d.z(), s.x() * radial - s.z() * d.z());
    default:
      return 0.0;
  }
}

TEST(Convex, SupportOfPrimitives) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const double a = uniform(random, 0, 2), b = uniform(random, 0, 2), c = uniform(random, 0, 2);
    const ConvexShape shapes[] = {
        ConvexShape::sphere(a),      ConvexShape::capsule(a, b),        ConvexShape::box({a, b, c}),
        ConvexShape::cylinder(a, b), ConvexShape::ellipsoid({a, b, c}), ConvexShape::cone(a, b)};
    Vector3 d = uniform(random, 0, 3) * test::random_unit(random);
    if (i % 4 == 0) d[i % 3] = 0.0;
    for (const ConvexShape& shape : shapes) {
      int vertex = -1;
      const Vector3 p = shape.support(Vec3(d), vertex).eigen();
      EXPECT_NEAR(p.dot(d), support_value(shape, d), 1e-13) << static_cast<int>(shape.core());
      EXPECT_LE(p.norm(), shape.extent() + 1e-13);
    }
  }
}

TEST(Convex, CornerOfABox) {
  const ConvexShape box = ConvexShape::box({1, 2, 3});
  int corner = -1;
  EXPECT_EQ(box.support(Vec3(-1, 1, -1), corner).eigen(), Vector3(-1, 2, -3));
  EXPECT_EQ(corner, 5);
}

// Climbing and looking at all vertices must agree, with and without hints.
TEST(Convex, SupportOfPolytopes) {
  Random random(2);
  for (const int count : {4, 8, 50, 97, 500, 3000}) {
    const std::vector<Vector3> points = test::random_points(random, count, 1.0);
    const ConvexShape shape = ConvexShape::polytope(points);
    int hint = -1;
    for (int i = 0; i < 500; ++i) {
      const Vector3 d = test::random_unit(random);
      double expected = -1e300;
      for (const Vector3& p : points) expected = std::max(expected, p.dot(d));
      int cold = -1;
      EXPECT_NEAR(shape.support(Vec3(d), cold).eigen().dot(d), expected, 1e-14);
      EXPECT_NEAR(shape.support(Vec3(d), hint).eigen().dot(d), expected, 1e-14);
      ASSERT_GE(hint, 0);
      EXPECT_TRUE(shape.polytope()->vertices[static_cast<std::size_t>(hint)].eigen().dot(d) >= expected - 1e-14);
    }
  }
}

TEST(Convex, FlatAndDuplicatedPointsAreKept) {
  const std::vector<Vector3> square{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {1, 1, 0}};
  const ConvexShape flat = ConvexShape::polytope(square);
  EXPECT_EQ(flat.polytope()->vertices.size(), 4u);
  EXPECT_TRUE(flat.polytope()->triangles.empty());
  int vertex = -1;
  EXPECT_EQ(flat.support(Vec3(1, 1, 5), vertex).eigen(), Vector3(1, 1, 0));
  EXPECT_EQ(ConvexShape::polytope({{1, 2, 3}}).support(Vec3(-1, 0, 0), vertex).eigen(), Vector3(1, 2, 3));
}

TEST(Convex, BoundsInTheWorldAreTight) {
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    const std::vector<Vector3> points = test::random_points(random, 30, 1.0);
    const ConvexShape shape = ConvexShape::polytope(points, 0.1);
    const Pose X = test::random_pose(random, 5.0);
    Vector3 lower = Vector3::Constant(1e9), upper = Vector3::Constant(-1e9);
    for (const Vector3& p : test::moved(points, X)) {
      lower = lower.cwiseMin(p);
      upper = upper.cwiseMax(p);
    }
    const Bounds box = shape.bounds(X);
    EXPECT_LT((box.lower - (lower - Vector3::Constant(0.1))).norm(), 1e-13);
    EXPECT_LT((box.upper - (upper + Vector3::Constant(0.1))).norm(), 1e-13);
  }
  EXPECT_EQ(ConvexShape::half_space().bounds().upper.z(), 0.0);
}

TEST(Convex, MadeFromShapes) {
  Shape shape;
  shape.type = ShapeType::kCapsule;
  shape.size = {0.5, 2.0, 0.0};
  const ConvexShape capsule = ConvexShape::make(shape, 0.25);
  EXPECT_EQ(capsule.core(), CoreType::kSegment);
  EXPECT_EQ(capsule.radius(), 0.75);
  EXPECT_EQ(capsule.bounds().upper, Vector3(0.75, 0.75, 2.75));
  shape.type = ShapeType::kPlane;
  EXPECT_FALSE(ConvexShape::make(shape).bounded());
  for (const ShapeType type : {ShapeType::kSphere, ShapeType::kEllipsoid, ShapeType::kCylinder, ShapeType::kCone,
                               ShapeType::kBox, ShapeType::kCapsule}) {
    shape.type = type;
    shape.size = {0.1, 0.2, 0.3};
    const Bounds expected = bounds(shape), box = ConvexShape::make(shape).bounds();
    EXPECT_LT((box.lower - expected.lower).norm() + (box.upper - expected.upper).norm(), 1e-15);
  }
}

TEST(Convex, BadInputIsAnError) {
  Shape shape;
  shape.type = ShapeType::kBox;
  shape.size = {1.0, -1.0, 1.0};
  EXPECT_THROW(ConvexShape::make(shape), Error);
  shape.size = {1.0, std::numeric_limits<double>::quiet_NaN(), 1.0};
  EXPECT_THROW(ConvexShape::make(shape), Error);
  shape.type = ShapeType::kMesh;
  EXPECT_THROW(ConvexShape::make(shape), Error);
  shape.type = ShapeType::kHeightField;
  EXPECT_THROW(ConvexShape::make(shape), Error);
  EXPECT_THROW(ConvexShape::polytope({}), Error);
  EXPECT_THROW(ConvexShape::polytope({{0, 0, std::numeric_limits<double>::infinity()}}), Error);
  EXPECT_THROW(ConvexShape::sphere(-1.0), Error);
}

}  // namespace
}  // namespace touchstone
