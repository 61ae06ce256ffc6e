#include "touchstone/math/so3.hpp"

#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>
#include <Eigen/Geometry>

namespace touchstone {
namespace {

using std::numbers::pi;

class So3Test : public ::testing::Test {
 protected:
  Vector3 direction() {
    return Vector3(distribution_(random_), distribution_(random_), distribution_(random_)).normalized();
  }
  std::mt19937 random_{6};
  std::normal_distribution<double> distribution_;
};

// The same rotation, whatever the sign of the quaternion.
double distance(const Quaternion& a, const Quaternion& b) {
  return std::min((a.coeffs() - b.coeffs()).norm(), (a.coeffs() + b.coeffs()).norm());
}

const double kAngles[] = {0.0,  1e-300, 1e-20, 1e-12, 1e-9, 1e-8, 1.1e-8,    1e-5,      0.99e-4,    1e-4,      1.1e-4,
                          1e-2, 0.5,    1.0,   2.0,   3.0,  3.14, pi - 1e-6, pi - 1e-9, pi - 1e-13, pi - 1e-15};

TEST_F(So3Test, ExpAsAngleAxis) {
  for (const double angle : kAngles) {
    const Vector3 axis = direction();
    const Quaternion q = so3_exp(angle * axis);
    EXPECT_LE(distance(q, Quaternion(Eigen::AngleAxisd(angle, axis))), 1e-15) << angle;
    EXPECT_NEAR(q.norm(), 1.0, 1e-15);
  }
  const Vector3 axis = direction();
  EXPECT_LE(distance(so3_exp(7.0 * axis), so3_exp((7.0 - 2.0 * pi) * axis)), 1e-14);
}

TEST_F(So3Test, LogUndoesExp) {
  for (const double angle : kAngles) {
    const Vector3 w = angle * direction();
    EXPECT_LE((so3_log(so3_exp(w)) - w).norm(), 1e-15 + 4e-15 * angle) << angle;
  }
}

// Relative accuracy near zero is what integration with tiny steps lives on.
TEST_F(So3Test, SmallRotationsKeepTheirDigits) {
  for (const double angle : {1e-300, 1e-20, 1e-12, 1e-9, 1e-8, 1.1e-8, 1e-5, 1e-4}) {
    const Vector3 w = angle * direction();
    EXPECT_LE((so3_log(so3_exp(w)) - w).norm(), 1e-14 * angle) << angle;
  }
}

TEST_F(So3Test, LogTakesTheShorterWay) {
  for (int i = 0; i < 50; ++i) {
    const Quaternion q = so3_exp(3.0 * direction());
    const Quaternion negative(-q.coeffs());
    EXPECT_LE((so3_log(q) - so3_log(negative)).norm(), 1e-15);
  }
  EXPECT_EQ(so3_log(Quaternion::Identity()), Vector3::Zero());
  EXPECT_EQ(so3_log(Quaternion(-1, 0, 0, 0)), Vector3::Zero());
  EXPECT_NEAR(so3_log(Quaternion(0, 0, 1, 0)).norm(), pi, 1e-15);
}

TEST_F(So3Test, SkewIsTheCrossProduct) {
  const Vector3 a = direction(), b = direction();
  EXPECT_LE((skew(a) * b - a.cross(b)).norm(), 1e-15);
  EXPECT_TRUE((skew(a) + skew(a).transpose()).isZero());
}

TEST_F(So3Test, RotationFromZ) {
  for (int i = 0; i < 50; ++i) {
    const Vector3 d = direction();
    const Quaternion q = rotation_from_z(0.01 * d);
    EXPECT_LE((q * Vector3::UnitZ() - d).norm(), 1e-15);
    EXPECT_NEAR(so3_log(q).z(), 0.0, 1e-14);  // the shortest arc does not turn about z
  }
  EXPECT_LE(distance(rotation_from_z({0, 0, 5}), Quaternion::Identity()), 1e-15);
  EXPECT_LE((rotation_from_z({0, 0, -2}) * Vector3::UnitZ() + Vector3::UnitZ()).norm(), 1e-15);
  EXPECT_LE((rotation_from_z({1e-9, 0, -1}) * Vector3::UnitZ() - Vector3(1e-9, 0, -1)).norm(), 1e-15);
}

TEST_F(So3Test, InterpolatesUniformlyAlongTheShortestArc) {
  for (int i = 0; i < 50; ++i) {
    const Quaternion a = so3_exp(3.0 * direction());
    const Vector3 w = 2.5 * direction();
    Quaternion b = a * so3_exp(w);
    if (i % 2) b.coeffs() = -b.coeffs();
    for (const double s : {0.0, 0.25, 0.5, 1.0}) {
      EXPECT_LE(distance(so3_interpolate(a, b, s), a * so3_exp(s * w)), 1e-14);
      EXPECT_LE(distance(so3_interpolate(a, b, s), a.slerp(s, b)), 1e-14);
    }
  }
}

}  // namespace
}  // namespace touchstone
