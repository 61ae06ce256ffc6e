// Contacts that slide, turn and roll slowly: the same points with the same ids from step to step.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "collision/surface_support.hpp"
#include "touchstone/collision/manifold/manifold.hpp"

namespace touchstone {
namespace {

constexpr int kSteps = 1000;

using test::about;

// What 1,000 steps of a contact look like.
struct Record {
  int id_changes = 0;     // ids that are new in a step
  int count_changes = 0;  // steps with another number of points
  int least = 1000, most = 0;
  double largest_jump = 0.0;  // of a point that keeps its id, relative to body B, m
  double largest_tilt = 0.0;  // |normal - expected|
  double largest_depth_error = 0.0;
};

using Collide = std::function<void(const Pose&, std::vector<Manifold>&)>;
using Motion = std::function<Pose(double)>;  // of time 0..1

Record record(const Motion& motion, const Collide& collide_at, Vec3 expected_normal, double expected_distance) {
  Record result;
  std::map<std::uint64_t, Vec3> last;
  std::vector<Manifold> manifolds;
  for (int step = 0; step < kSteps; ++step) {
    manifolds.clear();
    const Pose X = motion(static_cast<double>(step) / kSteps);
    collide_at(X, manifolds);
    std::map<std::uint64_t, Vec3> now;
    for (const Manifold& m : manifolds) {
      result.largest_tilt = std::max(result.largest_tilt, norm(m.normal - expected_normal));
      for (const ManifoldPoint& p : m) {
        now[p.feature] = p.point_A;
        result.largest_depth_error = std::max(result.largest_depth_error, std::abs(p.distance - expected_distance));
      }
    }
    const int count = static_cast<int>(now.size());
    result.least = std::min(result.least, count);
    result.most = std::max(result.most, count);
    if (step > 0) {
      result.count_changes += now.size() != last.size() ? 1 : 0;
      for (const auto& [id, point] : now) {
        const auto found = last.find(id);
        result.id_changes += found == last.end() ? 1 : 0;
        if (found != last.end()) result.largest_jump = std::max(result.largest_jump, norm(point - found->second));
      }
    }
    last = now;
  }
  return result;
}

Collide on(const ConvexShape& floor, const ConvexShape& shape, double margin = 1e-3) {
  return [=, workspace = std::make_shared<QueryWorkspace>(), cache = std::make_shared<QueryCache>()](
             const Pose& X, std::vector<Manifold>& out) {
    const Manifold m = collide_manifold(floor, Pose(), shape, X, margin, *workspace, {}, cache.get());
    EXPECT_TRUE(m.valid());
    if (m.count > 0) out.push_back(m);
  };
}

// A box of half extents (0.5, 0.4, 0.3) slides by 1 m and turns by 1 rad, with a depth that wavers.
Pose sliding(double t) {
  return {about(t, Vector3::UnitZ()), Vec3(t - 0.5, 0.3 * t, 0.3 - 1e-4 + 1e-5 * std::sin(300.0 * t))};
}

void expect_steady(const Record& r, int count, double jump) {
  EXPECT_EQ(r.id_changes, 0);
  EXPECT_EQ(r.count_changes, 0);
  EXPECT_EQ(r.least, count);
  EXPECT_LT(r.largest_jump, jump);
  EXPECT_LT(r.largest_tilt, 1e-12);
  EXPECT_LT(r.largest_depth_error, 1.2e-4);
}

TEST(Persistence, BoxOnPlaneAndOnBox) {
  const ConvexShape box = ConvexShape::box({0.5, 0.4, 0.3});
  const double step = (1.05 + 0.65) / kSteps;
  const ConvexShape table = ConvexShape::box({3, 3, 1});
  const auto lower = [](const Pose& X) { return Pose(X.R, X.p + Vec3(0, 0, 1)); };
  expect_steady(record(sliding, on(ConvexShape::half_space(), box), Vec3(0, 0, 1), 0.0), 4, step);
  expect_steady(record([&](double t) { return lower(sliding(t)); }, on(table, box), Vec3(0, 0, 1), 0.0), 4, step);
  const ConvexShape hull = ConvexShape::polytope(test::box_points({0.5, 0.4, 0.3}));
  expect_steady(record([&](double t) { return lower(sliding(t)); }, on(table, hull), Vec3(0, 0, 1), 0.0), 4, step);
}

// Noise of a resting box: tilts and shifts of 1e-9, equal faces on top of each other. The ids do not flip.
TEST(Persistence, NoiseOnAStack) {
  test::Random random(5);
  const ConvexShape box = ConvexShape::box({0.5, 0.5, 0.5});
  for (const double noise : {1e-12, 1e-10, 1e-9}) {
    const auto jitter = [&](double) {
      const auto u = [&] { return noise * test::uniform(random, -1.0, 1.0); };
      return Pose(about(u(), test::random_unit(random)), Vec3(u(), u(), 1.0 - 1e-6 + u()));
    };
    const Record r = record(jitter, on(box, box), Vec3(0, 0, 1), 0.0);
    EXPECT_EQ(r.id_changes, 0) << noise;
    EXPECT_EQ(r.least, 4);
    EXPECT_LT(r.largest_jump, 1e-5);
  }
}

// Overlapping boxes turned by 45 degrees meet in an octagon: four of eight corners, which stay with a cache.
TEST(Persistence, NoiseOnAnOctagon) {
  test::Random random(6);
  const ConvexShape box = ConvexShape::box({0.5, 0.5, 0.5});
  const auto jitter = [&](double) {
    const auto u = [&] { return 1e-8 * test::uniform(random, -1.0, 1.0); };
    return Pose(about(0.785398, Vector3::UnitZ()) * about(u(), test::random_unit(random)),
                Vec3(u(), u(), 1.0 - 1e-6 + u()));
  };
  const Record r = record(jitter, on(box, box), Vec3(0, 0, 1), 0.0);
  EXPECT_EQ(r.id_changes, 0);
  EXPECT_EQ(r.least, 4);
}

// Turning through a right angle on an equal box: the corners of the octagon change places, a few times.
TEST(Persistence, TurningOnAnEqualBox) {
  const ConvexShape box = ConvexShape::box({0.5, 0.5, 0.5});
  const auto turn = [](double t) { return Pose(about(1.5707 * t, Vector3::UnitZ()), Vec3(0.01, 0.02, 0.9999)); };
  const Record r = record(turn, on(box, box), Vec3(0, 0, 1), 0.0);
  EXPECT_LE(r.id_changes, 24);
  EXPECT_EQ(r.least, 4);
  EXPECT_LT(r.largest_tilt, 1e-12);
}

TEST(Persistence, RollingCylinder) {
  const ConvexShape cylinder = ConvexShape::cylinder(0.3, 0.5);
  const auto roll = [](double t) {  // along x, one turn and more
    return Pose(about(7.0 * t, Vector3::UnitY()) * about(1.5707963267948966, Vector3::UnitX()),
                Vec3(2.1 * t - 1.0, 0.0, 0.3 - 1e-4));
  };
  for (const bool plane : {true, false}) {
    const Record r =
        record([&](double t) { return Pose(roll(t).R, roll(t).p - Vec3(0, 0, plane ? 0.0 : 1.0)); },
               plane ? on(ConvexShape::half_space(), cylinder)
                     : [box = on(ConvexShape::box({3, 3, 1}), cylinder)](
                           const Pose& X, std::vector<Manifold>& out) { box(Pose(X.R, X.p + Vec3(0, 0, 2)), out); },
               Vec3(0, 0, 1), 0.0);
    EXPECT_EQ(r.id_changes, 0);
    EXPECT_EQ(r.least, 2);
    EXPECT_EQ(r.most, 2);
    EXPECT_LT(r.largest_jump, 2.2e-3);
    EXPECT_LT(r.largest_tilt, 1e-9);
    EXPECT_LT(r.largest_depth_error, 1.2e-4);
  }
}

// A cylinder spinning on its cap: the points stay where they are on the floor.
TEST(Persistence, SpinningCylinder) {
  const ConvexShape cylinder = ConvexShape::cylinder(0.3, 0.5), cone = ConvexShape::cone(0.3, 0.5);
  const ConvexShape disc = ConvexShape::cylinder(0.4, 1.0);
  const auto spin = [](double t) { return Pose(about(20.0 * t, Vector3::UnitZ()), Vec3(0.2 * t, 0.1, 0.4999)); };
  const auto lifted = [&](double t) { return Pose(spin(t).R, spin(t).p + Vec3(-0.1, -0.1, 1.0)); };
  for (const ConvexShape* top : {&cylinder, &cone}) {
    const Record on_plane = record(spin, on(ConvexShape::half_space(), *top), Vec3(0, 0, 1), -1e-4);
    const Record on_box = record(lifted, on(ConvexShape::box({3, 3, 1}), *top), Vec3(0, 0, 1), -1e-4);
    for (const Record& r : {on_plane, on_box}) {
      EXPECT_EQ(r.id_changes, 0);
      EXPECT_EQ(r.least, 4);
      EXPECT_LT(r.largest_jump, 2.5e-4);
      EXPECT_LT(r.largest_depth_error, 1e-9);
    }
    const Record on_disc = record(lifted, on(disc, *top), Vec3(0, 0, 1), -1e-4);
    EXPECT_EQ(on_disc.least, 4);
    EXPECT_LE(on_disc.id_changes, 12);
    EXPECT_LT(on_disc.largest_depth_error, 1e-9);
  }
}

// A coin that wobbles: the deepest point is exact and keeps its id around the rim, the others come and go.
TEST(Persistence, WobblingCoin) {
  const ConvexShape coin = ConvexShape::cylinder(0.1, 0.01);
  constexpr double kTilt = 0.02;
  QueryWorkspace workspace;
  std::uint64_t id = 0;
  Vec3 last;
  for (int step = 0; step < kSteps; ++step) {
    const double angle = 7.0 * step / kSteps;
    const Vector3 axis(-std::sin(angle), std::cos(angle), 0.0);
    Pose X(about(kTilt, axis), Vec3(0, 0, 0));
    X.p.lanes[2] = 0.1 * std::sin(kTilt) + 0.01 * std::cos(kTilt) - 1e-5;
    const Manifold m = collide_manifold(ConvexShape::half_space(), Pose(), coin, X, 1e-4, workspace);
    ASSERT_EQ(m.count, 1);  // the others are more than 1e-4 above the floor
    EXPECT_NEAR(m.points[0].distance, -1e-5, 1e-15);
    if (step > 0) {
      EXPECT_EQ(m.points[0].feature, id);
      EXPECT_LT(norm(m.points[0].point_A - last), 0.1 * 7.0 / kSteps * 1.01);
    }
    id = m.points[0].feature;
    last = m.points[0].point_A;
  }
}

// A box that tips over its edge: the two points of the edge keep their ids from the face to the edge contact.
TEST(Persistence, TippingBox) {
  const ConvexShape box = ConvexShape::box({0.5, 0.4, 0.3});
  const auto tip = [](double t) {
    const double angle = 0.3 * t;
    Pose X(about(angle, Vector3::UnitX()), Vec3());
    X.p.lanes[2] = 0.4 * std::sin(angle) + 0.3 * std::cos(angle) - 1e-4;
    return X;
  };
  const Record r = record(tip, on(ConvexShape::half_space(), box), Vec3(0, 0, 1), 0.0);
  EXPECT_EQ(r.id_changes, 0);
  EXPECT_EQ(r.most, 4);
  EXPECT_EQ(r.least, 2);
  EXPECT_EQ(r.count_changes, 1);  // when the other two leave the margin
}

Collide on(const CollisionShape& floor, const CollisionShape& shape, const Pose& X_WF = Pose()) {
  return [=, workspace = std::make_shared<CollisionWorkspace>(), cache = std::make_shared<PairCache>()](
             const Pose& X, std::vector<Manifold>& out) {
    EXPECT_EQ(collide(floor, X_WF, shape, X, 1e-3, *workspace, cache.get(), out), QueryStatus::kConverged);
  };
}

// A cube over some 200 inner edges: the corners keep their ids, and no normal leans.
TEST(Persistence, CubeOnAFloorOfTriangles) {
  const double step = (1.05 + 0.65) / kSteps;
  const CollisionShape floor = test::triangles(test::grid_mesh(61, 2.0, test::flat));
  const auto cube = test::hull_mesh(test::box_points({0.5, 0.4, 0.3}));
  const CollisionShape hull = CollisionShape::make(test::mesh_shape(cube, MeshCollision::kHull));
  const CollisionShape box(ConvexShape::box({0.5, 0.4, 0.3}));
  expect_steady(record(sliding, on(floor, hull), Vec3(0, 0, 1), 0.0), 4, step);
  expect_steady(record(sliding, on(floor, box), Vec3(0, 0, 1), 0.0), 4, step);
  // Triangles against triangles.
  const CollisionShape coarse = test::triangles(test::grid_mesh(13, 2.0, test::flat));
  expect_steady(record(sliding, on(coarse, test::triangles(cube)), Vec3(0, 0, 1), 0.0), 4, step);
}

// A drum of 40 sides turns on its face: of the 40 corners four stay, with a cache.
TEST(Persistence, DrumOnAPlaneAndOnTriangles) {
  std::vector<Vector3> points;
  for (int k = 0; k < 40; ++k) {
    const double angle = 6.283185307179586 * k / 40;
    for (const double z : {-0.3, 0.3}) points.emplace_back(0.4 * std::cos(angle), 0.4 * std::sin(angle), z);
  }
  const ConvexShape drum = ConvexShape::polytope(points);
  const CollisionShape floor = test::triangles(test::grid_mesh(31, 2.0, test::flat));
  const double step = (1.05 + 0.4) / kSteps;
  expect_steady(record(sliding, on(ConvexShape::half_space(), drum), Vec3(0, 0, 1), 0.0), 4, step);
  expect_steady(record(sliding, on(floor, CollisionShape(drum)), Vec3(0, 0, 1), 0.0), 4, step);
}

TEST(Persistence, BoxOnAHeightField) {
  const double step = (1.05 + 0.65) / kSteps;
  const CollisionShape box(ConvexShape::box({0.5, 0.4, 0.3}));
  const CollisionShape flat = test::field_shape(test::grid_field(61, 2.0, test::flat));
  expect_steady(record(sliding, on(flat, box), Vec3(0, 0, 1), 0.0), 4, step);
  // A gentle slope, 0.2 along x and 0.1 along y, and the box aligned with it.
  const auto plane = [](double x, double y) { return 1.0 + 0.2 * x + 0.1 * y; };
  const CollisionShape sloped = test::field_shape(test::grid_field(61, 2.0, plane));
  const Vector3 up = Vector3(-0.2, -0.1, 1.0).normalized();
  const Mat3 tilt(Matrix3(Quaternion::FromTwoVectors(Vector3::UnitZ(), up).toRotationMatrix()));
  const Pose X_WP(tilt, Vec3(0, 0, 1));
  expect_steady(record([&](double t) { return X_WP * sliding(t); }, on(sloped, box), Vec3(up), 0.0), 4, step);
}

// A ball that rolls over gentle hills: one point of one name, but for moments with two faces in reach.
TEST(Persistence, BallOverHills) {
  const auto hills = [](double x, double y) { return 0.2 + 0.05 * std::sin(2.0 * x) * std::cos(2.0 * y); };
  const CollisionShape field = test::field_shape(test::grid_field(80, 2.0, hills)), ball(ConvexShape::sphere(0.2));
  CollisionWorkspace workspace;
  std::vector<Manifold> out;
  int steps_with_one = 0, touching = 0;
  double largest_lean = 0.0;
  for (int step = 0; step < kSteps; ++step) {
    const double x = -1.5 + 3.0 * step / kSteps, y = 0.3 + 0.2 * step / kSteps;
    // The tangent plane of the smooth hill; facets of 0.05 m lie up to 6e-5 m below a hilltop.
    const Vector3 slope(-0.1 * std::cos(2.0 * x) * std::cos(2.0 * y), 0.1 * std::sin(2.0 * x) * std::sin(2.0 * y), 1.0);
    const Vector3 centre = Vector3(x, y, hills(x, y)) + (0.2 - 2e-4) * slope.normalized();
    out.clear();
    collide(field, Pose(), ball, Pose(Mat3::identity(), Vec3(centre)), 1e-4, workspace, nullptr, out);
    touching += out.empty() ? 0 : 1;
    steps_with_one += test::count_points(out) == 1 ? 1 : 0;
    for (const Manifold& m : out) largest_lean = std::max(largest_lean, (m.normal.eigen() - slope.normalized()).norm());
  }
  EXPECT_EQ(touching, kSteps);
  EXPECT_LT(largest_lean, 0.02);  // the facets' own error is up to 0.2 * 0.05 / 2 plus curvature along the diagonal
  EXPECT_GT(steps_with_one, 0.9 * kSteps);
}

}  // namespace
}  // namespace touchstone
