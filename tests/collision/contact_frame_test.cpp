#include "touchstone/collision/manifold/contact_frame.hpp"

#include <gtest/gtest.h>

#include "collision/collision_support.hpp"

namespace touchstone {
namespace {

using test::Random;

void expect_frame(const Mat3& F, Vec3 normal) {
  EXPECT_LT(norm(F.c2 - normal), 1e-15);
  EXPECT_NEAR(norm(F.c0), 1.0, 1e-14);
  EXPECT_NEAR(norm(F.c1), 1.0, 1e-14);
  EXPECT_LT(norm(cross(F.c0, F.c1) - F.c2), 1e-14);
  EXPECT_NEAR(dot(F.c0, F.c2), 0.0, 1e-14);
}

TEST(ContactFrame, IsOrthonormalAndRightHanded) {
  Random random(1);
  for (int i = 0; i < 10000; ++i) {
    const Vec3 normal(test::random_unit(random));
    expect_frame(contact_frame(normal), normal);
    expect_frame(contact_frame(normal, Vec3(test::random_unit(random))), normal);
    expect_frame(contact_frame(normal, normal), normal);
    expect_frame(contact_frame(normal, Vec3()), normal);
  }
  const Mat3 up = contact_frame(Vec3(0, 0, 1));
  EXPECT_LT(norm(up.c0 - Vec3(1, 0, 0)), 1e-15);
  EXPECT_LT(norm(up.c1 - Vec3(0, 1, 0)), 1e-15);
  const Vec3 exception(-0.48, -0.64, -0.6);
  expect_frame(contact_frame(exception), exception);
  for (double angle = 1e-16; angle < 1.0; angle *= 3.0) {
    const Vec3 t = perpendicular(exception);
    const Vec3 near = std::cos(angle) * exception + std::sin(angle) * t;
    const Vec3 unit = near * (1.0 / norm(near));
    const Mat3 F = contact_frame(unit);
    EXPECT_NEAR(dot(F.c0, F.c2), 0.0, 1e-12) << angle;
    EXPECT_LT(norm(cross(F.c0, F.c1) - F.c2), 1e-12) << angle;
  }
}

// The turning rate of the frame is at most that of the normal times 1 + tan(angle from home / 2).
TEST(ContactFrame, IsContinuousAwayFromOnePoint) {
  Random random(2);
  constexpr double kStep = 1e-6;
  for (int i = 0; i < 10000; ++i) {
    const Vec3 normal(test::random_unit(random));
    const Vec3 other_raw = normal + kStep * Vec3(test::random_unit(random));
    const Vec3 other = other_raw * (1.0 / norm(other_raw));
    const double cosine = dot(normal, Vec3(0.48, 0.64, 0.6));
    if (cosine < -0.999) continue;  // within 2.6 degrees of the exception
    const double rate = 1.0 + std::sqrt((1.0 - cosine) / (1.0 + cosine));
    EXPECT_LT(norm(contact_frame(normal).c0 - contact_frame(other).c0), 1.1 * rate * kStep);
  }
  for (int axis = 0; axis < 3; ++axis) {  // the common normals are far from it
    for (const double sign : {-1.0, 1.0}) {
      Vec3 normal;
      normal.lanes[axis] = sign;
      EXPECT_GT(dot(normal, Vec3(0.48, 0.64, 0.6)), -0.65);
    }
  }
}

TEST(ContactFrame, FollowsATrajectoryWithAHint) {
  Random random(3);
  for (int run = 0; run < 20; ++run) {  // great circles, two of them through the exception
    const Vec3 start = run < 2 ? Vec3(-0.48, -0.64, -0.6) : Vec3(test::random_unit(random));
    const Mat3 F = contact_frame(start);
    Vec3 t1 = F.c0;
    constexpr int kSteps = 1000;
    for (int k = 1; k <= kSteps; ++k) {
      const double angle = 6.283185307179586 * k / kSteps;
      const Vec3 normal = std::cos(angle) * start + std::sin(angle) * F.c1;
      const Mat3 next = contact_frame(normal, t1);
      EXPECT_LT(norm(next.c0 - t1), 6.3e-3);
      t1 = next.c0;
    }
    EXPECT_LT(norm(t1 - F.c0), 1e-12);  // parallel transport around a great circle
  }
}

// t1 is y, or z where |n_y| >= 1/2, less its part along the normal.
TEST(MujocoContactFrame, FollowsYOrZ) {
  Random random(4);
  for (int i = 0; i < 10000; ++i) {
    const Vec3 n(test::random_unit(random));
    const Mat3 F = mujoco_contact_frame(n);
    expect_frame(F, n);
    const Vec3 towards = std::abs(n.y()) < 0.5 ? Vec3(0, 1, 0) : Vec3(0, 0, 1);
    EXPECT_NEAR(dot(F.c0, towards), std::sqrt(1.0 - dot(n, towards) * dot(n, towards)), 1e-14);
    EXPECT_LT(norm(mujoco_contact_frame(-n).c0 - F.c0), 1e-15) << "the cone does not depend on the order of shapes";
  }
  const Mat3 up = mujoco_contact_frame(Vec3(0, 0, 1));
  EXPECT_LT(norm(up.c0 - Vec3(0, 1, 0)) + norm(up.c1 - Vec3(-1, 0, 0)), 1e-15);
}

TEST(MujocoContactFrame, FollowsTheAxisOfACapsule) {
  Random random(5);
  for (int i = 0; i < 10000; ++i) {
    const Vec3 n(test::random_unit(random)), axis(test::random_unit(random));
    const Mat3 F = mujoco_contact_frame(n, axis);
    expect_frame(F, n);
    EXPECT_NEAR(dot(F.c1, axis), 0.0, 1e-14);
    EXPECT_GT(dot(F.c0, axis), 0.0);
    expect_frame(mujoco_contact_frame(n, n), n);
    expect_frame(mujoco_contact_frame(n, -n), n);
  }
  EXPECT_LT(norm(mujoco_contact_frame(Vec3(0, 0, 1), Vec3(0, 0, 1)).c0 - Vec3(1, 0, 0)), 1e-15);
  EXPECT_LT(norm(mujoco_contact_frame(Vec3(1, 0, 0), Vec3(-1, 0, 0)).c0 - Vec3(0, 1, 0)), 1e-15);
}

}  // namespace
}  // namespace touchstone
