#include "touchstone/model/pinocchio_layout.hpp"

#include <random>

#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/model/configuration.hpp"

namespace touchstone {
namespace {

int add_body(ModelBuilder& builder, const std::string& name, int parent, const Transform& pose = {}) {
  Body body;
  body.name = name;
  body.parent = parent;
  body.pose = pose;
  body.inertia = {1.0, Vector3::Zero(), Matrix3::Identity()};
  return builder.add_body(body);
}

Joint named(const std::string& name, int body, JointType type = JointType::kHinge) {
  Joint joint;
  joint.name = name;
  joint.body = body;
  joint.type = type;
  return joint;
}

const Transform kPlacement{Vector3(1, 2, 3), Quaternion(Eigen::AngleAxisd(0.7, Vector3(1, 2, 3).normalized()))};

// free, hinge, wheel (continuous), ball, slide, planar
ModelPtr make_model() {
  ModelBuilder builder;
  const int base = add_body(builder, "base", 0, kPlacement);
  builder.add_joint(named("free", base, JointType::kFree));
  const int a = add_body(builder, "a", base);
  builder.add_joint(named("hinge", a));
  const int b = add_body(builder, "b", a);
  builder.add_joint(named("wheel", b));
  const int c = add_body(builder, "c", b);
  builder.add_joint(named("ball", c, JointType::kBall));
  const int d = add_body(builder, "d", c);
  builder.add_joint(named("slide", d, JointType::kSlide));
  const int e = add_body(builder, "e", d);
  builder.add_planar_joint(named("planar", e));
  return builder.build();
}

const std::vector<std::string> kOrder{"planar", "free", "wheel", "slide", "ball", "hinge"};
const std::vector<bool> kContinuous{false, false, true, false, false, false};

struct Motion6 {
  Vector3 linear, angular;
};

// Pinocchio's free flyer: q = [p, xyzw].
Transform pose_of(const VectorX& q, int first) {
  return {q.segment<3>(first), Quaternion(q[first + 6], q[first + 3], q[first + 4], q[first + 5])};
}

// X^-1 dX/dt by central differences: the velocity in body axes.
Motion6 body_velocity(const Transform& before, const Transform& at, const Transform& after, double h) {
  const Matrix3 R = at.rotation.toRotationMatrix();
  const Matrix3 W =
      R.transpose() * (after.rotation.toRotationMatrix() - before.rotation.toRotationMatrix()) / (2.0 * h);
  return {R.transpose() * (after.position - before.position) / (2.0 * h), {W(2, 1), W(0, 2), W(1, 0)}};
}

class Layout : public ::testing::Test {
 protected:
  void SetUp() override {
    q.resize(model->nq);
    random_configuration(*model, random, q);
    v = VectorX::Random(model->nv);
    a = VectorX::Random(model->nv);
  }
  VectorX moved(double t) const {
    VectorX result(model->nq);
    integrate(*model, q, v + 0.5 * t * a, t, result);
    return result;
  }

  ModelPtr model = make_model();
  PinocchioLayout layout{*model, kOrder, kContinuous};
  std::mt19937_64 random{3};
  VectorX q, v, a;
};

TEST_F(Layout, HasPinocchiosSizes) {
  EXPECT_EQ(layout.nq(), 4 + 7 + 2 + 1 + 4 + 1);
  EXPECT_EQ(layout.nv(), model->nv);
  EXPECT_EQ(PinocchioLayout(*model).nq(), model->nq + 1) << "planar has cos and sin";
}

TEST_F(Layout, PermutesAndReordersConfigurations) {
  const VectorX p = layout.q_to_pinocchio(q);
  EXPECT_EQ(p[0], q[14]);
  EXPECT_EQ(p[2], std::cos(q[16]));
  EXPECT_EQ(p[3], std::sin(q[16]));
  EXPECT_EQ(p[11], std::cos(q[8]));
  EXPECT_EQ(p[12], std::sin(q[8]));
  EXPECT_EQ(p[13], q[13]);
  EXPECT_EQ(p[17], q[9]) << "w of the ball comes last";
  EXPECT_EQ(p[14], q[10]);
  EXPECT_EQ(p[18], q[7]);
}

TEST_F(Layout, AFreeJointIsMeasuredFromItsPlacement) {
  const VectorX p = layout.q_to_pinocchio(model->reference_q);
  EXPECT_LT(p.segment<3>(4).norm(), 1e-15);
  EXPECT_NEAR(p[10], 1.0, 1e-15);
  const Transform X = kPlacement * pose_of(layout.q_to_pinocchio(q), 4);
  EXPECT_TRUE(X.position.isApprox(q.segment<3>(0), 1e-14));
}

TEST_F(Layout, GoesThereAndBack) {
  for (int round = 0; round < 100; ++round) {
    random_configuration(*model, random, q);
    v = VectorX::Random(model->nv);
    VectorX gap(model->nv);
    difference(*model, q, layout.q_from_pinocchio(layout.q_to_pinocchio(q)), gap);
    EXPECT_LT(gap.cwiseAbs().maxCoeff(), 1e-13);
    EXPECT_TRUE(layout.v_from_pinocchio(q, layout.v_to_pinocchio(q, v)).isApprox(v, 1e-13));
    EXPECT_TRUE(layout.force_from_pinocchio(q, layout.force_to_pinocchio(q, v)).isApprox(v, 1e-13));
    const VectorX there = layout.acceleration_to_pinocchio(q, v, a);
    EXPECT_TRUE(layout.acceleration_from_pinocchio(q, layout.v_to_pinocchio(q, v), there).isApprox(a, 1e-12));
  }
}

TEST_F(Layout, VelocitiesAreThoseOfTheConfiguration) {
  const double h = 1e-5;
  const VectorX before = layout.q_to_pinocchio(moved(-h)), at = layout.q_to_pinocchio(q),
                after = layout.q_to_pinocchio(moved(h));
  const VectorX p = layout.v_to_pinocchio(q, v);
  const Motion6 free = body_velocity(pose_of(before, 4), pose_of(at, 4), pose_of(after, 4), h);
  EXPECT_LT((p.segment<3>(3) - free.linear).norm(), 1e-8);
  EXPECT_LT((p.segment<3>(6) - free.angular).norm(), 1e-8);

  const auto planar_pose = [](const VectorX& all) {
    const double angle = std::atan2(all[3], all[2]);
    return Transform{Vector3(all[0], all[1], 0), Quaternion(Eigen::AngleAxisd(angle, Vector3::UnitZ()))};
  };
  const Motion6 planar = body_velocity(planar_pose(before), planar_pose(at), planar_pose(after), h);
  EXPECT_LT((p.segment<2>(0) - planar.linear.head<2>()).norm(), 1e-8);
  EXPECT_NEAR(p[2], planar.angular.z(), 1e-8);
}

TEST_F(Layout, AccelerationsAreRatesOfVelocities) {
  const double h = 1e-5;
  const VectorX rate =
      (layout.v_to_pinocchio(moved(h), v + h * a) - layout.v_to_pinocchio(moved(-h), v - h * a)) / (2 * h);
  EXPECT_LT((layout.acceleration_to_pinocchio(q, v, a) - rate).cwiseAbs().maxCoeff(), 1e-8);
}

TEST_F(Layout, PowerIsTheSame) {
  const VectorX force = VectorX::Random(model->nv);
  EXPECT_NEAR(layout.force_to_pinocchio(q, force).dot(layout.v_to_pinocchio(q, v)), force.dot(v), 1e-13);
}

TEST_F(Layout, RefusesWrongLists) {
  EXPECT_THROW(PinocchioLayout(*model, {"nobody"}), Error);
  EXPECT_THROW(PinocchioLayout(*model, {"free", "free"}), Error);
  EXPECT_THROW(PinocchioLayout(*model, {"free"}), Error);
  EXPECT_THROW(PinocchioLayout(*model, kOrder, {true}), Error);
  EXPECT_THROW(PinocchioLayout(*model, kOrder, std::vector<bool>(6, true)), Error);
  EXPECT_THROW(layout.q_to_pinocchio(VectorX::Zero(3)), Error);
  EXPECT_THROW(layout.v_to_pinocchio(q, VectorX::Zero(3)), Error);
}

}  // namespace
}  // namespace touchstone
