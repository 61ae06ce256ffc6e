#include "touchstone/collision/narrow/query.hpp"

#include <gtest/gtest.h>

#include "collision/collision_support.hpp"
#include "support/allocation_guard.hpp"

namespace touchstone {
namespace {

using test::Random;
using test::uniform;

// How far along n the shape reaches, its radius included.
double reach(const ConvexShape& shape, const Pose& X, Vec3 n) {
  int vertex = -1;
  if (!shape.bounded()) return dot(n, X.p) + shape.radius();
  return dot(n, X * shape.support(transpose_times(X.R, n), vertex)) + shape.radius();
}

bool is_smooth(const ConvexShape& shape) { return !shape.polyhedral() && shape.bounded(); }

// The definition of a contact, whatever the pair: both shapes lie on their sides of planes through the witness points.
void expect_contact(const ContactResult& c, const ConvexShape& A, const Pose& X_WA, const ConvexShape& B,
                    const Pose& X_WB, double tolerance) {
  ASSERT_TRUE(c.valid());
  EXPECT_NEAR(norm(c.normal), 1.0, 1e-12);
  EXPECT_LT(norm(c.point_B - c.point_A - c.distance * c.normal), tolerance);
  // Points within the tolerance of their supporting planes are on the surfaces.
  if (A.bounded()) {
    EXPECT_NEAR(dot(c.normal, c.point_A), reach(A, X_WA, c.normal), tolerance);
  }
  if (B.bounded()) {
    EXPECT_NEAR(-dot(c.normal, c.point_B), reach(B, X_WB, -c.normal), tolerance);
  }
}

TEST(Query, EveryPairIsAContactByDefinition) {
  Random random(1);
  QueryWorkspace workspace;
  int limited = 0;
  for (int a = 0; a < test::kShapeKinds; ++a) {
    for (int b = 0; b < test::kShapeKinds; ++b) {
      for (int i = 0; i < 200; ++i) {
        const ConvexShape A = test::random_shape(random, a), B = test::random_shape(random, b);
        if (!A.bounded() && !B.bounded()) continue;
        const Pose X_WA = test::random_pose(random, 1.5), X_WB = test::random_pose(random, 1.5);
        const ContactResult c = collide(A, X_WA, B, X_WB, workspace);
        SCOPED_TRACE(testing::Message() << a << " " << b << " case " << i << " distance " << c.distance);
        const bool smooth = is_smooth(A) || is_smooth(B);
        // In the middle of nearly spherical bodies EPA may run out of faces; its answer must be right all the same.
        if (c.status == QueryStatus::kLimited) {
          ++limited;
          EXPECT_TRUE(smooth);
        }
        expect_contact(c, A, X_WA, B, X_WB, smooth ? 1e-5 : 1e-11);
        // The signed distance is the gap between supporting planes: to first order exact, whatever the normal's error.
        if (A.bounded() && B.bounded()) {
          EXPECT_NEAR(c.distance, -reach(A, X_WA, c.normal) - reach(B, X_WB, -c.normal), smooth ? 2e-8 : 1e-11);
        }
        const ContactResult swapped = collide(B, X_WB, A, X_WA, workspace);
        EXPECT_NEAR(swapped.distance, c.distance, smooth ? 1e-7 : 1e-11);
        if (c.distance > 1e-3) {
          EXPECT_LT(norm(swapped.normal + c.normal), smooth ? 1e-3 : 1e-9);
        }
        const OverlapStatus overlap = overlaps(A, X_WA, B, X_WB);
        if (std::abs(c.distance) > 1e-7) {
          EXPECT_EQ(overlap, c.distance > 0.0 ? OverlapStatus::kSeparated : OverlapStatus::kOverlapping);
        }
        const double plain = distance(A, X_WA, B, X_WB).distance;
        if (c.distance > 1e-9) {
          EXPECT_NEAR(plain, c.distance, 1e-9);
        } else {
          EXPECT_LE(plain, 1e-9);
        }
      }
    }
  }
  EXPECT_LE(limited, test::kShapeKinds * test::kShapeKinds * 200 / 1000);
}

TEST(Query, InvariantUnderMotionAndScaling) {
  Random random(2);
  QueryWorkspace workspace;
  for (int i = 0; i < 1000; ++i) {
    const std::vector<Vector3> a = test::random_points(random, 20, 1.0), b = test::random_points(random, 30, 1.0);
    const Vector3 semi(0.3, 0.5, 0.9);
    const bool smooth = i % 2 == 0;
    const auto shape_B = [&](double scale) {
      if (smooth) return ConvexShape::ellipsoid(scale * semi);
      std::vector<Vector3> points = b;
      for (Vector3& p : points) p *= scale;
      return ConvexShape::polytope(points);
    };
    const Pose X_WA = test::random_pose(random, 1.2), X_WB = test::random_pose(random, 1.2);
    const ConvexShape A = ConvexShape::polytope(a);
    const ContactResult c = collide(A, X_WA, shape_B(1.0), X_WB, workspace);
    const Pose move = test::random_pose(random, 3.0);
    const ContactResult moved = collide(A, move * X_WA, shape_B(1.0), move * X_WB, workspace);
    EXPECT_NEAR(moved.distance, c.distance, smooth ? 1e-8 : 1e-12);
    const double scale = std::pow(10.0, uniform(random, -4.0, 3.0));
    std::vector<Vector3> scaled_a = a;
    for (Vector3& p : scaled_a) p *= scale;
    const ContactResult scaled = collide(ConvexShape::polytope(scaled_a), Pose(X_WA.R, scale * X_WA.p), shape_B(scale),
                                         Pose(X_WB.R, scale * X_WB.p), workspace);
    EXPECT_NEAR(scaled.distance / scale, c.distance, smooth ? 1e-8 : 1e-12);
  }
}

// The closed forms against GJK and EPA on the same sets, given as other shapes.
TEST(Query, ClosedFormsAgreeWithTheGeneralPath) {
  Random random(3);
  QueryWorkspace workspace;
  for (int i = 0; i < 1000; ++i) {
    const double r = uniform(random, 0.1, 0.5), h = uniform(random, 0.1, 1.0);
    const Vector3 half(uniform(random, 0.1, 1.0), uniform(random, 0.1, 1.0), uniform(random, 0.1, 1.0));
    const Pose X_WA = test::random_pose(random, 1.0), X_WB = test::random_pose(random, 1.0);
    const ConvexShape sphere = ConvexShape::sphere(r), capsule = ConvexShape::capsule(r, h),
                      box = ConvexShape::box(half);
    const ConvexShape sphere_2 = ConvexShape::polytope({{0, 0, 0}}, r);
    const ConvexShape capsule_2 = ConvexShape::polytope({{0, 0, -h}, {0, 0, h}}, r);
    const auto compare = [&](const ConvexShape& A, const ConvexShape& B, const ConvexShape& general) {
      const ContactResult fast = collide(A, X_WA, B, X_WB, workspace),
                          slow = collide(general, X_WA, B, X_WB, workspace);
      EXPECT_NEAR(fast.distance, slow.distance, 1e-12);
      EXPECT_LT(norm(fast.normal - slow.normal), 1e-7);
    };
    compare(sphere, sphere, sphere_2);
    compare(sphere, capsule, sphere_2);
    compare(capsule, capsule, capsule_2);
    compare(sphere, box, sphere_2);
  }
}

TEST(Query, SpheresAndCapsulesAtTheSamePlace) {
  QueryWorkspace workspace;
  const ConvexShape sphere = ConvexShape::sphere(0.5), capsule = ConvexShape::capsule(0.2, 1.0);
  for (const ConvexShape& A : {sphere, capsule}) {
    for (const ConvexShape& B : {sphere, capsule}) {
      const ContactResult c = collide(A, Pose(), B, Pose(), workspace);
      EXPECT_EQ(c.status, QueryStatus::kConverged);
      EXPECT_NEAR(c.distance, -(A.radius() + B.radius()), 1e-15);
      EXPECT_NEAR(norm(c.normal), 1.0, 1e-15);
    }
  }
  const Pose lying(Mat3(Vec3(0, 0, -1), Vec3(0, 1, 0), Vec3(1, 0, 0)), Vec3());
  const ContactResult crossed = collide(capsule, Pose(), capsule, lying, workspace);
  EXPECT_NEAR(crossed.distance, -0.4, 1e-15);
  EXPECT_NEAR(std::abs(crossed.normal.y()), 1.0, 1e-15);
}

// Cones and cylinders without extent are points, segments or discs.
TEST(Query, FlatRoundSolidsWithASphere) {
  QueryWorkspace workspace;
  const ConvexShape ball = ConvexShape::sphere(0.1);
  const Pose above(Mat3::identity(), Vec3(0.3, 0.0, 0.4));
  for (const ConvexShape& point : {ConvexShape::cone(0.0, 0.0), ConvexShape::cylinder(0.0, 0.0)}) {
    const ContactResult c = collide(point, Pose(), ball, above, workspace);
    EXPECT_NEAR(c.distance, 0.4, 1e-15);
    EXPECT_LT(norm(c.normal - Vec3(0.6, 0.0, 0.8)), 1e-15);
    EXPECT_NEAR(norm(collide(point, Pose(), ball, Pose(), workspace).normal), 1.0, 1e-15);
  }
  EXPECT_NEAR(collide(ConvexShape::cone(0.5, 0.0), Pose(), ball, above, workspace).distance, 0.3, 1e-15);
  EXPECT_NEAR(collide(ConvexShape::cone(0.0, 1.0), Pose(), ball, above, workspace).distance, 0.2, 1e-15);
}

// Slabs and needles of aspect 1:10,000 against the oracles.
TEST(Query, ExtremeAspectRatios) {
  Random random(4);
  QueryWorkspace workspace;
  for (int i = 0; i < 400; ++i) {
    const Vector3 slab(1.0, 1.0, 1e-4), needle(1e-4, 1e-4, 1.0);
    const std::vector<Vector3> a = test::box_points(i % 2 == 0 ? slab : needle), b = test::box_points(slab);
    const Pose X_WA = test::random_pose(random, 1.0), X_WB = test::random_pose(random, 1.0);
    const ContactResult c = collide(ConvexShape::polytope(a), X_WA, ConvexShape::box(slab), X_WB, workspace);
    ASSERT_TRUE(c.valid());
    const double expected = test::minimum_norm(test::minkowski(test::moved(a, X_WA), test::moved(b, X_WB)));
    if (expected > 1e-12) {
      EXPECT_NEAR(c.distance, expected, 1e-11);
    } else {
      const ConvexShape A = ConvexShape::polytope(a), B = ConvexShape::polytope(b);
      EXPECT_NEAR(c.distance, -test::sat_depth(test::sat_shape(A, X_WA), test::sat_shape(B, X_WB)), 1e-9);
    }
  }
}

// Boxes on a grid, turned by right angles: parallel faces and edges, exact touching and coincidence everywhere.
TEST(Query, BoxesOnAGrid) {
  Random random(8);
  QueryWorkspace workspace;
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  int touching = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto half = [&] { return Vector3(0.25 * (1 + pick(3)), 0.25 * (1 + pick(3)), 0.25 * (1 + pick(3))); };
    const Vector3 half_A = half(), half_B = half();
    Mat3 R = Mat3::identity();
    for (int k = pick(3); k > 0; --k) R = Mat3(R.c1, R.c2, R.c0);
    const Pose X(R, 0.25 * Vec3(pick(9) - 4, pick(9) - 4, pick(9) - 4));
    const ConvexShape A = ConvexShape::box(half_A), B = ConvexShape::polytope(test::box_points(half_B));
    // Gaps between intervals: the distance is the norm of the positive ones, the depth the largest when there are none.
    const Vector3 gaps = X.p.eigen().cwiseAbs() - half_A - R.eigen().cwiseAbs() * half_B;
    const double outside = gaps.cwiseMax(0.0).norm();
    const double expected = outside > 0.0 ? outside : gaps.maxCoeff();
    touching += expected == 0.0 ? 1 : 0;
    const ContactResult c = collide(A, Pose(), B, X, workspace);
    ASSERT_EQ(c.status, QueryStatus::kConverged);
    EXPECT_NEAR(c.distance, expected, 1e-14);
    EXPECT_LT(norm(c.point_B - c.point_A - c.distance * c.normal), 1e-13);
    EXPECT_LE((c.point_A.eigen().cwiseAbs() - half_A).maxCoeff(), 1e-13);
    const Vector3 b = transpose_times(X.R, c.point_B - X.p).eigen();
    EXPECT_LE((b.cwiseAbs() - half_B).maxCoeff(), 1e-13);
  }
  EXPECT_GT(touching, 100);
}

// Sliding through contact, the signed distance is continuous and the normal stays.
TEST(Query, TouchingBoxes) {
  QueryWorkspace workspace;
  const ConvexShape box = ConvexShape::box({0.5, 0.5, 0.5});
  for (const double gap : {1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 0.0, -1e-15, -1e-12, -1e-9, -1e-6, -1e-3}) {
    const ContactResult c = collide(box, Pose(), box, Pose(Mat3::identity(), Vec3(0.1, 0.2, 1.0 + gap)), workspace);
    EXPECT_EQ(c.status, QueryStatus::kConverged);
    EXPECT_NEAR(c.distance, gap, 1e-15);
    EXPECT_NEAR(c.normal.z(), 1.0, 1e-9);
  }
}

TEST(Query, MarginsAndHalfSpaces) {
  const ConvexShape box = ConvexShape::box({0.5, 0.5, 0.5}), ground = ConvexShape::half_space();
  const Pose X(Mat3::identity(), Vec3(0, 0, 0.7));
  QueryWorkspace workspace;
  const ContactResult c = collide(ground, Pose(), box, X, workspace);
  EXPECT_NEAR(c.distance, 0.2, 1e-15);
  EXPECT_EQ(c.normal.eigen(), Vector3(0, 0, 1));
  EXPECT_EQ(overlaps(ground, Pose(), box, X), OverlapStatus::kSeparated);
  EXPECT_EQ(overlaps(ground, Pose(), box, X, 0.25), OverlapStatus::kOverlapping);
  EXPECT_EQ(collide(ground, Pose(), ground, X, workspace).status, QueryStatus::kUnbounded);
}

TEST(Query, BadPosesAreAStatus) {
  QueryWorkspace workspace;
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  Random random(5);
  for (int a = 0; a < test::kShapeKinds; ++a) {
    for (int b = 0; b < test::kShapeKinds; ++b) {
      const ConvexShape A = test::random_shape(random, a), B = test::random_shape(random, b);
      for (const double bad : {nan, infinity, -infinity, 1e200}) {
        Pose X;
        X.p = Vec3(0.0, bad, 0.0);
        EXPECT_EQ(collide(A, Pose(), B, X, workspace).status, QueryStatus::kInvalid);
        EXPECT_EQ(distance(A, X, B, Pose()).status, QueryStatus::kInvalid);
        EXPECT_EQ(overlaps(A, X, B, Pose()), OverlapStatus::kInvalid);
      }
    }
  }
}

TEST(Query, CachesGiveTheSameAnswer) {
  Random random(6);
  QueryWorkspace workspace;
  const ConvexShape A = ConvexShape::polytope(test::random_points(random, 400, 0.5)),
                    B = ConvexShape::cylinder(0.3, 0.4);
  Pose X = Pose(Transform{Vector3(0.2, 0.1, 1.2), test::random_rotation(random)});
  for (const WarmStart start : {WarmStart::kNone, WarmStart::kPrevious, WarmStart::kTransformed}) {
    QueryOptions options;
    options.warm_start = start;
    QueryCache cache, boolean_cache;
    int warm = 0, cold = 0;
    for (int step = 0; step < 200; ++step) {
      X.p = Vec3(0.2, 0.1, 1.2 - 0.004 * step);
      const ContactResult with = collide(A, Pose(), B, X, workspace, options, &cache),
                          without = collide(A, Pose(), B, X, workspace);
      EXPECT_NEAR(with.distance, without.distance, 1e-8);
      EXPECT_EQ(overlaps(A, Pose(), B, X, 0.0, options, &boolean_cache), overlaps(A, Pose(), B, X));
      warm += with.gjk_iterations;
      cold += without.gjk_iterations;
    }
    if (start == WarmStart::kNone) {
      EXPECT_EQ(warm, cold);
    } else {
      EXPECT_LE(warm, cold + 200);
    }
  }
}

// Beyond the cutoff the answer is a direction that separates the shapes so far; within it, the same as without.
TEST(Query, CutoffsEndFarPairsEarly) {
  Random random(15);
  QueryWorkspace workspace;
  int far = 0, near = 0, first_steps = 0;
  for (int a = 0; a < test::kShapeKinds; ++a) {
    for (int b = 0; b < test::kShapeKinds; ++b) {
      for (int i = 0; i < 20; ++i) {
        const ConvexShape A = test::random_shape(random, a), B = test::random_shape(random, b);
        if (!A.bounded() || !B.bounded()) continue;
        const Pose X_WA = test::random_pose(random, 1.5);
        Pose X_WB = test::random_pose(random, 1.5);
        QueryOptions options;
        options.cutoff = uniform(random, 0.0, 0.5);
        QueryCache cache;
        for (int step = 0; step < 10; ++step) {
          X_WB.p += Vec3(0.02, -0.01, 0.01);
          const ContactResult exact = collide(A, X_WA, B, X_WB, workspace);
          const ContactResult c = collide(A, X_WA, B, X_WB, workspace, options, &cache);
          SCOPED_TRACE(testing::Message() << a << " " << b << " case " << i << " distance " << exact.distance);
          ASSERT_TRUE(c.valid());
          if (exact.distance > options.cutoff + 1e-7) {
            ++far;
            first_steps += step > 0 && c.gjk_iterations <= 1 ? 1 : 0;
            EXPECT_GT(c.distance, options.cutoff);
            EXPECT_LT(c.distance, exact.distance + 1e-9);
            EXPECT_NEAR(norm(c.normal), 1.0, 1e-12);
            EXPECT_GT(-reach(A, X_WA, c.normal) - reach(B, X_WB, -c.normal), options.cutoff - 1e-9);
          } else if (exact.distance < options.cutoff - 1e-7) {
            ++near;
            EXPECT_NEAR(c.distance, exact.distance, 2e-8);
          }
        }
      }
    }
  }
  EXPECT_GT(far, 1000);
  EXPECT_GT(near, 1000);
  // A pair that stays apart costs one support point.
  EXPECT_GT(first_steps, far * 0.8);
}

TEST(Query, NothingIsAllocated) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  Random random(7);
  QueryWorkspace workspace;
  std::vector<ConvexShape> shapes;
  shapes.reserve(test::kShapeKinds);
  for (int k = 0; k < test::kShapeKinds; ++k) shapes.push_back(test::random_shape(random, k));
  std::vector<Pose> poses;
  poses.reserve(100);
  for (int k = 0; k < 100; ++k) poses.push_back(test::random_pose(random, 1.0));
  double total = 0.0;
  const test::AllocationGuard guard;
  for (const ConvexShape& A : shapes) {
    for (const ConvexShape& B : shapes) {
      for (const Pose& X : poses) {
        total += collide(A, Pose(), B, X, workspace).normal.x() + distance(A, Pose(), B, X).normal.x();
        total += overlaps(A, Pose(), B, X) == OverlapStatus::kOverlapping ? 1.0 : 0.0;
      }
    }
  }
  EXPECT_EQ(guard.allocations(), 0u);
  EXPECT_TRUE(std::isfinite(total));
}

}  // namespace
}  // namespace touchstone
