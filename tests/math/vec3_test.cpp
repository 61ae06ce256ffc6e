#include "touchstone/math/vec3.hpp"

#include <random>

#include <gtest/gtest.h>

namespace touchstone {
namespace {

constexpr double kTolerance = 1e-14;

class Vec3Test : public ::testing::Test {
 protected:
  double number() { return distribution_(random_); }
  Vector3 vector() { return {number(), number(), number()}; }
  Matrix3 matrix() {
    return Matrix3::NullaryExpr([&] { return number(); });
  }
  Transform pose() { return {vector(), Quaternion(number(), number(), number(), number()).normalized()}; }

  static void expect_equal(Vec3 a, const Vector3& b) {
    EXPECT_LE((a.eigen() - b).norm(), kTolerance * (1.0 + b.norm()));
    EXPECT_EQ(a.lanes[3], 0.0);  // the invariant
  }
  static void expect_equal(const Mat3& a, const Matrix3& b) {
    expect_equal(a.c0, b.col(0));
    expect_equal(a.c1, b.col(1));
    expect_equal(a.c2, b.col(2));
    EXPECT_LE((a.eigen() - b).norm(), kTolerance * (1.0 + b.norm()));
  }

  std::mt19937 random_{4};
  std::uniform_real_distribution<double> distribution_{-2.0, 2.0};
};

TEST_F(Vec3Test, ArithmeticAsEigen) {
  for (int i = 0; i < 50; ++i) {
    const Vector3 a = vector(), b = vector();
    const double s = number();
    const Vec3 u(a), v(b);
    expect_equal(u + v, a + b);
    expect_equal(u - v, a - b);
    expect_equal(-u, -a);
    expect_equal(u * s, a * s);
    expect_equal(s * u, a * s);
    expect_equal(cross(u, v), a.cross(b));
    EXPECT_NEAR(dot(u, v), a.dot(b), kTolerance);
    Vec3 w = u;
    w += v;
    expect_equal(w, a + b);
    w -= u;
    expect_equal(w, b);
  }
}

TEST_F(Vec3Test, AccessAndDefaults) {
  const Vec3 v(1, 2, 3);
  EXPECT_EQ(v.x(), 1);
  EXPECT_EQ(v.y(), 2);
  EXPECT_EQ(v.z(), 3);
  EXPECT_EQ(v[2], 3);
  expect_equal(Vec3(), Vector3::Zero());
  expect_equal(Mat3(), Matrix3::Zero());
  expect_equal(Mat3::identity(), Matrix3::Identity());
}

TEST_F(Vec3Test, SumEach) {
  const Lanes a{1, 2, 3, 4}, b{10, 20, 30, 40}, c{100, 200, 300, 400}, d{1000, 2000, 3000, 4000};
  const Lanes sums = sum_each(a, b, c, d);
  EXPECT_EQ(sums[0], 10);
  EXPECT_EQ(sums[1], 100);
  EXPECT_EQ(sums[2], 1000);
  EXPECT_EQ(sums[3], 10000);
  EXPECT_EQ(sum(a), 10);
}

TEST_F(Vec3Test, MatricesAsEigen) {
  for (int i = 0; i < 50; ++i) {
    const Matrix3 A = matrix(), B = matrix();
    const Vector3 v = vector();
    expect_equal(Mat3(A) * Vec3(v), A * v);
    expect_equal(Mat3(A) * Mat3(B), A * B);
    expect_equal(transpose(Mat3(A)), A.transpose());
    expect_equal(transpose_times(Mat3(A), Vec3(v)), A.transpose() * v);
    Mat3 sum(A);
    sum += Mat3(B);
    expect_equal(sum, A + B);
  }
}

TEST_F(Vec3Test, PosesAsTransforms) {
  for (int i = 0; i < 50; ++i) {
    const Transform X = pose(), Y = pose();
    const Vector3 p = vector();
    expect_equal(Pose(X) * Vec3(p), X * p);
    expect_equal((Pose(X) * Pose(Y)) * Vec3(p), X * (Y * p));
    expect_equal((Pose(X) * Pose(Y)).p, (X * Y).position);
    expect_equal(Vec3(Pose(X).transform() * p), X * p);
    expect_equal(Vec3(X.inverse() * (X * p)), p);
  }
  expect_equal(Pose() * Vec3(1, 2, 3), Vector3(1, 2, 3));
}

}  // namespace
}  // namespace touchstone
