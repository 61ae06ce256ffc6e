// Bodies, joints, geoms, sites, inertia.
#include <cmath>
#include <numbers>

#include "io/mjcf_support.hpp"

namespace touchstone {
namespace {

using namespace mjcf_testing;
constexpr double kPi = std::numbers::pi;
const double kHalf = std::sqrt(0.5);

TEST(MjcfTree, AnEmptyModelIsTheWorld) {
  const ModelPtr model = load("");
  EXPECT_EQ(model->nbody, 1);
  EXPECT_EQ(model->nq, 0);
  EXPECT_EQ(model->name, "MuJoCo Model");
}

TEST(MjcfTree, PoseNotations) {
  const auto rotation = [](const std::string& attribute, const std::string& compiler = "") {
    return load("<compiler " + compiler + "/><worldbody><body name=\"b\" " + attribute + "/></worldbody>")
        ->bodies[1]
        .pose.rotation;
  };
  const Quaternion x(Eigen::AngleAxisd(kPi / 2, Vector3::UnitX())), y(Eigen::AngleAxisd(kPi / 2, Vector3::UnitY()));
  expect_rotation(rotation("quat=\"2 2 0 0\""), x);
  expect_rotation(rotation("axisangle=\"3 0 0 90\""), x);
  expect_rotation(rotation("axisangle=\"1 0 0 1.5707963267948966\"", "angle=\"radian\""), x);
  expect_rotation(rotation("euler=\"90 90 0\""), x * y);
  expect_rotation(rotation("euler=\"90 90 0\"", "eulerseq=\"XYZ\""), y * x);
  expect_rotation(rotation("euler=\"90 90 0\"", "eulerseq=\"yxz\""), y * x);
  expect_rotation(rotation("xyaxes=\"1 0 0 5 0 2\""), x);
  expect_rotation(rotation("zaxis=\"0 -1 0\""), x);
  expect_rotation(rotation("zaxis=\"0 0 -1\""), Quaternion(0, 1, 0, 0));
}

TEST(MjcfTree, OrderIsDepthFirstAndShapesFollowTheirBodies) {
  const ModelPtr model = load(
      "<worldbody><geom name=\"w1\" size=\"1\"/><body name=\"a\"><geom name=\"a1\" size=\"1\"/><body "
      "name=\"a_a\"/></body>"
      "<body name=\"b\"/><geom name=\"w2\" size=\"1\"/></worldbody>");
  EXPECT_EQ(model->bodies[1].name, "a");
  EXPECT_EQ(model->bodies[2].name, "a_a");
  EXPECT_EQ(model->bodies[2].parent, 1);
  EXPECT_EQ(model->bodies[3].name, "b");
  EXPECT_EQ(model->shapes[1].name, "w2");
  EXPECT_EQ(model->shapes[2].name, "a1");
}

TEST(MjcfTree, JointsConvertDegreesOnlyWhereTheyAreAngles) {
  const ModelPtr model = load(
      "<worldbody><body><joint name=\"h\" range=\"-90 90\" ref=\"30\" springref=\"60\" axis=\"0 3 4\" pos=\"1 2 3\"/>"
      "<joint name=\"s\" type=\"slide\" range=\"-90 90\" ref=\"30\"/><geom size=\".1\"/>"
      "<body><joint name=\"b\" type=\"ball\" range=\"0 45\"/><geom size=\".1\"/></body></body></worldbody>");
  const Joint& hinge = model->joints[0];
  EXPECT_TRUE(hinge.limited);
  expect_vector(hinge.range, {-kPi / 2, kPi / 2});
  expect_vector(hinge.axis, {0, 0.6, 0.8});
  expect_vector(hinge.anchor, {1, 2, 3});
  EXPECT_NEAR(hinge.reference, kPi / 6, 1e-15);
  EXPECT_NEAR(hinge.spring_reference, kPi / 3, 1e-15);
  expect_vector(model->joints[1].range, {-90, 90});
  EXPECT_EQ(model->joints[1].reference, 30);
  expect_vector(model->joints[2].range, {0, kPi / 4});
}

TEST(MjcfTree, JointProperties) {
  const ModelPtr model = load_body(
      "<joint stiffness=\"1\" damping=\"2\" armature=\"3\" frictionloss=\"4\" margin=\".5\" solreflimit=\".1\" "
      "solimplimit=\".8 .9\" actuatorfrcrange=\"-5 6\" actuatorgravcomp=\"true\" group=\"2\" limited=\"false\" "
      "range=\"-1 1\"/><geom size=\".1\"/>");
  const Joint& joint = model->joints[0];
  EXPECT_EQ(joint.stiffness, 1);
  EXPECT_EQ(joint.damping, 2);
  EXPECT_EQ(joint.armature, 3);
  EXPECT_EQ(joint.friction, 4);
  EXPECT_EQ(joint.limit_margin, 0.5);
  expect_vector(joint.limit_impedance.solref, {0.1, 1});
  expect_vector(joint.limit_impedance.solimp, {0.8, 0.9, 0.001, 0.5, 2});
  EXPECT_TRUE(joint.actuator_force_limited);
  expect_vector(joint.actuator_force_range, {-5, 6});
  EXPECT_TRUE(joint.actuator_gravity_compensation);
  EXPECT_EQ(joint.group, 2);
  EXPECT_FALSE(joint.limited);
}

TEST(MjcfTree, AFreejointTakesNoDefaults) {
  const ModelPtr model = load(
      "<default><joint damping=\"5\" type=\"free\"/></default><worldbody><body><freejoint name=\"f\"/><geom "
      "size=\".1\"/></body>"
      "<body><joint/><geom size=\".1\"/></body></worldbody>");
  EXPECT_EQ(model->joints[0].damping, 0);
  EXPECT_EQ(model->joints[1].damping, 5);
  EXPECT_EQ(model->nq, 14);
}

TEST(MjcfTree, FromtoPointsFromTheSecondPointToTheFirst) {
  const ModelPtr model = load_body(
      "<geom type=\"capsule\" fromto=\"0 0 0 2 0 0\" size=\".1\"/><geom type=\"box\" fromto=\"0 0 0 0 0 -1\" size=\".1 "
      ".7 .7\"/>"
      "<site name=\"s\" type=\"cylinder\" fromto=\"0 0 0 0 4 0\" size=\".1\"/>");
  const ShapeElement& capsule = model->shapes[0];
  expect_vector(capsule.pose.position, {1, 0, 0});
  expect_vector((capsule.pose.rotation * Vector3::UnitZ()).eval(), {-1, 0, 0});
  expect_vector(capsule.shape.size, {0.1, 1, 0});
  expect_vector(model->shapes[1].shape.size, {0.1, 0.1, 0.5});
  expect_rotation(model->shapes[1].pose.rotation, Quaternion::Identity());
  expect_vector(model->sites[0].shape.size, {0.1, 2, 0});
}

TEST(MjcfTree, ContactAttributes) {
  const ModelPtr model = load(
      "<worldbody><geom size=\"1\" contype=\"-1\" conaffinity=\"6\" condim=\"4\" friction=\".5\" priority=\"2\" "
      "solmix=\"3\" "
      "margin=\".1\" gap=\".05\" group=\"3\" rgba=\"1 0 0 .5\"/><geom size=\"1\" contype=\"0\" "
      "conaffinity=\"0\"/></worldbody>");
  const ShapeElement& shape = model->shapes[0];
  EXPECT_EQ(shape.contact_type, 0xffffffffu);
  EXPECT_EQ(shape.contact_affinity, 6u);
  EXPECT_EQ(shape.contact_dimension, 4);
  expect_vector(shape.material.friction, {0.5, 0.005, 0.0001});
  EXPECT_EQ(shape.material.priority, 2);
  EXPECT_EQ(shape.material.mixing, 3);
  EXPECT_EQ(shape.margin, 0.1);
  EXPECT_EQ(shape.gap, 0.05);
  EXPECT_EQ(shape.group, 3);
  EXPECT_EQ(shape.color[3], 0.5);
  EXPECT_FALSE(shape.visual_only);
  EXPECT_TRUE(model->shapes[1].visual_only);
}

// --- inertia -----------------------------------------------------------------------------------------------------

TEST(MjcfInertia, IsInferredFromGeomsInTheGroups) {
  const ModelPtr model = load(
      "<compiler inertiagrouprange=\"0 1\"/><worldbody><body><joint/><geom size=\".1\" mass=\"3\" pos=\"1 0 0\"/>"
      "<geom size=\".1\" mass=\"1\" pos=\"-1 0 0\"/><geom size=\".1\" mass=\"100\" group=\"2\"/></body></worldbody>");
  const MassProperties& inertia = model->bodies[1].inertia;
  EXPECT_NEAR(inertia.mass, 4, 1e-14);
  expect_vector(inertia.com, {0.5, 0, 0});
  const double own = 4 * 0.4 * 0.01;  // 2/5 m r^2
  EXPECT_NEAR(inertia.inertia(0, 0), own, 1e-14);
  EXPECT_NEAR(inertia.inertia(1, 1), own + 3 * 0.25 + 1 * 2.25, 1e-13);
}

TEST(MjcfInertia, DensityAndShell) {
  const ModelPtr solid = load_body("<joint/><geom size=\".1\" density=\"500\"/>");
  EXPECT_NEAR(solid->bodies[1].inertia.mass, 500 * 4.0 / 3.0 * kPi * 1e-3, 1e-12);
  const ModelPtr shell = load_body("<joint/><geom size=\".1\" shellinertia=\"true\" density=\"2\"/>");
  const double mass = 2 * 4 * kPi * 0.01;
  EXPECT_NEAR(shell->bodies[1].inertia.mass, mass, 1e-12);
  EXPECT_NEAR(shell->bodies[1].inertia.inertia(2, 2), 2.0 / 3.0 * mass * 0.01, 1e-12);
}

TEST(MjcfInertia, AnInertialWinsUnlessTheCompilerSaysOtherwise) {
  const std::string body =
      "<joint/><inertial pos=\"1 2 3\" mass=\"7\" diaginertia=\"1 2 2.5\" quat=\"1 1 0 0\"/><geom size=\".1\"/>";
  const MassProperties given = load_body(body)->bodies[1].inertia;
  EXPECT_EQ(given.mass, 7);
  expect_vector(given.com, {1, 2, 3});
  expect_vector(given.inertia.diagonal().eval(), {1, 2.5, 2}, 1e-12);
  const MassProperties inferred = load_body(body, "<compiler inertiafromgeom=\"true\"/>")->bodies[1].inertia;
  EXPECT_NEAR(inferred.mass, 1000 * 4.0 / 3.0 * kPi * 1e-3, 1e-12);
  expect_vector(inferred.com, {0, 0, 0});
}

TEST(MjcfInertia, FullInertia) {
  const ModelPtr model = load_body("<joint/><inertial pos=\"0 0 0\" mass=\"1\" fullinertia=\"1 2 2.5 .1 .2 .3\"/>");
  Matrix3 expected;
  expected << 1, 0.1, 0.2, 0.1, 2, 0.3, 0.2, 0.3, 2.5;
  EXPECT_LT((model->bodies[1].inertia.inertia - expected).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(MjcfInertia, BoundsBalanceAndTotal) {
  const ModelPtr bounded =
      load_body("<joint/><geom size=\".1\" mass=\"3\"/>", "<compiler boundmass=\"10\" boundinertia=\"1\"/>");
  EXPECT_EQ(bounded->bodies[1].inertia.mass, 10);
  EXPECT_LT((bounded->bodies[1].inertia.inertia - Matrix3::Identity()).norm(), 1e-12);
  const ModelPtr balanced = load_body("<joint/><inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 4\"/>",
                                      "<compiler balanceinertia=\"true\"/>");
  EXPECT_LT((balanced->bodies[1].inertia.inertia - 2 * Matrix3::Identity()).norm(), 1e-12);
  const ModelPtr total =
      load_body("<joint/><geom size=\".1\"/><body><geom size=\".1\"/></body>", "<compiler settotalmass=\"7\"/>");
  EXPECT_NEAR(total->bodies[1].inertia.mass, 3.5, 1e-12);
}

TEST(MjcfInertia, AlignMovesTheBodyFrameOfAFreeBody) {
  const ModelPtr model = load(
      "<worldbody><body pos=\"1 0 0\"><freejoint align=\"true\"/><geom name=\"g\" type=\"box\" size=\".1 .2 .3\" "
      "pos=\"0 0 2\" "
      "euler=\"0 0 90\"/><site name=\"s\"/></body></worldbody>");
  expect_vector(model->bodies[1].pose.position, {1, 0, 2});
  expect_vector(model->bodies[1].inertia.com, {0, 0, 0});
  expect_vector(model->shapes[0].pose.position, {0, 0, 0});
  expect_rotation(model->shapes[0].pose.rotation, Quaternion::Identity());
  expect_vector(model->sites[0].pose.position, {0, 0, -2});
  expect_vector(model->reference_q, {1, 0, 2, kHalf, 0, 0, kHalf});
}

TEST(MjcfInertia, SpringDamperSetsStiffnessAndDamping) {
  const ModelPtr model = load_body("<joint springdamper=\".5 2\"/><geom size=\".1\" mass=\"1\" pos=\"1 0 0\"/>");
  const double inertia = 0.4 * 0.01 + 1.0;
  EXPECT_NEAR(model->joints[0].stiffness, inertia / (0.25 * 4), 1e-12);
  EXPECT_NEAR(model->joints[0].damping, 2 * inertia / 0.5, 1e-12);
}

TEST(MjcfTree, OptionsAndFlags) {
  const ModelPtr model = load(
      "<option timestep=\".01\" gravity=\"1 2 3\" integrator=\"RK4\" cone=\"elliptic\" impratio=\"10\" magnetic=\"1 0 "
      "0\" "
      "solver=\"CG\" wind=\"1 0 0\"><flag contact=\"disable\" eulerdamp=\"disable\" energy=\"enable\"/></option>"
      "<size nconmax=\"10\"/><visual><map znear=\"1\"/></visual><statistic extent=\"1\"/>");
  EXPECT_EQ(model->options.time_step, 0.01);
  expect_vector(model->defaults.gravity, {1, 2, 3});
  EXPECT_EQ(model->options.integrator, "rk4");
  EXPECT_EQ(model->options.cone, "elliptic");
  EXPECT_EQ(model->options.friction_impedance_ratio, 10);
  EXPECT_FALSE(load("<option><flag gravity=\"disable\"/></option>")->options.gravity_enabled);
  EXPECT_FALSE(model->options.contacts_enabled);
  EXPECT_FALSE(model->options.implicit_damping);
  EXPECT_TRUE(model->options.limits_enabled);
  EXPECT_TRUE(model->warnings.empty());
}

TEST(MjcfTree, UnknownElementsAndAttributesAreWarnings) {
  const ModelPtr model = load("<foo/>\n<worldbody>\n<body name=\"b\" bar=\"1\">\n<baz/></body></worldbody>");
  ASSERT_EQ(model->warnings.size(), 3u);
  EXPECT_EQ(model->warnings[0].origin.text(), "test.xml:1: foo");
  EXPECT_EQ(model->warnings[1].origin.text(), "test.xml:3: body 'b'");
  EXPECT_THAT(model->warnings[1].message, testing::HasSubstr("'bar'"));
  EXPECT_EQ(model->warnings[2].origin.line, 4);
}

}  // namespace
}  // namespace touchstone
