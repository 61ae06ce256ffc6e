#include "touchstone/collision/derivatives/collision_derivatives.hpp"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "collision/collision_support.hpp"
#include "support/allocation_guard.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/collision/manifold/contact_frame.hpp"
#include "touchstone/math/so3.hpp"

namespace touchstone::test {
namespace {

// Distance, normal, both points and t1 of the contact frame, as one vector.
using Answer = Eigen::Matrix<double, 13, 1>;

Answer answer_of(const ContactResult& c) {
  Answer a;
  a[0] = c.distance;
  a.segment<3>(1) = c.normal.eigen();
  a.segment<3>(4) = c.point_A.eigen();
  a.segment<3>(7) = c.point_B.eigen();
  a.segment<3>(10) = contact_frame(c.normal).c0.eigen();
  return a;
}

Answer column_of(const PoseDerivatives& d, const ContactResult& c, int k) {
  Answer a;
  a[0] = d.distance[k];
  a.segment<3>(1) = d.normal.col(k);
  a.segment<3>(4) = d.point_A.col(k);
  a.segment<3>(7) = d.point_B.col(k);
  a.segment<3>(10) = Vector3(d.turn.col(k)).cross(contact_frame(c.normal).c0.eigen());
  return a;
}

Answer column_of(const ShapeDerivative& d, const ContactResult& c) {
  Answer a;
  a[0] = d.distance;
  a.segment<3>(1) = d.normal.eigen();
  a.segment<3>(4) = d.point_A.eigen();
  a.segment<3>(7) = d.point_B.eigen();
  a.segment<3>(10) = cross(d.turn, contact_frame(c.normal).c0).eigen();
  return a;
}

Pose moved(const Pose& X, int column, double way) {
  Vector3 turn = Vector3::Zero(), shift = Vector3::Zero();
  (column < 3 ? shift : turn)[column % 3] = way;
  return {Mat3(so3_exp(turn).toRotationMatrix()) * X.R, X.p + Vec3(shift)};
}

struct Compared {
  int pairs = 0, columns = 0, kept = 0, unrefined = 0;
  double worst = 0.0;
  std::map<std::pair<SupportKind, SupportKind>, int> kinds;
};

// Central differences with Richardson's extrapolation; false where the features are others at one of the ends, or
// where two sizes of differences disagree: a kink lies between.
template <typename Query>
bool differences(const Query& query, const CollisionDerivatives& here, double h, Answer& out) {
  bool holds = true;
  const auto at = [&](double t) {
    const CollisionDerivatives d = query(t);
    holds = holds && d.valid && d.refined && d.kind_A == here.kind_A && d.kind_B == here.kind_B &&
            dot(d.contact.normal, here.contact.normal) > 0.9;
    return answer_of(d.contact);
  };
  const Answer coarse = (at(h) - at(-h)) / (2.0 * h), fine = (at(0.5 * h) - at(-0.5 * h)) / h;
  out = (4.0 * fine - coarse) / 3.0;
  return holds && (coarse - fine).cwiseAbs().maxCoeff() < 1e-3 * (1.0 + out.cwiseAbs().maxCoeff());
}

void expect_close(const Answer& actual, const Answer& expected, const std::string& what, Compared& compared) {
  ++compared.kept;
  const double error = (actual - expected).cwiseAbs().maxCoeff() / std::max(1.0, expected.cwiseAbs().maxCoeff());
  compared.worst = std::max(compared.worst, error);
  EXPECT_LT(error, 1e-6) << what << "\nactual   " << actual.transpose() << "\nexpected " << expected.transpose();
}

constexpr double kWay = 2e-5;

void compare_poses(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                   const std::string& what, Compared& compared) {
  CollisionDifferentiator differentiate;
  const CollisionDerivatives d = differentiate(A, X_WA, B, X_WB);
  ++compared.pairs;
  if (!d.refined || !d.valid) {
    ++compared.unrefined;
    return;
  }
  ++compared.kinds[{d.kind_A, d.kind_B}];
  if (!d.unique) return;
  for (int k = 0; k < 12; ++k) {
    Answer expected;
    ++compared.columns;
    const auto query = [&](double t) {
      return differentiate(A, k < 6 ? moved(X_WA, k, t) : X_WA, B, k < 6 ? X_WB : moved(X_WB, k - 6, t));
    };
    if (!differences(query, d, kWay, expected)) continue;
    expect_close(column_of(k < 6 ? d.by_A : d.by_B, d.contact, k % 6), expected, what + " " + std::to_string(k),
                 compared);
    if (testing::Test::HasFailure()) return;
  }
}

// A pair of two kinds whose surfaces are `gap` apart.
void place(Random& random, const ConvexShape& A, const ConvexShape& B, double gap, Pose& X_WA, Pose& X_WB) {
  X_WA = random_pose(random, 1.0);
  const Vec3 way(random_unit(random));
  X_WB = Pose(Transform{Vector3::Zero(), random_rotation(random)});
  QueryWorkspace workspace;
  X_WB.p = X_WA.p + 6.0 * way;
  for (int k = 0; k < 3; ++k) {  // towards each other, along the normal
    const ContactResult c = collide(A, X_WA, B, X_WB, workspace);
    if (!c.valid()) return;
    X_WB.p -= (c.distance - gap) * c.normal;
  }
}

TEST(CollisionDerivatives, ByPosesOfAllPairs) {
  Random random(7);
  Compared all;
  for (int i = 0; i < kShapeKinds; ++i) {
    for (int j = 0; j < kShapeKinds - (i == kShapeKinds - 1 ? 1 : 0); ++j) {
      for (const double gap : {0.3, 1e-3, -0.02, -0.1}) {
        for (int trial = 0; trial < 3; ++trial) {
          const ConvexShape A = random_shape(random, i), B = random_shape(random, j);
          Pose X_WA, X_WB;
          place(random, A, B, gap, X_WA, X_WB);
          compare_poses(A, X_WA, B, X_WB,
                        "shapes " + std::to_string(i) + " " + std::to_string(j) + " gap " + std::to_string(gap), all);
          if (HasFailure()) return;
        }
      }
    }
  }
  RecordProperty("worst", std::to_string(all.worst));
  RecordProperty("pairs", all.pairs);
  RecordProperty("unrefined", all.unrefined);
  EXPECT_LE(all.unrefined, all.pairs / 50);
  EXPECT_GE(all.kept, all.columns * 95 / 100) << all.columns;
  EXPECT_GE(all.kinds.size(), 20u);
}

// --- sizes, margins, corners ---

// A shape by its numbers: sizes, margin, and the points of a hull.
struct Numbers {
  int kind = 0;
  Vector3 size = Vector3::Zero();
  double margin = 0.0;
  std::vector<Vector3> points{};

  ConvexShape make() const {
    switch (kind) {
      case 0:
        return ConvexShape::sphere(size[0] + margin);
      case 1:
        return ConvexShape::capsule(size[0] + margin, size[1]);
      case 2:
        return ConvexShape::box(size, margin);
      case 3:
        return ConvexShape::ellipsoid(size, margin);
      case 4:
        return ConvexShape::cylinder(size[0], size[1], margin);
      case 5:
        return ConvexShape::cone(size[0], size[1], margin);
      default:
        return ConvexShape::polytope(points, margin);
    }
  }
  static constexpr int kKinds = 7;
};

Numbers random_numbers(Random& random, int kind) {
  Numbers n{kind, random_sizes(random, 0.2, 1.0), uniform(random, 0.0, 0.1)};
  if (kind == Numbers::kKinds - 1) n.points = random_points(random, 12, 1.0);
  return n;
}

Numbers changed(Numbers n, const ConvexShape& made, const ShapeDerivative& p, double way) {
  if (p.kind == ShapeDerivative::Kind::kSize) n.size[p.index] += way;
  if (p.kind == ShapeDerivative::Kind::kMargin) n.margin += way;
  if (p.kind != ShapeDerivative::Kind::kVertex) return n;
  const Vector3 vertex = made.polytope()->vertices[static_cast<std::size_t>(p.index)].eigen();
  for (Vector3& q : n.points) {
    if ((q - vertex).norm() < 1e-12) q[p.axis] += way;
  }
  return n;
}

TEST(CollisionDerivatives, BySizesMarginsAndVertices) {
  Random random(8);
  Compared all;
  std::map<ShapeDerivative::Kind, int> seen;
  for (int i = 0; i < Numbers::kKinds; ++i) {
    for (int j = 0; j < Numbers::kKinds; ++j) {
      for (const double gap : {0.2, -0.05}) {
        const Numbers a = random_numbers(random, i), b = random_numbers(random, j);
        const ConvexShape A = a.make(), B = b.make();
        Pose X_WA, X_WB;
        place(random, A, B, gap, X_WA, X_WB);
        CollisionDifferentiator differentiate;
        const CollisionDerivatives d = differentiate(A, X_WA, B, X_WB);
        if (!d.valid || !d.refined || !d.unique) continue;
        ++all.pairs;
        for (int k = 0; k < d.parameters; ++k) {
          const ShapeDerivative& p = d.by_shape[static_cast<std::size_t>(k)];
          Answer expected;
          ++all.columns;
          const auto query = [&](double t) {
            const ConvexShape A_t = p.of_B ? A : changed(a, A, p, t).make();
            const ConvexShape B_t = p.of_B ? changed(b, B, p, t).make() : B;
            return differentiate(A_t, X_WA, B_t, X_WB);
          };
          if (!differences(query, d, kWay, expected)) continue;
          ++seen[p.kind];
          expect_close(column_of(p, d.contact), expected,
                       "shapes " + std::to_string(i) + " " + std::to_string(j) + " parameter " + std::to_string(k),
                       all);
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GE(all.pairs, 90);
  EXPECT_GE(all.kept, all.columns * 95 / 100) << all.columns;
  EXPECT_EQ(seen.size(), 3u);
}

TEST(CollisionDerivatives, OfSpheresInClosedForm) {
  const ConvexShape A = ConvexShape::sphere(0.3), B = ConvexShape::sphere(0.2);
  CollisionDifferentiator differentiate;
  const CollisionDerivatives d = differentiate(A, Pose(), B, {Mat3::identity(), {0, 0, 0.8}});
  ASSERT_TRUE(d.valid);
  EXPECT_NEAR(d.by_B.distance[2], 1.0, 1e-15);
  EXPECT_NEAR(d.by_B.normal(0, 0), 1.0 / 0.8, 1e-15);
  EXPECT_NEAR(d.by_B.point_A(1, 1), 0.3 / 0.8, 1e-15);
  EXPECT_NEAR(d.by_B.point_B(1, 1), 0.6 / 0.8, 1e-15);
  EXPECT_EQ(d.by_B.normal.rightCols<3>().cwiseAbs().maxCoeff(), 0.0);
}

// Two faces on each other: the normal follows that of A, and the answer says that it is one-sided.
TEST(CollisionDerivatives, OfAFaceOnAFaceSaysSo) {
  const ConvexShape A = ConvexShape::box({1, 1, 0.1}), B = ConvexShape::box({0.2, 0.2, 0.2});
  CollisionDifferentiator differentiate;
  const CollisionDerivatives d = differentiate(A, Pose(), B, {Mat3::identity(), {0.1, 0.2, 0.31}});
  ASSERT_TRUE(d.valid);
  EXPECT_NEAR(d.by_B.distance[2], 1.0, 1e-12);
  EXPECT_LT(d.by_B.normal.cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_NEAR(d.by_A.normal(1, 3), -1.0, 1e-12);
}

// --- smoothing ---

std::vector<Vector3> points_of_ellipsoid(Random& random, const Vector3& size, int count) {
  std::vector<Vector3> points;
  for (int i = 0; i < count; ++i) points.push_back(size.cwiseProduct(random_unit(random)));
  return points;
}

// A hull of many points has no curvature; smoothed it has that of the ellipsoid it stands for.
TEST(SmoothedCurvature, OfAFineHullIsThatOfTheSurface) {
  Random random(9);
  const Vector3 size(0.5, 0.4, 0.3);
  const ConvexShape smooth = ConvexShape::ellipsoid(size);
  const ConvexShape hull = ConvexShape::polytope(points_of_ellipsoid(random, size, 4000));
  GaussianSamples samples;
  samples.prepare(2, 400, 1);
  Neighbourhood scratch;
  double mean = 0.0;  // of the relative errors of the Gumbel noise: it counts the vertices that there happen to be
  for (int i = 0; i < 20; ++i) {
    const Vec3 n(random_unit(random));
    const Matrix3 expected = find_local_support(smooth, n, {}, 0.0).curvature;
    const Matrix3 gaussian = gaussian_curvature(hull, n, 0.15, samples);
    Matrix3 gumbel;
    ASSERT_TRUE(gumbel_curvature(hull, n, 2e-2, 12, scratch, gumbel));
    EXPECT_LT((gaussian - expected).norm(), 0.2 * expected.norm()) << i;
    EXPECT_LT((gumbel - expected).norm(), 0.4 * expected.norm()) << i;
    mean += (gumbel - expected).norm() / expected.norm() / 20.0;
    EXPECT_LT((gumbel * n.eigen()).norm() + (gaussian * n.eigen()).norm(), 1e-12);
  }
  EXPECT_LT(mean, 0.2);
}

// Of a smooth function the zeroth order is a difference: as good as its noise is small.
TEST(CollisionDerivatives, OfZerothOrderAgreeOnSmoothPairs) {
  Random random(10);
  CollisionDifferentiator differentiate;
  CollisionDerivativeOptions options;
  options.method = CollisionGradient::kZerothOrder;
  options.noise = 1e-3;
  options.samples = 60;
  for (int i = 0; i < 20; ++i) {
    const ConvexShape A = random_shape(random, 3), B = random_shape(random, 3);
    Pose X_WA, X_WB;
    place(random, A, B, i % 2 == 0 ? 0.2 : -0.05, X_WA, X_WB);
    const CollisionDerivatives exact = differentiate(A, X_WA, B, X_WB),
                               zeroth = differentiate(A, X_WA, B, X_WB, options);
    ASSERT_TRUE(exact.valid && zeroth.valid);
    const double scale = exact.by_B.point_A.norm();
    EXPECT_LT((exact.by_B.point_A - zeroth.by_B.point_A).norm(), 0.02 * scale) << i;
    EXPECT_LT((exact.by_A.point_B - zeroth.by_A.point_B).norm(), 0.02 * exact.by_A.point_B.norm()) << i;
    EXPECT_LT((exact.by_B.distance - zeroth.by_B.distance).norm(), 0.02) << i;
  }
}

// Of hulls all estimators are finite, and along the normal they agree: the distance is smooth there.
TEST(CollisionDerivatives, OfHullsBySmoothingAreUsable) {
  Random random(11);
  CollisionDifferentiator differentiate;
  for (int i = 0; i < 60; ++i) {
    const ConvexShape A = random_shape(random, i % 2 == 0 ? 6 : 2), B = random_shape(random, i % 3 == 0 ? 4 : 6);
    Pose X_WA, X_WB;
    place(random, A, B, i % 4 < 2 ? 0.1 : -0.05, X_WA, X_WB);
    for (const char* name : {"zeroth-order", "gaussian", "gumbel"}) {
      CollisionDerivativeOptions options;
      options.method = collision_gradient_named(name);
      const CollisionDerivatives d = differentiate(A, X_WA, B, X_WB, options);
      ASSERT_TRUE(d.valid) << name << i;
      const Eigen::Matrix<double, 1, 3> along = d.by_B.distance.leftCols<3>();
      const bool is_first = options.method != CollisionGradient::kZerothOrder;
      // Noise on the pose changes which faces are nearest of shapes that overlap: a mean of normals.
      const double bound_along = is_first ? 1e-9 : d.contact.distance > 0.0 ? 0.3 : 0.7;
      EXPECT_LT((along - d.contact.normal.eigen().transpose()).norm(), bound_along) << name << i;
      // Both points together move with both shapes.
      const Matrix3 sum = d.by_A.point_A.leftCols<3>() + d.by_B.point_A.leftCols<3>();
      EXPECT_LT((sum - Matrix3::Identity()).norm(), 1e-9) << name << i;
      EXPECT_TRUE(d.by_B.point_B.allFinite());
      const double bound = 4.0 * (A.extent() + B.extent()) / std::max(0.05, std::abs(d.contact.distance));
      EXPECT_LT(d.by_B.normal.norm(), bound) << name << i;
    }
  }
}

TEST(CollisionDerivatives, AreTheSameForTheSameSeedAndTakeNoMemory) {
  Random random(12);
  const ConvexShape A = random_shape(random, 6), B = random_shape(random, 6);
  Pose X_WA, X_WB;
  place(random, A, B, 0.1, X_WA, X_WB);
  CollisionDifferentiator one, two;
  for (const char* name : {"exact", "zeroth-order", "gaussian", "gumbel"}) {
    CollisionDerivativeOptions options;
    options.method = collision_gradient_named(name);
    const CollisionDerivatives first = one(A, X_WA, B, X_WB, options), other = two(A, X_WA, B, X_WB, options);
    EXPECT_EQ(first.by_B.point_B, other.by_B.point_B);
    const AllocationGuard guard;
    EXPECT_EQ(one(A, X_WA, B, X_WB, options).by_B.point_B, first.by_B.point_B);
    EXPECT_TRUE(!AllocationGuard::available() || guard.allocations() == 0) << name;
  }
}

TEST(CollisionDerivatives, RefuseOptionsThatMeanNothing) {
  const ConvexShape A = ConvexShape::sphere(1.0);
  CollisionDifferentiator differentiate;
  const Pose there(Mat3::identity(), {3, 0, 0});
  CollisionDerivativeOptions options;
  options.method = CollisionGradient::kZerothOrder;
  options.noise = 0.0;
  EXPECT_THROW(differentiate(A, Pose(), A, there, options), Error);
  options.noise = 0.1;
  options.samples = 1;
  EXPECT_THROW(differentiate(A, Pose(), A, there, options), Error);
  EXPECT_THROW(collision_gradient_named("best"), Error);
  // Spheres with one centre have no normal.
  EXPECT_FALSE(differentiate(A, Pose(), A, Pose()).valid);
}

}  // namespace
}  // namespace touchstone::test
