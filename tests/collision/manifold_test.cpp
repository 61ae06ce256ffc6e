#include "touchstone/collision/manifold/manifold.hpp"

#include <gtest/gtest.h>

#include <set>

#include "collision/collision_support.hpp"
#include "support/allocation_guard.hpp"

namespace touchstone {
namespace {

using test::Random;
using test::uniform;

constexpr double kPi = 3.14159265358979323846;

// Faces and lines of rounded cores tilted by up to kFeatureAngle are off by radius * (1 - cosine).
double rounding_error(const ConvexShape& s) {
  return s.core() == CoreType::kPoint ? 0.0 : s.radius() * (1.0 - std::sqrt(1.0 - kFeatureAngle * kFeatureAngle));
}

// A rotation that often puts faces and edges along z: a multiple of 90 degrees about some axes, tilted by a small angle
// of a random order of magnitude, and turned about z.
Mat3 resting_rotation(Random& random) {
  const auto about = [](double angle, const Vector3& axis) {
    return Mat3(Matrix3(Eigen::AngleAxisd(angle, axis).toRotationMatrix()));
  };
  const double tilt = random() % 3 == 0 ? 0.0 : std::pow(10.0, uniform(random, -12.0, -1.0));
  Mat3 R = about(0.5 * kPi * static_cast<double>(random() % 4), Vector3::UnitX()) *
           about(0.5 * kPi * static_cast<double>(random() % 4), Vector3::UnitY());
  R = about(tilt, test::random_unit(random)) * R;
  return about(uniform(random, -kPi, kPi), Vector3::UnitZ()) * R;
}

// How far a point is outside of a shape.
double outside(const ConvexShape& shape, const Pose& X, Vec3 point, QueryWorkspace& workspace) {
  return collide(ConvexShape::sphere(0.0), Pose(Mat3::identity(), point), shape, X, workspace).distance;
}

double lowest(const ConvexShape& shape, const Pose& X) {
  int vertex = -1;
  if (!shape.bounded()) return X.p.z();
  return (X * shape.support(transpose_times(X.R, Vec3(0, 0, -1)), vertex)).z() - shape.radius();
}

double highest(const ConvexShape& shape, const Pose& X) {
  int vertex = -1;
  if (!shape.bounded()) return X.p.z();
  return (X * shape.support(transpose_times(X.R, Vec3(0, 0, 1)), vertex)).z() + shape.radius();
}

struct RestingPair {
  ConvexShape A, B;
  Pose X_WA, X_WB;
};

// B on top of A, at a random gap of about +-1e-3, shifted sideways.
RestingPair resting_pair(Random& random, int a, int b) {
  RestingPair pair{test::random_shape(random, a), test::random_shape(random, b), {}, {}};
  pair.X_WA.R = pair.A.bounded() ? resting_rotation(random) : Mat3::identity();
  pair.X_WB.R = pair.B.bounded() ? resting_rotation(random) : Mat3(Vec3(1, 0, 0), Vec3(0, -1, 0), Vec3(0, 0, -1));
  pair.X_WB.p = Vec3(uniform(random, -0.5, 0.5), uniform(random, -0.5, 0.5), 0.0);
  const double gap = uniform(random, -1e-3, 1e-3);
  pair.X_WB.p.lanes[2] = highest(pair.A, pair.X_WA) - lowest(pair.B, pair.X_WB) + gap;
  return pair;
}

bool same_points(const Manifold& a, const Manifold& b, const Pose& move, double tolerance) {
  if (a.count != b.count) return false;
  for (const ManifoldPoint& p : a) {
    const bool found = std::any_of(b.begin(), b.end(), [&](const ManifoldPoint& q) {
      return norm(move * p.point_A - q.point_A) < tolerance && norm(move * p.point_B - q.point_B) < tolerance;
    });
    if (!found) return false;
  }
  return true;
}

Manifold swapped(const Manifold& m) {
  Manifold result = m;
  result.normal = -m.normal;
  for (int k = 0; k < m.count; ++k) std::swap(result.points[k].point_A, result.points[k].point_B);
  return result;
}

TEST(Manifold, BoxOnBox) {
  QueryWorkspace workspace;
  const ConvexShape cube = ConvexShape::box({1, 1, 1}), floor = ConvexShape::box({10, 10, 1});
  const Manifold m = collide_manifold(floor, Pose(), cube, Pose(Mat3::identity(), Vec3(0, 0, 1.9)), 0.0, workspace);
  ASSERT_EQ(m.count, 4);
  EXPECT_LT(norm(m.normal - Vec3(0, 0, 1)), 1e-15);
  std::set<std::pair<int, int>> corners;
  std::set<std::uint64_t> ids;
  for (const ManifoldPoint& p : m) {
    const Vec3 middle = 0.5 * (p.point_A + p.point_B);
    corners.emplace(static_cast<int>(std::lround(middle.x())), static_cast<int>(std::lround(middle.y())));
    ids.insert(p.feature);
    EXPECT_NEAR(std::abs(middle.x()), 1.0, 1e-15);
    EXPECT_NEAR(std::abs(middle.y()), 1.0, 1e-15);
    EXPECT_NEAR(middle.z(), 0.95, 1e-15);
    EXPECT_NEAR(p.distance, -0.1, 1e-15);
    EXPECT_EQ(p.active.A.type, FeatureType::kFace);
    EXPECT_EQ(p.active.B.type, FeatureType::kVertex);
  }
  EXPECT_EQ(corners.size(), 4u);
  EXPECT_EQ(ids.size(), 4u);
}

// How many points rest on a plane, and on a box, for each kind of contact.
TEST(Manifold, Counts) {
  QueryWorkspace workspace;
  const ConvexShape ground = ConvexShape::half_space(), table = ConvexShape::box({3, 3, 1});
  const Mat3 upright = Mat3::identity();
  const auto turned = [](double angle) {
    return Mat3(Matrix3(Eigen::AngleAxisd(angle, Vector3::UnitX()).toRotationMatrix()));
  };
  const double side_of_cone = 0.5 * kPi + std::atan2(0.5, 2.0 * 0.6);  // from the upright to lying on the side
  struct Case {
    ConvexShape shape;
    Mat3 R;
    int count;
  };
  const Case cases[] = {
      {ConvexShape::sphere(0.5), upright, 1},
      {ConvexShape::ellipsoid({0.5, 0.3, 0.2}), upright, 1},
      {ConvexShape::capsule(0.5, 0.6), upright, 1},
      {ConvexShape::capsule(0.5, 0.6), turned(0.5 * kPi), 2},
      {ConvexShape::capsule(0.5, 0.6), turned(0.3 * kPi), 1},
      {ConvexShape::cylinder(0.5, 0.6), upright, 4},
      {ConvexShape::cylinder(0.5, 0.6), turned(0.5 * kPi), 2},
      {ConvexShape::cylinder(0.5, 0.6), turned(0.3 * kPi), 1},
      {ConvexShape::cone(0.5, 0.6), upright, 4},
      {ConvexShape::cone(0.5, 0.6), turned(kPi), 1},
      {ConvexShape::cone(0.5, 0.6), turned(side_of_cone), 2},
      {ConvexShape::box({0.5, 0.4, 0.6}), upright, 4},
      {ConvexShape::box({0.5, 0.4, 0.6}), turned(0.25 * kPi), 2},
      {ConvexShape::box({0.5, 0.4, 0.6}, 0.1), upright, 4},
      {ConvexShape::polytope(test::box_points({0.5, 0.4, 0.6})), upright, 4},
      {ConvexShape::polytope(test::box_points({0.5, 0.4, 0.6})), turned(0.25 * kPi), 2},
      {ConvexShape::polytope({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0.3, 0.3, 0}}), upright, 4},
      {ConvexShape::polytope({{0, 0, 0}, {1, 0, 0}, {0.3, 0, 0}}), upright, 2},
      {ConvexShape::triangle(Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(0, 1, 0)), upright, 3},
  };
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    const Case& c = cases[i];
    for (const ConvexShape* under : {&ground, &table}) {
      for (const double gap : {-1e-3, 1e-3}) {
        SCOPED_TRACE(testing::Message() << "case " << i << (under == &ground ? " ground" : " table") << " gap " << gap);
        Pose X(c.R, Vec3(0.1, 0.2, 0.0));
        X.p.lanes[2] = gap - lowest(c.shape, X) + (under == &table ? 1.0 : 0.0);
        const Manifold m = collide_manifold(*under, Pose(), c.shape, X, 2e-3, workspace);
        EXPECT_EQ(m.count, c.count);
        for (const ManifoldPoint& p : m) EXPECT_NEAR(p.distance, gap, 1e-9);
        EXPECT_LT(norm(m.normal - Vec3(0, 0, 1)), 1e-9);
      }
    }
  }
}

// Logs beside each other touch along the overlap of their lines; crossed ones at a point.
TEST(Manifold, ParallelLines) {
  QueryWorkspace workspace;
  const auto along_x = [](double about_z) {
    return Mat3(Matrix3((Eigen::AngleAxisd(about_z, Vector3::UnitZ()) * Eigen::AngleAxisd(0.5 * kPi, Vector3::UnitY()))
                            .toRotationMatrix()));
  };
  const ConvexShape shapes[] = {ConvexShape::capsule(0.1, 0.5), ConvexShape::cylinder(0.1, 0.5)};
  for (const ConvexShape& A : shapes) {
    for (const ConvexShape& B : shapes) {
      for (const double gap : {-1e-3, 1e-3}) {
        const Pose X_WA(along_x(0.0), Vec3()), X_WB(along_x(0.0), Vec3(0.3, 0.0, 0.2 + gap));
        const Manifold m = collide_manifold(A, X_WA, B, X_WB, 2e-3, workspace);
        ASSERT_EQ(m.count, 2);
        // Overlapping cylinders: EPA's depth is good to 1e-9, hence the normal of a curved side to 1e-4.
        const bool smooth = !A.polyhedral() || !B.polyhedral();
        EXPECT_LT(norm(m.normal - Vec3(0, 0, 1)), smooth ? 3e-4 : 1e-12);
        double low = 1.0, high = -1.0;
        for (const ManifoldPoint& p : m) {
          EXPECT_NEAR(p.distance, gap, 1e-8);
          low = std::min(low, p.point_A.x());
          high = std::max(high, p.point_A.x());
        }
        EXPECT_NEAR(low, -0.2, 1e-5);
        EXPECT_NEAR(high, 0.5, 1e-5);
        const Manifold crossed = collide_manifold(A, X_WA, B, Pose(along_x(0.7), X_WB.p), 2e-3, workspace);
        ASSERT_EQ(crossed.count, 1);
        EXPECT_NEAR(crossed.points[0].distance, gap, 1e-8);
        EXPECT_NEAR(crossed.points[0].point_A.x(), 0.3, 1e-3);
      }
    }
  }
}

TEST(Manifold, EveryPairKeepsTheRules) {
  Random random(11);
  QueryWorkspace workspace;
  constexpr double kMargin = 5e-3;
  int points = 0, many = 0;
  for (int a = 0; a < test::kShapeKinds; ++a) {
    for (int b = 0; b < test::kShapeKinds; ++b) {
      for (int i = 0; i < 100; ++i) {
        const RestingPair pair = resting_pair(random, a, b);
        const auto& [A, B, X_WA, X_WB] = pair;
        if (!A.bounded() && !B.bounded()) continue;
        SCOPED_TRACE(testing::Message() << a << " " << b << " case " << i);
        const ContactResult c = collide(A, X_WA, B, X_WB, workspace);
        const Manifold m = collide_manifold(A, X_WA, B, X_WB, kMargin, workspace);
        ASSERT_TRUE(m.valid());
        EXPECT_EQ(m.count > 0, c.distance <= kMargin);
        if (m.count == 0) continue;
        points += m.count;
        many += m.count > 1 ? 1 : 0;
        const bool smooth = !(A.polyhedral() || !A.bounded()) || !(B.polyhedral() || !B.bounded());
        double least = m.points[0].distance;
        std::set<std::uint64_t> ids;
        for (const ManifoldPoint& p : m) {
          least = std::min(least, p.distance);
          ids.insert(p.feature);
          EXPECT_LE(p.distance, kMargin);
          EXPECT_LT(norm(p.point_B - p.point_A - p.distance * m.normal), 1e-12);
          // Corners may hang over by kTie of the smaller feature, whose size is up to 3.5.
          const double tie = (smooth ? 2e-5 : 3.5 * kTie);
          EXPECT_LT(std::abs(outside(A, X_WA, p.point_A, workspace)), tie + rounding_error(A));
          EXPECT_LT(std::abs(outside(B, X_WB, p.point_B, workspace)), tie + rounding_error(B));
        }
        EXPECT_EQ(static_cast<int>(ids.size()), m.count);
        EXPECT_NEAR(least, c.distance, smooth ? 1e-7 : 3.5 * kDepthTie);
        EXPECT_LT(norm(m.normal - c.normal), smooth ? 1e-3 : 1e-15);
      }
    }
  }
  EXPECT_GT(points, 15000);
  EXPECT_GT(many, 3000);
}

// Four points each, all equally deep up to rounding.
bool equally_deep(const Manifold& a, const Manifold& b) {
  if (a.count != 4 || b.count != 4) return false;
  const auto same = [&](const ManifoldPoint& p) { return std::abs(p.distance - a.points[0].distance) < 1e-7; };
  for (int i = 0; i < 4; ++i) {
    if (!same(a.points[i]) || !same(b.points[i])) return false;
  }
  return true;
}

// The points do not depend on the order of the arguments or on the frame. Of two places within 1 % of the patch the one
// named after A stays, hence the tolerance. A smooth core's normal is known to about 1e-6 only, which decides where the
// deepest point of a nearly flat disk is, and now and then whether a point is within the margin.
TEST(Manifold, SymmetricAndInvariant) {
  Random random(12);
  QueryWorkspace workspace;
  int total = 0, differ = 0;
  for (int a = 0; a < test::kShapeKinds; ++a) {
    for (int b = 0; b < test::kShapeKinds; ++b) {
      for (int i = 0; i < 50; ++i) {
        const RestingPair pair = resting_pair(random, a, b);
        const auto& [A, B, X_WA, X_WB] = pair;
        if (!A.bounded() && !B.bounded()) continue;
        SCOPED_TRACE(testing::Message() << a << " " << b << " case " << i);
        const bool smooth = !(A.polyhedral() || !A.bounded()) || !(B.polyhedral() || !B.bounded());
        const Manifold m = collide_manifold(A, X_WA, B, X_WB, 5e-3, workspace);
        const Manifold reverse = collide_manifold(B, X_WB, A, X_WA, 5e-3, workspace);
        const Pose move = test::random_pose(random, 3.0);
        const Manifold moved = collide_manifold(A, move * X_WA, B, move * X_WB, 5e-3, workspace);
        // Where all points are equally deep, rounding decides which four stay.
        const bool same_reverse = same_points(m, swapped(reverse), Pose(), 0.03) || equally_deep(m, reverse);
        const bool same_moved =
            same_points(m, moved, move, smooth ? 1e-3 : 1e-7) || (!smooth && equally_deep(m, moved));
        total += m.count > 0 ? 1 : 0;
        differ += same_reverse && same_moved ? 0 : 1;
        EXPECT_TRUE(smooth || same_reverse) << m.count << " " << reverse.count;
        EXPECT_TRUE(smooth || same_moved) << m.count << " " << moved.count;
      }
    }
  }
  EXPECT_GT(total, 4000);
  EXPECT_LE(differ, 0.01 * total);
}

// Corner contacts report the features that derivatives need.
TEST(Manifold, ActiveFeatures) {
  QueryWorkspace workspace;
  const ConvexShape box = ConvexShape::box({1, 1, 1});
  // A corner down on a face.
  const Mat3 on_corner(
      Matrix3(Quaternion::FromTwoVectors(Vector3(1, 1, 1).normalized(), -Vector3::UnitZ()).toRotationMatrix()));
  const Manifold corner =
      collide_manifold(box, Pose(), box, Pose(on_corner, Vec3(0.1, 0.2, 1.0 + std::sqrt(3.0) - 1e-3)), 0.0, workspace);
  ASSERT_EQ(corner.count, 1);
  EXPECT_EQ(corner.active.A, face_name(4));
  EXPECT_EQ(corner.active.B, vertex_name(0));
  EXPECT_NEAR(corner.points[0].distance, -1e-3, 1e-12);
  // Two edges across: both boxes turned by 45 degrees, about x and about y.
  const auto about = [](const Vector3& axis) {
    return Mat3(Matrix3(Eigen::AngleAxisd(0.25 * kPi, axis).toRotationMatrix()));
  };
  const Manifold crossing =
      collide_manifold(box, Pose(about(Vector3::UnitX()), Vec3()), box,
                       Pose(about(Vector3::UnitY()), Vec3(0.1, 0.2, 2.0 * std::sqrt(2.0) - 1e-3)), 0.0, workspace);
  ASSERT_EQ(crossing.count, 1);
  EXPECT_EQ(crossing.active.A.type, FeatureType::kEdge);
  EXPECT_EQ(crossing.active.B.type, FeatureType::kEdge);
  EXPECT_NEAR(crossing.points[0].distance, -1e-3, 1e-12);
  EXPECT_NEAR(crossing.points[0].point_A.x(), 0.1, 1e-9);
  EXPECT_NEAR(crossing.points[0].point_A.y(), 0.0, 1e-9);
}

// Faces are whole polygons: Euler's formula, normals, and every vertex knows its faces.
TEST(Polytope, FacesAreMerged) {
  Random random(13);
  const auto check = [](const Polytope& p, int faces) {
    EXPECT_EQ(static_cast<int>(p.face_normals.size()), faces);
    for (std::size_t f = 0; f < p.face_normals.size(); ++f) {
      const auto first = static_cast<std::size_t>(p.first_face_vertex[f]);
      const auto last = static_cast<std::size_t>(p.first_face_vertex[f + 1]);
      ASSERT_GE(last - first, 3u);
      EXPECT_NEAR(norm(p.face_normals[f]), 1.0, 1e-14);
      const double offset = dot(p.face_normals[f], p.vertices[static_cast<std::size_t>(p.face_vertices[first])]);
      for (const Vec3& v : p.vertices) EXPECT_LE(dot(p.face_normals[f], v), offset + 1e-6);
      for (std::size_t k = first; k < last; ++k) {
        const int a = p.face_vertices[k], b = p.face_vertices[k + 1 == last ? first : k + 1];
        const Vec3 va = p.vertices[static_cast<std::size_t>(a)], vb = p.vertices[static_cast<std::size_t>(b)];
        EXPECT_NEAR(dot(p.face_normals[f], va), offset, 1e-6);
        for (std::size_t m = first; m < last; ++m) {  // all others lie to the left
          const Vec3 vm = p.vertices[static_cast<std::size_t>(p.face_vertices[m])];
          EXPECT_GE(dot(cross(vb - va, vm - va), p.face_normals[f]), -1e-9);
        }
        const auto begin = p.vertex_faces.begin() + p.first_vertex_face[static_cast<std::size_t>(a)];
        const auto end = p.vertex_faces.begin() + p.first_vertex_face[static_cast<std::size_t>(a) + 1];
        EXPECT_NE(std::find(begin, end, static_cast<int>(f)), end);
      }
    }
  };
  for (int i = 0; i < 50; ++i) {
    std::vector<Vector3> points = test::moved(test::box_points({1, 2, 3}), test::random_pose(random, 1.0));
    check(*ConvexShape::polytope(points).polytope(), 6);
    for (Vector3& p : points) p = p.cast<float>().cast<double>();  // as files store them
    check(*ConvexShape::polytope(points).polytope(), 6);
  }
  std::vector<Vector3> prism;  // a 24-sided prism with points inside of its faces
  for (int k = 0; k < 24; ++k) {
    const double angle = 2.0 * kPi * k / 24;
    for (const double z : {-1.0, 0.0, 1.0}) prism.emplace_back(std::cos(angle), std::sin(angle), z);
  }
  prism.emplace_back(0.1, 0.1, 1.0);
  check(*ConvexShape::polytope(prism).polytope(), 26);
  const ConvexShape ball = ConvexShape::polytope(test::random_points(random, 200, 1.0));
  check(*ball.polytope(), static_cast<int>(ball.polytope()->triangles.size()));
  check(*ConvexShape::polytope({{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0.5, 0.5, 0}}).polytope(), 2);
}

TEST(Manifold, BadPosesAreAStatus) {
  QueryWorkspace workspace;
  const ConvexShape box = ConvexShape::box({1, 1, 1});
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e200}) {
    const Manifold m = collide_manifold(box, Pose(), box, Pose(Mat3::identity(), Vec3(0, 0, bad)), 1.0, workspace);
    EXPECT_EQ(m.status, QueryStatus::kInvalid);
    EXPECT_EQ(m.count, 0);
  }
  const ConvexShape ground = ConvexShape::half_space();
  EXPECT_EQ(collide_manifold(ground, Pose(), ground, Pose(), 1.0, workspace).count, 0);
}

TEST(Manifold, NothingIsAllocated) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  Random random(14);
  QueryWorkspace workspace;
  QueryCache cache;
  std::vector<RestingPair> pairs;
  for (int a = 0; a < test::kShapeKinds; ++a) {
    for (int b = 0; b < test::kShapeKinds; ++b) pairs.push_back(resting_pair(random, a, b));
  }
  int total = 0;
  const test::AllocationGuard guard;
  for (const RestingPair& pair : pairs) {
    total += collide_manifold(pair.A, pair.X_WA, pair.B, pair.X_WB, 5e-3, workspace, {}, &cache).count;
  }
  EXPECT_EQ(guard.allocations(), 0u);
  EXPECT_GT(total, 100);
}

}  // namespace
}  // namespace touchstone
