// Every pair of solids in 10,000 random poses (fewer in builds with sanitizers) against oracles that share no code with
// the library: a QP for polytopes, projected gradients for the distance of others, compass search for the depth, and
// the definition of a contact by supporting planes, which proves a distance.
#include <gtest/gtest.h>

#include "collision/collision_oracle.hpp"
#include "support/random_model.hpp"

namespace touchstone {
namespace {

using test::Kind;
using test::Placed;
using test::property_count;
using test::Random;
using test::Solid;
using test::uniform;

class Oracle : public testing::TestWithParam<std::pair<int, int>> {
 protected:
  Kind kind_A() const { return static_cast<Kind>(GetParam().first); }
  Kind kind_B() const { return static_cast<Kind>(GetParam().second); }
  bool polytopes() const { return test::is_polytope_core(kind_A()) && test::is_polytope_core(kind_B()); }
  bool hull() const { return kind_A() == Kind::kHull || kind_B() == Kind::kHull; }
  Random random() const { return Random(static_cast<unsigned>(100 + 10 * GetParam().first + GetParam().second)); }

  // New solids now and then, a new pose each time; about half of them overlap.
  template <typename Check>
  void for_poses(Check&& check) {
    Random numbers = random();
    Placed A, B;
    QueryWorkspace workspace;
    for (int i = 0; i < 10 * property_count(); ++i) {
      if (i % 10 == 0) {
        A.solid = Solid::random(numbers, kind_A());
        B.solid = Solid::random(numbers, kind_B());
      }
      A.X = test::random_pose(numbers, 1.0);
      B.X = test::random_pose(numbers, 2.5);
      SCOPED_TRACE(testing::Message() << "pose " << i);
      check(A, B, workspace, i);
      if (HasFailure()) return;
    }
  }
};

// Point, normal and distance agree with the supporting planes, and the points are in the solids.
void expect_contact(const ContactResult& c, const Placed& A, const Placed& B, double tolerance) {
  ASSERT_TRUE(c.valid());
  const Vector3 n = c.normal.eigen(), a = c.point_A.eigen(), b = c.point_B.eigen();
  EXPECT_NEAR(n.norm(), 1.0, 1e-12);
  EXPECT_LT((b - a - c.distance * n).norm(), tolerance);
  EXPECT_NEAR(n.dot(a), A.reach(n), tolerance);
  EXPECT_NEAR(-n.dot(b), B.reach(-n), tolerance);
  EXPECT_NEAR(c.distance, test::plane_gap(A, B, n), tolerance);
  for (const auto& [solid, point] : {std::pair(&A, a), std::pair(&B, b)}) {
    if (solid->solid.kind == Kind::kHull) continue;
    EXPECT_LT((solid->project(point) - point).norm(), tolerance);
  }
}

TEST_P(Oracle, ContactsAreProven) {
  int separated = 0, total = 0, limited = 0;
  for_poses([&](const Placed& A, const Placed& B, QueryWorkspace& workspace, int) {
    const ConvexShape shape_A = A.solid.shape(), shape_B = B.solid.shape();
    const ContactResult c = collide(shape_A, A.X, shape_B, B.X, workspace);
    const double tolerance = polytopes() ? 1e-9 : 1e-6;
    // Where the planes' gap is the distance of two points of the solids, weak duality proves both.
    expect_contact(c, A, B, polytopes() ? 1e-9 : 1e-5);
    EXPECT_NEAR(c.distance, test::plane_gap(A, B, c.normal.eigen()), tolerance);
    const ContactResult swapped = collide(shape_B, B.X, shape_A, A.X, workspace);
    EXPECT_NEAR(swapped.distance, c.distance, tolerance);
    EXPECT_EQ(overlaps(shape_A, A.X, shape_B, B.X),
              c.distance > 0.0 ? OverlapStatus::kSeparated : OverlapStatus::kOverlapping)
        << c.distance;
    if (c.distance > 0.0) {
      EXPECT_NEAR(distance(shape_A, A.X, shape_B, B.X).distance, c.distance, 1e-9);
    }
    separated += c.distance > 0.0 ? 1 : 0;
    limited += c.status == QueryStatus::kLimited ? 1 : 0;
    ++total;
  });
  // EPA runs out of iterations in the middle of nearly spherical sums, with answers as good as the others.
  EXPECT_LE(limited, polytopes() ? 0 : 1 + total / 1000);
  EXPECT_GT(separated, total / 8);
  EXPECT_LT(separated, total - total / 8);
}

TEST_P(Oracle, DistanceOfSeparatedSolids) {
  if (hull() && !polytopes()) GTEST_SKIP() << "no projection onto hulls; ContactsAreProven has them";
  int compared = 0, separated = 0;
  for_poses([&](const Placed& A, const Placed& B, QueryWorkspace& workspace, int) {
    const ContactResult c = collide(A.solid.shape(), A.X, B.solid.shape(), B.X, workspace);
    if (c.distance <= 0.0) return;
    ++separated;
    if (polytopes()) {
      ++compared;
      const double cores =
          test::minimum_norm(test::minkowski(test::moved(A.solid.core(), A.X), test::moved(B.solid.core(), B.X)));
      EXPECT_NEAR(c.distance, cores - A.solid.radius() - B.solid.radius(), 1e-9);
      return;
    }
    const test::DistanceBounds bounds = test::projected_gradient(A, B, 1e-7, 400);
    EXPECT_GE(c.distance, bounds.lower - 1e-9);
    EXPECT_LE(c.distance, bounds.upper + 1e-9);
    if (bounds.upper - bounds.lower < 1e-6) ++compared;
  });
  EXPECT_GE(compared, separated - separated / 10);  // the oracle is slow where solids nearly touch
}

TEST_P(Oracle, DepthOfOverlappingSolids) {
  int deep = 0;
  for_poses([&](const Placed& A, const Placed& B, QueryWorkspace& workspace, int i) {
    if (i % 2 == 1) return;  // the oracle is slow; distances have the other half
    const ContactResult c = collide(A.solid.shape(), A.X, B.solid.shape(), B.X, workspace);
    if (c.distance >= 0.0) return;
    ++deep;
    const double tolerance = polytopes() ? 1e-9 : 1e-6;
    EXPECT_NEAR(-c.distance, -test::plane_gap(A, B, c.normal.eigen()), tolerance);
    EXPECT_GT(test::least_reach(A, B, c.normal.eigen()), -c.distance - tolerance);
    const double oracle = test::oracle_depth(A, B, 4);
    EXPECT_GT(oracle, -c.distance - tolerance);
  });
  EXPECT_GT(deep, property_count() / 20);
}

TEST_P(Oracle, InvariantUnderMotionAndScaling) {
  Random numbers = random();
  for_poses([&](const Placed& A, const Placed& B, QueryWorkspace& workspace, int i) {
    if (i % 10 != 0) return;
    const double tolerance = polytopes() ? 1e-9 : 1e-6;
    const ContactResult c = collide(A.solid.shape(), A.X, B.solid.shape(), B.X, workspace);
    const Pose move = test::random_pose(numbers, 3.0);
    const ContactResult moved = collide(A.solid.shape(), move * A.X, B.solid.shape(), move * B.X, workspace);
    EXPECT_NEAR(moved.distance, c.distance, tolerance);
    const double scale = std::pow(10.0, uniform(numbers, -3.0, 3.0));
    const auto grown = [&](const Pose& X) { return Pose(X.R, scale * X.p); };
    const ContactResult scaled =
        collide(A.solid.scaled(scale).shape(), grown(A.X), B.solid.scaled(scale).shape(), grown(B.X), workspace);
    EXPECT_NEAR(scaled.distance / scale, c.distance, tolerance);
    if (c.distance > 1e-2) {
      EXPECT_LT(norm(scaled.normal - c.normal), 1e-3);
      EXPECT_LT(norm(moved.normal - move.R * c.normal), 1e-3);
    }
  });
}

std::vector<std::pair<int, int>> all_pairs() {
  std::vector<std::pair<int, int>> pairs;
  for (int a = 0; a < 7; ++a) {
    for (int b = a; b < 7; ++b) pairs.emplace_back(a, b);
  }
  return pairs;
}

std::string pair_name(const testing::TestParamInfo<std::pair<int, int>>& pair) {
  return std::string(test::kKindNames[pair.param.first]) + test::kKindNames[pair.param.second];
}

INSTANTIATE_TEST_SUITE_P(Pairs, Oracle, testing::ValuesIn(all_pairs()), pair_name);

}  // namespace
}  // namespace touchstone
