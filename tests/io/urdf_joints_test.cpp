#include <gtest/gtest.h>

#include "io/urdf_support.hpp"

namespace touchstone {
namespace {

using namespace urdf_testing;

const std::string kLimit = R"(<limit lower="-1" upper="2" effort="3" velocity="4"/>)";

TEST(UrdfJoints, RevoluteIsALimitedHinge) {
  const ModelPtr model = load(two_links(
      "revolute", kLimit + R"(<axis xyz="0 3 4"/><origin xyz="1 2 3"/><dynamics damping="0.5" friction="0.25"/>)"));
  ASSERT_EQ(model->njoint, 1);
  const Joint& joint = model->joints[0];
  EXPECT_EQ(joint.name, "j");
  EXPECT_EQ(joint.type, JointType::kHinge);
  EXPECT_TRUE(joint.axis.isApprox(Vector3(0, 0.6, 0.8), 1e-15));
  EXPECT_TRUE(joint.limited);
  EXPECT_EQ(joint.range, Vector2(-1, 2));
  EXPECT_EQ(joint.effort_limit, 3);
  EXPECT_EQ(joint.velocity_limit, 4);
  EXPECT_EQ(joint.damping, 0.5);
  EXPECT_EQ(joint.friction, 0.25);
  EXPECT_EQ(joint.anchor, Vector3::Zero());
  EXPECT_EQ(model->bodies[1].pose.position, Vector3(1, 2, 3));
  EXPECT_TRUE(model->warnings.empty());
}

TEST(UrdfJoints, AxisIsXByDefault) { EXPECT_EQ(load(two_links("continuous"))->joints[0].axis, Vector3::UnitX()); }

TEST(UrdfJoints, ContinuousHasNoLimits) {
  const ModelPtr model = load(two_links("continuous", kLimit));
  EXPECT_EQ(model->joints[0].type, JointType::kHinge);
  EXPECT_FALSE(model->joints[0].limited);
  EXPECT_EQ(model->joints[0].effort_limit, 3);
}

TEST(UrdfJoints, PrismaticIsASlide) {
  const ModelPtr model = load(two_links("prismatic", kLimit));
  EXPECT_EQ(model->joints[0].type, JointType::kSlide);
  EXPECT_EQ(model->joints[0].range, Vector2(-1, 2));
}

TEST(UrdfJoints, SphericalIsABallWithAWarning) {
  const ModelPtr model = load(two_links("spherical"));
  EXPECT_EQ(model->joints[0].type, JointType::kBall);
  EXPECT_TRUE(has_warning(*model, "not part of URDF"));
}

TEST(UrdfJoints, PlanarMovesAcrossItsAxis) {
  const ModelPtr model = load(two_links("planar", R"(<axis xyz="0 0 1"/>)"));
  ASSERT_EQ(model->njoint, 3);
  EXPECT_EQ(model->joints[0].name, "j/1");
  EXPECT_EQ(model->joints[0].type, JointType::kSlide);
  EXPECT_TRUE(model->joints[0].axis.isApprox(Vector3::UnitX()));
  EXPECT_TRUE(model->joints[1].axis.isApprox(Vector3::UnitY()));
  EXPECT_EQ(model->joints[2].type, JointType::kHinge);
  EXPECT_TRUE(model->joints[2].axis.isApprox(Vector3::UnitZ()));

  const ModelPtr across_x = load(two_links("planar", R"(<axis xyz="1 0 0"/>)"));
  EXPECT_NEAR(across_x->joints[0].axis.x(), 0.0, 1e-15);
  EXPECT_NEAR(across_x->joints[1].axis.x(), 0.0, 1e-15);
  EXPECT_TRUE(across_x->joints[2].axis.isApprox(Vector3::UnitX()));
}

TEST(UrdfJoints, FloatingIsFreeAgainstTheWorld) {
  for (const bool merge : {true, false}) {
    LoadOptions options;
    options.merge_fixed = merge;
    const ModelPtr model =
        load(robot(link("a") + link("b") + link("c") +
                   joint("fixed", "f", "a", "b", R"(<origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/>)") +
                   joint("floating", "j", "b", "c", R"(<origin xyz="1 0 0"/>)")),
             options);
    const int joint = model->joint("j");
    EXPECT_EQ(model->joints[joint].type, JointType::kFree);
    EXPECT_EQ(model->bodies[model->body("c")].parent, 0);
    EXPECT_TRUE(model->bodies[model->body("c")].pose.position.isApprox(Vector3(1, 1, 0), 1e-15));
  }
}

TEST(UrdfJoints, FloatingBelowAMovingLinkIsSlidesAndABall) {
  const ModelPtr model = load(
      robot(link("a") + link("b") + link("c") + joint("continuous", "j", "a", "b") + joint("floating", "k", "b", "c")));
  ASSERT_EQ(model->njoint, 5);
  EXPECT_EQ(model->nv, 7);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(model->joints[i].type, JointType::kSlide);
    EXPECT_EQ(model->joints[i].axis, Vector3::Unit(i - 1));
  }
  EXPECT_EQ(model->joints[4].type, JointType::kBall);
  EXPECT_EQ(model->joints[4].name, "k/4");
}

TEST(UrdfJoints, MimicBecomesAnEquality) {
  const ModelPtr model =
      load(robot(link("a") + link("b") + link("c") +
                 joint("continuous", "follower", "a", "b", R"(<mimic joint="leader" multiplier="2" offset="0.5"/>)") +
                 joint("continuous", "leader", "a", "c")));
  ASSERT_EQ(model->equalities.size(), 1U);
  const Equality& equality = model->equalities[0];
  EXPECT_EQ(equality.type, EqualityType::kJoint);
  EXPECT_EQ(equality.a, model->joint("follower"));
  EXPECT_EQ(equality.b, model->joint("leader"));
  const std::array<double, 5> expected{0.5, 2, 0, 0, 0};
  EXPECT_EQ(equality.polynomial, expected);
  EXPECT_EQ(model->nv, 2);
}

TEST(UrdfJoints, MimicOfAFixedJointIsConstant) {
  const ModelPtr model = load(robot(link("a") + link("b") + link("c") + joint("fixed", "leader", "a", "b") +
                                    joint("continuous", "j", "a", "c", R"(<mimic joint="leader" offset="0.5"/>)")));
  ASSERT_EQ(model->equalities.size(), 1U);
  EXPECT_EQ(model->equalities[0].b, -1);
  EXPECT_EQ(model->equalities[0].polynomial[0], 0.5);
  EXPECT_TRUE(has_warning(*model, "is fixed"));
}

TEST(UrdfJoints, MimicOnAFixedJointIsNothing) {
  const ModelPtr model = load(two_links("fixed", R"(<mimic joint="nobody"/>)"));
  EXPECT_TRUE(model->equalities.empty());
}

TEST(UrdfJoints, EqualLimitsHoldTheJoint) {
  const ModelPtr model = load(two_links("revolute", R"(<limit lower="0.3" upper="0.3" effort="1" velocity="1"/>)"));
  EXPECT_FALSE(model->joints[0].limited);
  ASSERT_EQ(model->equalities.size(), 1U);
  EXPECT_EQ(model->equalities[0].polynomial[0], 0.3);
  EXPECT_EQ(model->equalities[0].b, -1);
  EXPECT_TRUE(has_warning(*model, "held there"));
}

TEST(UrdfJoints, ZeroLimitsMeanNone) {
  for (const char* limit :
       {R"(<limit effort="1" velocity="1"/>)", R"(<limit lower="0" upper="0" effort="0" velocity="0"/>)",
        R"(<limit lower="-1e16" upper="1e16" effort="0" velocity="0"/>)"}) {
    const ModelPtr model = load(two_links("revolute", limit));
    EXPECT_FALSE(model->joints[0].limited) << limit;
    EXPECT_TRUE(model->equalities.empty());
  }
}

TEST(UrdfJoints, AMissingEffortIsAWarning) {
  const ModelPtr model = load(two_links("revolute", R"(<limit lower="-1" upper="1"/>)"));
  EXPECT_TRUE(model->joints[0].limited);
  EXPECT_TRUE(has_warning(*model, "no 'effort'"));
  EXPECT_TRUE(has_warning(*model, "no 'velocity'"));
}

TEST(UrdfJoints, AFixedJointMayHaveAZeroAxis) {
  EXPECT_EQ(load(two_links("fixed", R"(<axis xyz="0 0 0"/>)"))->njoint, 0);
}

TEST(UrdfJoints, OtherElementsGetOneWarningEach) {
  const std::string extra = R"(<calibration rising="0"/><safety_controller k_velocity="1"/>)";
  const ModelPtr model =
      load(robot(link("a") + link("b") + link("c") + joint("continuous", "j", "a", "b", extra) +
                 joint("continuous", "k", "b", "c", extra) + "<transmission/><gazebo/><gazebo/><sensor/><sensor/>"));
  EXPECT_EQ(model->warnings.size(), 3U);
  EXPECT_TRUE(has_warning(*model, "<urdf>:5: calibration of joint 'j'"));
}

}  // namespace
}  // namespace touchstone
