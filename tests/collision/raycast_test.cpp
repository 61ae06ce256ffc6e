#include "touchstone/collision/narrow/raycast.hpp"

#include <gtest/gtest.h>

#include "collision/collision_support.hpp"

namespace touchstone {
namespace {

using test::Random;
using test::uniform;

// Distance of a point from a shape, negative inside: where a ray may and may not be.
double height(const ConvexShape& shape, const Pose& X, Vec3 point, QueryWorkspace& workspace) {
  return collide(shape, X, ConvexShape::sphere(0.0), Pose(Mat3::identity(), point), workspace).distance;
}

// A hit is on the surface, faces the ray, and the ray before it is free; the ray of a miss is free. Rays start outside.
TEST(Raycast, HitsAreTheFirstContact) {
  Random random(1);
  QueryWorkspace workspace;
  const ConvexShape shapes[] = {ConvexShape::sphere(0.4),
                                ConvexShape::capsule(0.2, 0.5),
                                ConvexShape::box({0.3, 0.5, 0.2}),
                                ConvexShape::ellipsoid({0.3, 0.6, 0.4}),
                                ConvexShape::cylinder(0.4, 0.3),
                                ConvexShape::cone(0.5, 0.4),
                                ConvexShape::box({0.3, 0.2, 0.3}, 0.1),
                                ConvexShape::polytope(test::random_points(random, 200, 0.7)),
                                ConvexShape::half_space()};
  for (const ConvexShape& shape : shapes) {
    int hits = 0;
    for (int i = 0; i < 300; ++i) {
      const Pose X = test::random_pose(random, 0.3);
      const Vector3 origin = 3.0 * test::random_unit(random),
                    aim = uniform(random, 0.0, 0.8) * test::random_unit(random);
      const Vector3 r = (aim - origin).normalized();
      const RayResult found = raycast(shape, X, Vec3(origin), Vec3(Vector3(7.0 * r)));
      SCOPED_TRACE(testing::Message() << static_cast<int>(shape.core()) << " case " << i);
      if (found.status == RayStatus::kInside) {
        EXPECT_FALSE(shape.bounded());
        continue;
      }
      ASSERT_TRUE(found.status == RayStatus::kHit || found.status == RayStatus::kMiss);
      double end = 6.0;
      if (found.status == RayStatus::kHit) {
        ++hits;
        end = found.distance;
        EXPECT_NEAR(height(shape, X, found.point, workspace), 0.0, 1e-7);
        EXPECT_LT(dot(found.normal, Vec3(r)), 0.0);
        EXPECT_NEAR(norm(found.normal), 1.0, 1e-12);
      }
      for (int k = 0; k < 20; ++k) {
        const double t = (end - 1e-6) * k / 20.0;
        EXPECT_GT(height(shape, X, Vec3(Vector3(origin + t * r)), workspace), -1e-7);
      }
    }
    EXPECT_GT(hits, 40);
  }
}

TEST(Raycast, KnownHits) {
  const Vec3 origin(0.1, 0.2, 5.0), down(0, 0, -2);
  RayResult found = raycast(ConvexShape::cylinder(1.0, 2.0), Pose(), origin, down);
  EXPECT_EQ(found.status, RayStatus::kHit);
  EXPECT_NEAR(found.distance, 3.0, 1e-10);
  EXPECT_NEAR(found.normal.z(), 1.0, 1e-7);
  found = raycast(ConvexShape::box({1, 1, 1}), Pose(), origin, down);
  EXPECT_NEAR(found.distance, 4.0, 1e-15);
  found = raycast(ConvexShape::half_space(), Pose(), origin, down);
  EXPECT_NEAR(found.distance, 5.0, 1e-15);
  found = raycast(ConvexShape::polytope(test::box_points({1, 1, 1})), Pose(), origin, down);
  EXPECT_NEAR(found.distance, 4.0, 1e-12);
  RayOptions options;
  options.max_distance = 3.5;
  EXPECT_EQ(raycast(ConvexShape::box({1, 1, 1}), Pose(), origin, down, options).status, RayStatus::kMiss);
  EXPECT_EQ(raycast(ConvexShape::cone(1, 1), Pose(), Vec3(), down).status, RayStatus::kInside);
  EXPECT_EQ(raycast(ConvexShape::cone(1, 1), Pose(), origin, -down).status, RayStatus::kMiss);
}

TEST(Raycast, BadInputIsAStatus) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ConvexShape cone = ConvexShape::cone(1, 1);
  EXPECT_EQ(raycast(cone, Pose(), Vec3(nan, 0, 0), Vec3(1, 0, 0)).status, RayStatus::kInvalid);
  EXPECT_EQ(raycast(cone, Pose(), Vec3(), Vec3()).status, RayStatus::kInvalid);
  EXPECT_EQ(raycast(cone, Pose(), Vec3(1e200, 0, 0), Vec3(1, 0, 0)).status, RayStatus::kInvalid);
}

}  // namespace
}  // namespace touchstone
