// Contact, equality, tendon, sensor, keyframe.
#include <cmath>

#include "io/mjcf_support.hpp"

namespace touchstone {
namespace {

using namespace mjcf_testing;

const std::string kTwoBodies =
    "<worldbody><body name=\"a\" pos=\"1 0 0\" euler=\"0 0 90\"><freejoint/><geom name=\"ga\" size=\".1\"/>"
    "<site name=\"sa\" pos=\".1 .2 .3\"/></body><body name=\"b\" pos=\"0 2 0\"><freejoint/><geom name=\"gb\" "
    "size=\".1\"/>"
    "<site name=\"sb\" pos=\".4 .5 .6\"/></body></worldbody>";

TEST(MjcfRelations, ContactPairsHaveTheirOwnDefaults) {
  const ModelPtr model =
      load(kTwoBodies +
           "<contact><pair geom1=\"ga\" geom2=\"gb\" friction=\".5 .6\" solref=\".1\" margin=\".2\"/>"
           "<exclude body1=\"a\" body2=\"b\"/></contact>");
  const ContactPair& pair = model->contact_pairs[0];
  EXPECT_EQ(pair.contact_dimension, 3);
  expect_vector(pair.friction, {0.5, 0.6, 0.005, 0.0001, 0.0001});
  expect_vector(pair.impedance.solref, {0.1, 1});
  EXPECT_EQ(pair.margin, 0.2);
  EXPECT_EQ(model->contact_exclusions[0].body_a, 1);
  EXPECT_EQ(model->contact_exclusions[0].body_b, 2);
}

TEST(MjcfRelations, ConnectComputesTheSecondAnchor) {
  const ModelPtr model = load(kTwoBodies +
                              "<equality><connect body1=\"a\" body2=\"b\" anchor=\".1 .2 .3\"/>"
                              "<connect body1=\"a\" anchor=\"1 0 0\"/><connect site1=\"sa\" site2=\"sb\"/></equality>");
  expect_vector(model->equalities[0].anchor_a, {0.1, 0.2, 0.3});
  expect_vector(model->equalities[0].anchor_b, {0.8, -1.9, 0.3});
  EXPECT_EQ(model->equalities[1].b, 0);
  expect_vector(model->equalities[1].anchor_b, {1, 1, 0});
  EXPECT_EQ(model->equalities[2].a, 1);
  expect_vector(model->equalities[2].anchor_a, {0.1, 0.2, 0.3});
  expect_vector(model->equalities[2].anchor_b, {0.4, 0.5, 0.6});
}

TEST(MjcfRelations, WeldHoldsTheReferencePoseOrTheWrittenOne) {
  const ModelPtr model =
      load(kTwoBodies +
           "<equality><weld body1=\"a\" body2=\"b\"/>"
           "<weld body1=\"a\" body2=\"b\" relpose=\"1 2 3 1 1 0 0\" anchor=\".1 .2 .3\" torquescale=\"5\"/>"
           "<weld site1=\"sa\" site2=\"sb\"/></equality>");
  expect_vector(model->equalities[0].relative_pose.position, {2, 1, 0});
  // The written position is that of the anchor.
  const Equality& written = model->equalities[1];
  expect_vector(written.relative_pose * written.anchor_a, {1, 2, 3});
  EXPECT_EQ(written.torque_scale, 5);
  const Equality& sites = model->equalities[2];
  expect_vector(sites.relative_pose * Vector3(0.4, 0.5, 0.6), {0.1, 0.2, 0.3});
}

const std::string kTwoJoints =
    "<compiler angle=\"radian\"/><worldbody><body><joint name=\"j\" springref=\".3\"/><geom size=\".1\"/><body>"
    "<joint name=\"k\" type=\"slide\" springref=\"-.2\"/><geom size=\".1\"/></body></body></worldbody>";

TEST(MjcfRelations, FixedTendons) {
  const ModelPtr model =
      load(kTwoJoints +
           "<tendon><fixed name=\"t\" range=\"-1 1\" stiffness=\"3\" damping=\"2\" frictionloss=\".1\" armature=\".2\">"
           "<joint joint=\"j\" coef=\"2\"/><joint joint=\"k\" coef=\"-3\"/></fixed>"
           "<fixed springlength=\".4\"><joint joint=\"k\" coef=\"1\"/></fixed></tendon>"
           "<equality><tendon tendon1=\"t\" polycoef=\".1 .2 .3\"/><joint joint1=\"j\" joint2=\"k\"/></equality>");
  const Tendon& tendon = model->tendons[0];
  EXPECT_TRUE(tendon.limited);
  EXPECT_EQ(tendon.terms[1].joint, 1);
  EXPECT_EQ(tendon.terms[1].coefficient, -3);
  // Without springlength: the length where the joint springs rest.
  expect_vector(model->defaults.tendon_spring_length[0], {1.2, 1.2});
  expect_vector(model->defaults.tendon_spring_length[1], {0.4, 0.4});
  expect_vector(model->equalities[0].polynomial, {0.1, 0.2, 0.3, 0, 0});
  EXPECT_EQ(model->equalities[0].b, -1);
  expect_vector(model->equalities[1].polynomial, {0, 1, 0, 0, 0});
}

TEST(MjcfRelations, Sensors) {
  const ModelPtr model = load(
      kTwoBodies +
      "<sensor><gyro name=\"g\" site=\"sa\" noise=\".1\" cutoff=\"3\"/><framepos objtype=\"body\" objname=\"b\"/>"
      "<framequat objtype=\"xbody\" objname=\"b\" reftype=\"site\" refname=\"sa\"/><subtreecom body=\"a\"/><clock/>"
      "<contact geom1=\"ga\"/></sensor>");
  ASSERT_EQ(model->sensors.size(), 5u);
  EXPECT_EQ(model->sensors[0].type, SensorType::kGyro);
  EXPECT_EQ(model->sensors[0].cutoff, 3);
  EXPECT_EQ(model->sensors[1].object_type, FrameType::kBodyInertial);
  EXPECT_EQ(model->sensors[2].object_type, FrameType::kBody);
  EXPECT_EQ(model->sensors[2].object, 2);
  EXPECT_EQ(model->sensors[2].reference_type, FrameType::kSite);
  ASSERT_EQ(model->warnings.size(), 1u);
  EXPECT_THAT(model->warnings[0].message, testing::HasSubstr("<contact>"));
}

TEST(MjcfRelations, Keyframes) {
  const ModelPtr model = load(
      "<worldbody><body name=\"m\" mocap=\"true\" pos=\"1 2 3\"/><body><freejoint/><geom size=\".1\"/><body><joint "
      "name=\"j\" "
      "ref=\"90\"/><geom size=\".1\"/></body></body></worldbody><actuator><intvelocity joint=\"j\"/><motor "
      "joint=\"j\"/></actuator>"
      "<keyframe><key name=\"k\" time=\"2\" qpos=\"1 2 3 2 0 0 0 .5\" qvel=\"1 2 3 4 5 6 7\" act=\"8\" ctrl=\"9 10\" "
      "mpos=\"4 5 6\" "
      "mquat=\"0 3 0 0\"/><key qpos=\"7\"/></keyframe>");
  const Keyframe& key = model->keyframes[0];
  EXPECT_EQ(key.time, 2);
  expect_vector(key.q, {1, 2, 3, 1, 0, 0, 0, 0.5});
  expect_vector(key.v, {1, 2, 3, 4, 5, 6, 7});
  expect_vector(key.activation, {8});
  expect_vector(key.control, {9, 10});
  expect_vector(key.mocap[0].position, {4, 5, 6});
  expect_rotation(key.mocap[0].rotation, Quaternion(0, 1, 0, 0));
  // What is not written comes from the reference configuration.
  expect_vector(model->keyframes[1].q, {7, 0, 0, 1, 0, 0, 0, std::acos(0.0)});
  expect_vector(model->keyframes[1].mocap[0].position, {1, 2, 3});
}

}  // namespace
}  // namespace touchstone
