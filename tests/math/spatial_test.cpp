#include "touchstone/math/spatial.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>
#include <Eigen/Eigenvalues>

#include "touchstone/math/so3.hpp"

namespace touchstone {
namespace {

using Matrix6 = Eigen::Matrix<double, 6, 6>;

constexpr double kTolerance = 1e-13;

// Featherstone's vectors: angular above linear, torque above force.
Vector6 stack(const Motion& m) { return (Vector6() << m.angular.eigen(), m.linear.eigen()).finished(); }
Vector6 stack(const Force& f) { return (Vector6() << f.torque.eigen(), f.force.eigen()).finished(); }

// Matrix of v x on motions (Featherstone, eq. 2.31); that on forces is minus its transpose (eq. 2.32).
Matrix6 cross_matrix(const Motion& v) {
  Matrix6 m;
  m << skew(v.angular.eigen()), Matrix3::Zero(), skew(v.linear.eigen()), skew(v.angular.eigen());
  return m;
}

Matrix6 dense(const SpatialInertia& I) {
  Matrix6 m;
  m << I.moment.eigen(), skew(I.first.eigen()), -skew(I.first.eigen()), I.mass * Matrix3::Identity();
  return m;
}

class SpatialTest : public ::testing::Test {
 protected:
  double number() { return distribution_(random_); }
  Vector3 vector() { return {number(), number(), number()}; }
  Motion motion() { return {Vec3(vector()), Vec3(vector())}; }
  Force force() { return {Vec3(vector()), Vec3(vector())}; }
  Matrix3 rotation() { return so3_exp(2.0 * vector()).toRotationMatrix(); }
  BodyInertia body() {
    const Matrix3 A = Matrix3::NullaryExpr([&] { return number(); });
    return {Vec3(vector()), Mat3(A * A.transpose()), 1.0 + std::abs(number())};
  }

  static void expect_equal(const Vector6& a, const Vector6& b) {
    EXPECT_LE((a - b).norm(), kTolerance * (1.0 + b.norm()));
  }

  std::mt19937 random_{5};
  std::uniform_real_distribution<double> distribution_{-1.0, 1.0};
};

TEST_F(SpatialTest, SumsAndMultiples) {
  const Motion a = motion(), b = motion();
  const Force f = force(), g = force();
  expect_equal(stack(a + b), stack(a) + stack(b));
  expect_equal(stack(a * 3.0), 3.0 * stack(a));
  expect_equal(stack(f + g), stack(f) + stack(g));
  expect_equal(stack(f - g), stack(f) - stack(g));
  expect_equal(stack(f * 3.0), 3.0 * stack(f));
  Motion c = a;
  c += b;
  expect_equal(stack(c), stack(a + b));
  Force h = f;
  h += g;
  expect_equal(stack(h), stack(f + g));
}

TEST_F(SpatialTest, ProductsAsMatrices) {
  for (int i = 0; i < 50; ++i) {
    const Motion v = motion(), m = motion();
    const Force f = force();
    EXPECT_NEAR(dot(m, f), stack(m).dot(stack(f)), kTolerance);
    expect_equal(stack(cross(v, m)), cross_matrix(v) * stack(m));
    expect_equal(stack(cross(v, f)), -cross_matrix(v).transpose() * stack(f));
    // The product rule: (v x m) . f + m . (v x f) = 0.
    EXPECT_NEAR(dot(cross(v, m), f) + dot(m, cross(v, f)), 0.0, kTolerance);
  }
}

// Momentum of a rigid body from first principles: linear m v_c, angular about O: I w + c x m v_c.
TEST_F(SpatialTest, InertiaGivesMomentum) {
  for (int i = 0; i < 50; ++i) {
    const BodyInertia b = body();
    const Matrix3 R = rotation();
    const Vector3 c = vector();
    const Motion v = motion();
    const SpatialInertia I = world_inertia(b, Mat3(R), Vec3(c));
    const Force h = I * v;
    const Vector3 w = v.angular.eigen(), velocity = v.linear.eigen() + w.cross(c);
    const Vector3 spin = R * b.inertia.eigen() * R.transpose() * w;
    expect_equal(stack(h), (Vector6() << spin + c.cross(b.mass * velocity), b.mass * velocity).finished());
    expect_equal(stack(h), dense(I) * stack(v));
    EXPECT_LE((dense(I) - dense(I).transpose()).norm(), kTolerance);
    EXPECT_GT(dense(I).selfadjointView<Eigen::Lower>().eigenvalues().minCoeff(), 0.0);
    for (const Vec3& column : {I.moment.c0, I.moment.c1, I.moment.c2, I.first}) EXPECT_EQ(column.lanes[3], 0.0);
  }
}

TEST_F(SpatialTest, InertiasAddUp) {
  const SpatialInertia a = world_inertia(body(), Mat3(rotation()), Vec3(vector()));
  const SpatialInertia b = world_inertia(body(), Mat3(rotation()), Vec3(vector()));
  SpatialInertia sum = a;
  sum += b;
  EXPECT_LE((dense(sum) - dense(a) - dense(b)).norm(), kTolerance);
}

}  // namespace
}  // namespace touchstone
