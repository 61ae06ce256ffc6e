// What a pair of a surface costs: near-linear in the triangles that touch, and it ends for any numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "collision/surface_support.hpp"
#include "touchstone/collision/surface/surface_explained.hpp"

namespace touchstone {
namespace {

using test::Random;
using test::uniform;
using Batch = SurfaceWorkspace::Batch;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Work {
  std::size_t batches = 0, points = 0;  // comparisons of batches, and of points of one patch
  int contacts = 0;
};

Work work_of(const CollisionShape& A, const CollisionShape& B, const Pose& X_WB) {
  CollisionWorkspace workspace;
  std::vector<Manifold> out;
  EXPECT_EQ(collide(A, Pose(), B, X_WB, 1e-3, workspace, nullptr, out), QueryStatus::kConverged);
  return {workspace.surface.comparisons, workspace.query.patch.comparisons, test::count_points(out)};
}

// A ball fills a bowl: all triangles touch, each with a normal of its own. An ellipsoid has no radius around a core;
// sunk in, none of its contacts is proven, and few explain another.
TEST(SurfaceCost, ManyNormals) {
  constexpr double kRadius = 1.6;
  const auto bowl = [](double x, double y) { return kRadius - std::sqrt(kRadius * kRadius - x * x - y * y); };
  const CollisionShape ball(ConvexShape::sphere(kRadius)), sunk(ConvexShape::ellipsoid({kRadius, kRadius, kRadius}));
  for (const int cells : {16, 32, 64, 128}) {
    const CollisionShape surface = test::triangles(test::grid_mesh(cells, 1.0, bowl));
    const Work touching = work_of(surface, ball, Pose(Mat3::identity(), Vec3(0, 0, kRadius + 5e-4)));
    const Work deep = work_of(surface, sunk, Pose(Mat3::identity(), Vec3(0, 0, kRadius - 0.01)));
    EXPECT_GT(touching.contacts, cells * cells);
    EXPECT_GT(deep.contacts, cells * cells);
    EXPECT_LT(touching.batches, static_cast<std::size_t>(4 * cells * cells)) << cells << " cells";
    EXPECT_LT(deep.batches, static_cast<std::size_t>(80 * cells * cells)) << cells << " cells";
  }
}

// A tessellated plate lies on a plane: one patch with many points.
TEST(SurfaceCost, ManyPoints) {
  const CollisionShape ground(ConvexShape::half_space());
  for (const int cells : {16, 32, 64, 128}) {
    const CollisionShape plate = test::triangles(test::grid_mesh(cells, 1.0, test::flat));
    const Work work = work_of(ground, plate, Pose(test::about(3.14159265358979, Vector3::UnitX()), Vec3(0, 0, 0)));
    EXPECT_EQ(work.contacts, 4);
    EXPECT_LT(work.points, static_cast<std::size_t>(6 * (cells + 1) * (cells + 1))) << cells << " cells";
  }
}

Vec3 random_normal(Random& random, double spread) {
  const Vector3 n(uniform(random, -spread, spread), uniform(random, -spread, spread), 1.0);
  return Vec3(n.normalized());
}

void add_batch(SurfaceWorkspace& work, Vec3 normal, double least, bool proven) {
  Batch batch;
  batch.normal = normal;
  batch.least = least;
  batch.proven = proven;
  batch.first = work.points.size();
  batch.count = 1;
  batch.triangle = static_cast<int>(work.batches.size());
  const Vec3 b(1e-3 * batch.triangle, 0, 0);
  work.points.push_back({b - least * normal, b, vertex_name(batch.triangle), vertex_name(0)});
  work.batches.push_back(batch);
}

// The groups are those that a look at all pairs gives: the deepest that is left, and all with its normal.
TEST(SurfaceCost, GroupsAreThoseOfAllPairs) {
  Random random(31);
  const QueryOptions options;
  const SurfaceSettings settings{0.0, 1.0, options};
  for (const double spread : {0.0, 1e-3, 5e-3, 0.1, 3.0}) {
    for (const int count : {1, 5, 16, 17, 60, 800}) {
      QueryWorkspace query;
      SurfaceWorkspace work;
      for (int i = 0; i < count; ++i) add_batch(work, random_normal(random, spread), uniform(random, -1, 1), true);
      std::vector<Batch> left = work.batches;
      std::vector<Manifold> out;
      flush_surface_contacts(Pose(), settings, 0.0, false, nullptr, query, work, out);
      for (const Manifold& m : out) {
        ASSERT_FALSE(left.empty());
        const Batch head = *std::min_element(left.begin(), left.end(),
                                             [](const Batch& a, const Batch& b) { return a.least < b.least; });
        EXPECT_EQ(m.sub_shape_A, head.triangle);
        const auto size =
            std::erase_if(left, [&](const Batch& b) { return norm(b.normal - head.normal) <= kOneNormal; });
        EXPECT_LE(m.count, static_cast<int>(size));
      }
      EXPECT_TRUE(left.empty()) << count << " batches, spread " << spread;
    }
  }
}

// Numbers that are none make no contacts, but an end.
TEST(SurfaceCost, BadNormalsEnd) {
  const QueryOptions options;
  const SurfaceSettings settings{0.0, 1.0, options};
  for (const int count : {3, 40}) {
    QueryWorkspace query;
    SurfaceWorkspace work;
    for (int i = 0; i < count; ++i) {
      add_batch(work, i % 2 == 0 ? Vec3(kNaN, 0, kNaN) : Vec3(0, 0, 1), i % 2 == 0 ? kNaN : -0.1, i % 4 != 0);
    }
    const ConvexShape ball = ConvexShape::sphere(1.0);
    drop_explained({ball, Pose()}, 0, work);
    std::vector<Manifold> out;
    flush_surface_contacts(Pose(), settings, 0.0, false, nullptr, query, work, out);
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].normal.z(), 1.0);
  }
}

// The tree finds what a look at all pairs finds.
TEST(SurfaceCost, ExplainedAreThoseOfAllPairs) {
  Random random(32);
  int dropped = 0, kept = 0;
  for (int round = 0; round < 60; ++round) {
    const ConvexShape shape = round % 2 == 0 ? ConvexShape::sphere(1.0) : ConvexShape::box({1.0, 0.7, 0.4});
    const SurfacePartner partner{shape, test::random_pose(random, 2.0)};
    SurfaceWorkspace work;
    const int count = round % 3 == 0 ? 12 : 300;
    for (int i = 0; i < count; ++i) {
      const Vec3 n = random_normal(random, round % 4 == 0 ? 0.1 : 2.0);
      int vertex = -1;
      const Vec3 lowest = partner.X_SB * shape.support(transpose_times(partner.X_SB.R, -n), vertex);
      add_batch(work, n, uniform(random, -0.2, 0.0), i % 5 == 0);
      Batch& batch = work.batches.back();
      const Vec3 middle = lowest - batch.least * n;  // on the plane of the contact
      for (Vec3& corner : batch.corners) {
        const Vec3 arm(uniform(random, -0.05, 0.05), uniform(random, -0.05, 0.05), uniform(random, -0.05, 0.05));
        corner = middle + arm - dot(arm, n) * n;
      }
    }
    std::vector<Batch> expected = work.batches;
    const double tolerance = kTie * shape.extent();
    for (Batch& i : expected) {
      for (const Batch& j : expected) {
        if (i.proven || j.dropped || &i == &j || j.least < i.least + tolerance) continue;
        int vertex = -1;
        const Vec3 lowest = partner.X_SB * shape.support(transpose_times(partner.X_SB.R, -j.normal), vertex);
        double highest = -std::numeric_limits<double>::infinity();
        for (const Vec3 corner : i.corners) highest = std::max(highest, dot(j.normal, corner));
        if (dot(j.normal, lowest) - highest >= j.least - tolerance) i.dropped = true;
      }
    }
    drop_explained(partner, 0, work);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(work.batches[i].dropped, expected[i].dropped) << "round " << round << ", batch " << i;
      ++(expected[i].dropped ? dropped : kept);
    }
  }
  EXPECT_GT(dropped, 1000);
  EXPECT_GT(kept, 1000);
}

// Two bumpy surfaces with a margin that reaches over both, as of bodies that fly apart, or one inside the other: the
// work is bounded, and the answer says that it is. Where it is enough, nothing is different.
TEST(SurfaceCost, IsBounded) {
  const auto bumps = [](double x, double y) { return 0.1 * std::sin(9.0 * x) * std::cos(7.0 * y); };
  const CollisionShape a = test::triangles(test::grid_mesh(24, 1.0, bumps));
  const Pose over(test::about(0.3, Vector3::UnitZ()), Vec3(0.01, 0.02, 0.15));
  const Pose inside(test::about(3.1, Vector3::UnitX()), Vec3(0.01, 0.02, 0.0));
  constexpr std::size_t kVisits = 5000;
  for (const Pose& X : {over, inside}) {
    for (const double margin : {0.0, 1e-3, 0.1, 10.0, 1e6}) {
      CollisionWorkspace small, ample;
      small.surface.allowance.visits = kVisits;
      std::vector<Manifold> found, all;
      const QueryStatus status = collide(a, Pose(), a, X, margin, small, nullptr, found);
      EXPECT_LE(small.surface.visits, 3 * kVisits);
      EXPECT_LE(small.surface.batches.capacity(), 2 * kVisits);
      EXPECT_EQ(small.surface.allowance.visits, kVisits) << "it is what the next pair may use";
      if (margin < 1.0) {
        EXPECT_EQ(collide(a, Pose(), a, X, margin, ample, nullptr, all), QueryStatus::kConverged) << margin;
        EXPECT_EQ(status == QueryStatus::kLimited, ample.surface.visits >= kVisits) << margin;
      } else {
        EXPECT_EQ(status, QueryStatus::kLimited) << margin;
      }
      if (status != QueryStatus::kConverged) continue;
      ASSERT_EQ(found.size(), all.size());
      for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(found[i].count, all[i].count);
    }
  }
}

// What touches is among what a wide margin leaves.
TEST(SurfaceCost, KeepsWhatIsNearest) {
  const auto bumps = [](double x, double y) { return 0.1 * std::sin(9.0 * x) * std::cos(7.0 * y); };
  const CollisionShape ground = test::triangles(test::grid_mesh(24, 1.0, bumps));
  const CollisionShape ball(ConvexShape::sphere(0.1));
  const Pose X(Mat3::identity(), Vec3(0.17, 0, 0.19));  // on top of a bump
  const auto deepest = [&](double margin, std::size_t visits) {
    CollisionWorkspace workspace;
    workspace.surface.allowance.visits = visits;
    std::vector<Manifold> out;
    collide(ground, Pose(), ball, X, margin, workspace, nullptr, out);
    double least = std::numeric_limits<double>::infinity();
    for (const Manifold& m : out) {
      for (const ManifoldPoint& p : m) least = std::min(least, p.distance);
    }
    return least;
  };
  const double exact = deepest(1e-3, SurfaceWorkspace::kMostVisits);
  EXPECT_LT(exact, 0.0);
  EXPECT_NEAR(deepest(100.0, 300), exact, 1e-12);
}

}  // namespace
}  // namespace touchstone
