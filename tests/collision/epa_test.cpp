#include "touchstone/collision/narrow/epa.hpp"

#include <gtest/gtest.h>

#include "collision/collision_support.hpp"
#include "touchstone/collision/narrow/gjk.hpp"

namespace touchstone {
namespace {

using test::Random;
using test::uniform;

EpaResult depth_of(const ConvexShape& A, const ConvexShape& B, const Pose& X_AB, EpaWorkspace& workspace,
                   const EpaOptions& options = {}) {
  MinkowskiDifference D(A, B, X_AB);
  const GjkResult found = gjk(D);
  EXPECT_EQ(found.status, GjkStatus::kOverlapping);
  return epa(D, found.simplex, workspace, options);
}

// Against the separating axis theorem, for sizes from 1e-4 to 1e3 m.
TEST(Epa, DepthOfPolytopes) {
  Random random(1);
  EpaWorkspace workspace;
  int deep = 0;
  for (int i = 0; i < 600; ++i) {
    const double size = std::pow(10.0, uniform(random, -4.0, 3.0));
    const ConvexShape A = ConvexShape::polytope(test::random_points(random, 4 + i % 13, size));
    const ConvexShape B = i % 3 == 0 ? ConvexShape::polytope(test::box_points(size * Vector3(0.5, 0.3, 0.7)))
                                     : ConvexShape::polytope(test::random_points(random, 4 + i % 11, size));
    const Pose X = test::random_pose(random, size);
    const double expected = test::sat_depth(test::sat_shape(A, Pose()), test::sat_shape(B, X));
    if (expected < 1e-9 * size) continue;
    ++deep;
    const EpaResult found = depth_of(A, B, X, workspace);
    EXPECT_EQ(found.status, EpaStatus::kConverged);
    EXPECT_NEAR(found.depth, expected, 1e-12 * size);
    EXPECT_NEAR(norm(found.normal), 1.0, 1e-14);
    EXPECT_LT(norm(found.point_a - found.point_b - found.depth * found.normal), 1e-11 * size);
  }
  EXPECT_GT(deep, 250);
}

// Against Newton's method on the KKT conditions, started where EPA ended; and no direction on a fine grid may be
// better.
TEST(Epa, DepthOfEllipsoids) {
  Random random(2);
  EpaWorkspace workspace;
  std::vector<Vector3> directions;
  directions.reserve(2000);
  for (int i = 0; i < 2000; ++i) directions.push_back(test::random_unit(random));
  int limited = 0;
  for (int i = 0; i < 300; ++i) {
    const Vector3 a = test::random_sizes(random, 0.1, 1.0), b = test::random_sizes(random, 0.1, 1.0);
    const Pose X = test::random_pose(random, 0.2);
    const EpaResult found = depth_of(ConvexShape::ellipsoid(a), ConvexShape::ellipsoid(b), X, workspace);
    const test::EllipsoidPair pair(a, Pose(), b, X);
    double residual = 1.0;
    const Vector3 n = pair.polish(found.normal.eigen(), residual);
    ASSERT_LT(residual, 1e-10);
    limited += found.status == EpaStatus::kLimited ? 1 : 0;
    EXPECT_NEAR(found.depth, pair.h(n), 1e-8);
    EXPECT_LE(found.lower_bound, pair.h(n) + 1e-12);
    for (const Vector3& d : directions) EXPECT_GE(pair.h(d), found.depth - 1e-9);
  }
  // Nearly equal depths all around need more faces than there are; the answers above are right all the same.
  EXPECT_LE(limited, 6);
}

TEST(Epa, CoincidentAndTouchingBoxes) {
  EpaWorkspace workspace;
  const ConvexShape box = ConvexShape::box({1, 2, 3});
  EpaResult found = depth_of(box, box, Pose(), workspace);
  EXPECT_NEAR(found.depth, 2.0, 1e-14);
  EXPECT_NEAR(std::abs(found.normal.x()), 1.0, 1e-14);
  found = depth_of(box, box, Pose(Mat3::identity(), Vec3(2, 0.5, 0.5)), workspace);
  EXPECT_NEAR(found.depth, 0.0, 1e-14);
  EXPECT_NEAR(found.normal.x(), 1.0, 1e-14);
  found = depth_of(box, box, Pose(Mat3::identity(), Vec3(2, 4, 6)), workspace);  // corner on corner
  EXPECT_NEAR(found.depth, 0.0, 1e-14);
}

TEST(Epa, FlatDifferences) {
  EpaWorkspace workspace;
  const ConvexShape plate = ConvexShape::box({1, 1, 0}), point = ConvexShape::box({0, 0, 0});
  EpaResult found = depth_of(plate, plate, Pose(Mat3::identity(), Vec3(0.2, 0.1, 0)), workspace);
  EXPECT_EQ(found.status, EpaStatus::kFlat);
  EXPECT_EQ(found.depth, 0.0);
  EXPECT_NEAR(std::abs(found.normal.z()), 1.0, 1e-14);
  found = depth_of(point, point, Pose(), workspace);
  EXPECT_EQ(found.status, EpaStatus::kFlat);
  EXPECT_NEAR(norm(found.normal), 1.0, 1e-14);
  found = depth_of(ConvexShape::box({1, 0, 0}), point, Pose(), workspace);
  EXPECT_EQ(found.status, EpaStatus::kFlat);
  EXPECT_NEAR(found.normal.x(), 0.0, 1e-14);
}

TEST(Epa, FewIterationsGiveASeparatingAnswer) {
  Random random(3);
  EpaWorkspace workspace(5);
  for (int i = 0; i < 200; ++i) {
    const ConvexShape A = ConvexShape::ellipsoid({1.0, 0.4, 0.6}), B = ConvexShape::cylinder(0.5, 0.7);
    const Pose X = test::random_pose(random, 0.3);
    const EpaResult found = depth_of(A, B, X, workspace);
    EXPECT_LE(found.iterations, 5);
    Pose apart = X;
    apart.p += (found.depth + 1e-6) * found.normal;
    MinkowskiDifference D(A, B, apart);
    EXPECT_EQ(gjk(D).status, GjkStatus::kSeparated);
  }
}

TEST(Epa, ManyVertices) {
  Random random(4);
  EpaWorkspace workspace;
  for (int i = 0; i < 20; ++i) {
    const ConvexShape A = ConvexShape::polytope(test::random_points(random, 3000, 1.0));
    const ConvexShape B = ConvexShape::polytope(test::random_points(random, 2000, 1.0));
    const Pose X = test::random_pose(random, 0.3);
    const EpaResult found = depth_of(A, B, X, workspace);
    EXPECT_EQ(found.status, EpaStatus::kConverged);
    EXPECT_LE(found.depth - found.lower_bound, 1e-9);
  }
}

}  // namespace
}  // namespace touchstone
