#include "touchstone/model/builder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <ostream>

#include "touchstone/math/so3.hpp"

namespace touchstone {
namespace {

MassProperties unit_inertia() { return {1.0, Vector3::Zero(), Matrix3::Identity()}; }

int add_link(ModelBuilder& b, const std::string& name, int parent) {
  const int body = b.add_body({.name = name, .parent = parent, .inertia = unit_inertia()});
  b.add_joint({.name = name + "_joint", .body = body});
  return body;
}

TEST(Builder, EmptyModelIsTheWorld) {
  const ModelPtr m = ModelBuilder("empty").build();
  EXPECT_EQ(m->nbody, 1);
  EXPECT_EQ(m->nv, 0);
  EXPECT_EQ(m->ntree, 0);
  EXPECT_EQ(m->bodies[0].name, "world");
}

TEST(Builder, NumbersBodiesDepthFirstAndKeepsReferences) {
  ModelBuilder b;
  // Added breadth first and interleaved between two trees.
  const int a = add_link(b, "a", 0);
  const int c = add_link(b, "c", 0);
  const int a1 = add_link(b, "a1", a);
  add_link(b, "c1", c);
  add_link(b, "a2", a);
  add_link(b, "a11", a1);
  const int site = b.add_site({.name = "tip", .body = a1});
  b.add_actuator({.name = "motor", .target = 3});  // the joint of c1
  b.add_actuator({.name = "thruster", .transmission = TransmissionType::kSite, .target = site});
  b.add_tendon({.name = "t", .terms = {{.joint = 3, .coefficient = 2.0}, {.joint = 5, .coefficient = -1.0}}});
  b.add_contact_exclusion({.body_a = a1, .body_b = c});
  b.add_sensor({.name = "s", .type = SensorType::kJointPosition, .object_type = FrameType::kJoint, .object = 2});
  const ModelPtr m = b.build();
  const std::vector<std::string> expected{"world", "a", "a1", "a11", "a2", "c", "c1"};
  for (int i = 0; i < m->nbody; ++i) {
    EXPECT_EQ(m->bodies[i].name, expected[i]);
    if (i > 0) {
      EXPECT_LT(m->bodies[i].parent, i);
    }
  }
  EXPECT_EQ(m->ntree, 2);
  EXPECT_EQ(m->tree_first_dof, (std::vector<int>{0, 4, 6}));
  EXPECT_EQ(m->joints[m->actuators[0].target].name, "c1_joint");
  EXPECT_EQ(m->bodies[m->sites[m->actuators[1].target].body].name, "a1");
  EXPECT_EQ(m->joints[m->tendons[0].terms[1].joint].name, "a11_joint");
  EXPECT_EQ(m->bodies[m->contact_exclusions[0].body_a].name, "a1");
  EXPECT_EQ(m->joints[m->sensors[0].object].name, "a1_joint");
  EXPECT_EQ(m->dof_parent, (std::vector<int>{-1, 0, 1, 0, -1, 4}));
}

TEST(Builder, RowsOfAncestorsArePrefixes) {
  ModelBuilder b;
  const int a = add_link(b, "a", 0);
  const int a1 = add_link(b, "a1", a);
  add_link(b, "a11", a1);
  add_link(b, "a2", a);
  const ModelPtr m = b.build();
  const auto row = [&](int i) {
    const auto begin = m->row_dof.begin() + m->row_start[i];
    return std::vector<int>(begin, begin + m->row_length[i]);
  };
  EXPECT_EQ(row(2), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(row(3), (std::vector<int>{0, 3}));
  for (int start : m->row_start) EXPECT_EQ(start % 4, 0);
}

TEST(Builder, LookupSuggestsNearNames) {
  ModelBuilder b;
  add_link(b, "left_knee", 0);
  const ModelPtr m = b.build();
  EXPECT_EQ(m->body("left_knee"), 1);
  EXPECT_EQ(m->find(ElementKind::kBody, "nobody"), -1);
  try {
    m->body("left_kne");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no body is called 'left_kne'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("left_knee"), std::string::npos) << error.what();
  }
}

TEST(Builder, UnnamedElementsGetFreeNames) {
  ModelBuilder b;
  b.add_body({.name = "body2", .inertia = unit_inertia()});
  b.add_body({.inertia = unit_inertia()});
  const ModelPtr m = b.build();
  EXPECT_EQ(m->bodies[2].name, "body2_");
}

TEST(Builder, CompositeJoints) {
  ModelBuilder b;
  const int plane = b.add_body({.inertia = unit_inertia()});
  b.add_planar_joint({.name = "planar", .body = plane, .axis = Vector3(0, 1, 0)});
  const int cross = b.add_body({.inertia = unit_inertia()});
  b.add_universal_joint({.name = "cardan", .body = cross, .axis = Vector3::UnitX()}, Vector3::UnitY());
  const int rod = b.add_body({.inertia = unit_inertia()});
  b.add_cylindrical_joint({.name = "rod", .body = rod});
  const ModelPtr m = b.build();
  EXPECT_EQ(m->nv, 7);
  EXPECT_EQ(m->joints[m->joint("planar/1")].type, JointType::kSlide);
  EXPECT_NEAR(m->joints[m->joint("planar/1")].axis.y(), 0.0, 1e-15);
  EXPECT_EQ(m->joints[m->joint("planar/3")].type, JointType::kHinge);
  EXPECT_EQ(m->joints[m->joint("cardan/2")].axis, Vector3(Vector3::UnitY()));
  EXPECT_EQ(m->joints[m->joint("rod/1")].type, JointType::kSlide);
}

TEST(Builder, KeyframesAreCompletedAndChecked) {
  ModelBuilder b;
  add_link(b, "a", 0);
  b.add_keyframe({.name = "home", .q = VectorX::Constant(1, 0.5)});
  const ModelPtr m = b.build();
  EXPECT_EQ(m->keyframes[0].q[0], 0.5);
  EXPECT_EQ(m->keyframes[0].v.size(), 1);
  b.add_keyframe({.name = "wrong", .q = VectorX::Zero(3)});
  EXPECT_THROW(b.build(), InputError);
}

// kd = 2 ratio sqrt(kp m): for a slide of mass 2 with gear 1 and armature 0.5, m = 2.5.
TEST(Builder, DampingRatioBecomesDamping) {
  ModelBuilder b;
  const int body = b.add_body({.inertia = {2.0, Vector3::Zero(), Matrix3::Identity()}});
  b.add_joint({.body = body, .type = JointType::kSlide, .armature = 0.5});
  b.add_actuator(
      {.target = 0, .bias_type = ActuatorBias::kAffine, .gain = {40, 0, 0}, .bias = {0, -40, 0}, .damping_ratio = 0.7});
  EXPECT_NEAR(b.build()->defaults.actuator_bias[0][2], -2 * 0.7 * std::sqrt(40 * 2.5), 1e-12);
}

// Through a tendon the servo feels 1 / (J M^-1 J'): two slides of masses 2 and 3, coefficients 1 and 2.
TEST(Builder, DampingRatioOnATendon) {
  ModelBuilder b;
  for (const double mass : {2.0, 3.0}) {
    const int body = b.add_body({.inertia = {mass, Vector3::Zero(), Matrix3::Identity()}});
    b.add_joint({.body = body, .type = JointType::kSlide});
  }
  b.add_tendon({.terms = {{.joint = 0, .coefficient = 1.0}, {.joint = 1, .coefficient = 2.0}}});
  b.add_actuator({.transmission = TransmissionType::kTendon,
                  .target = 0,
                  .bias_type = ActuatorBias::kAffine,
                  .gain = {10, 0, 0},
                  .bias = {0, -10, 0},
                  .damping_ratio = 1.0});
  const double inertia = 1.0 / (1.0 / 2.0 + 4.0 / 3.0);
  EXPECT_NEAR(b.build()->defaults.actuator_bias[0][2], -2.0 * std::sqrt(10 * inertia), 1e-12);
}

TEST(Builder, MasslessJointsMayBeAllowed) {
  ModelBuilder b;
  const int body = b.add_body({.name = "ghost"});
  b.add_joint({.body = body});
  EXPECT_THROW(b.build(), InputError);
  b.set_allow_massless(true);
  const ModelPtr m = b.build();
  ASSERT_EQ(m->warnings.size(), 1u);
  EXPECT_NE(m->warnings[0].message.find("'ghost'"), std::string::npos);
}

TEST(Builder, TendonSpringRestsAtTheReference) {
  ModelBuilder b;
  const int body = b.add_body({.inertia = unit_inertia()});
  b.add_joint({.body = body, .reference = 0.25});
  b.add_tendon({.terms = {{.joint = 0, .coefficient = 2.0}}, .stiffness = 1.0});
  EXPECT_EQ(b.build()->defaults.tendon_spring_length[0], Vector2(0.5, 0.5));
}

// Each wrong input is refused with a message that names the element, the value and a remedy.
struct BadInput {
  const char* name;
  std::function<void(ModelBuilder&, int body)> spoil;
  std::vector<std::string> expected;

  friend void PrintTo(const BadInput& input, std::ostream* out) { *out << input.name; }
};

class BuilderErrors : public ::testing::TestWithParam<BadInput> {};

TEST_P(BuilderErrors, NameTheElementAndTheRemedy) {
  ModelBuilder b("robot");
  const int body = add_link(b, "arm", 0);
  GetParam().spoil(b, body);
  try {
    b.build();
    FAIL() << "accepted";
  } catch (const InputError& error) {
    for (const std::string& part : GetParam().expected) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << "'" << part << "' not in: " << error.what();
    }
  }
}

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

INSTANTIATE_TEST_SUITE_P(
    All, BuilderErrors,
    ::testing::Values(
        BadInput{"NegativeMass", [](ModelBuilder& b, int i) { b.body(i).inertia.mass = -1; }, {"body 'arm'", "mass is -1", "not be negative"}},
        BadInput{"NanMass", [](ModelBuilder& b, int i) { b.body(i).inertia.mass = kNan; }, {"body 'arm'", "mass is nan", "finite"}},
        BadInput{"ZeroMass", [](ModelBuilder& b, int i) { b.body(i).inertia = {}; }, {"joint 'arm_joint'", "moves no inertia", "armature"}},
        BadInput{"NegativeInertia", [](ModelBuilder& b, int i) { b.body(i).inertia.inertia = -Matrix3::Identity(); }, {"body 'arm'", "negative principal moment"}},
        BadInput{"AsymmetricInertia", [](ModelBuilder& b, int i) { b.body(i).inertia.inertia(0, 1) = 0.5; }, {"not symmetric"}},
        BadInput{"InfiniteCom", [](ModelBuilder& b, int i) { b.body(i).inertia.com.x() = kInf; }, {"centre of mass is inf"}},
        BadInput{"NanPose", [](ModelBuilder& b, int i) { b.body(i).pose.position.y() = kNan; }, {"body 'arm'", "pose is nan"}},
        BadInput{"LongQuaternion", [](ModelBuilder& b, int i) { b.body(i).pose.rotation.coeffs() *= 2; }, {"quaternion of length 2", "unit"}},
        BadInput{"CyclicParent", [](ModelBuilder& b, int i) { b.body(i).parent = i; }, {"body 'arm'", "cycle"}},
        BadInput{"ForwardParent", [](ModelBuilder& b, int i) { b.add_body({.name = "b"}); b.body(i).parent = i + 1; }, {"body 'arm'", "cycle"}},
        BadInput{"MissingParent", [](ModelBuilder& b, int i) { b.body(i).parent = 77; }, {"parent is 77"}},
        BadInput{"DuplicateBody", [](ModelBuilder& b, int) { b.add_body({.name = "arm"}); }, {"'arm' is taken", "own name"}},
        BadInput{"DuplicateJoint", [](ModelBuilder& b, int i) { b.add_joint({.name = "arm_joint", .body = i}); }, {"'arm_joint' is taken"}},
        BadInput{"ZeroAxis", [](ModelBuilder& b, int) { b.joint(0).axis.setZero(); }, {"joint 'arm_joint'", "axis is zero"}},
        BadInput{"ReversedLimits", [](ModelBuilder& b, int) { b.joint(0).limited = true; b.joint(0).range = {1, -1}; }, {"range is [1, -1]", "lower limit first"}},
        BadInput{"NegativeDamping", [](ModelBuilder& b, int) { b.joint(0).damping = -0.1; }, {"damping is -0.1"}},
        BadInput{"NegativeArmature", [](ModelBuilder& b, int) { b.joint(0).armature = -2; }, {"armature is -2"}},
        BadInput{"JointOnWorld", [](ModelBuilder& b, int) { b.add_joint({.name = "w", .body = 0}); }, {"joint 'w'", "world"}},
        BadInput{"DeepFreeJoint", [](ModelBuilder& b, int i) { const int c = add_link(b, "deep", i); b.add_joint({.name = "f", .body = c, .type = JointType::kFree}); }, {"joint 'f'", "child of the world"}},
        BadInput{"FreeAndHinge", [](ModelBuilder& b, int i) { b.add_joint({.name = "f", .body = i, .type = JointType::kFree}); }, {"only joint"}},
        BadInput{"ShapeSize", [](ModelBuilder& b, int i) { b.add_shape({.name = "ball", .body = i, .shape = {.type = ShapeType::kSphere}}); }, {"shape 'ball'", "size 1 of a sphere is 0"}},
        BadInput{"MeshWithoutData", [](ModelBuilder& b, int i) { b.add_shape({.name = "m", .body = i, .shape = {.type = ShapeType::kMesh}}); }, {"mesh without data"}},
        BadInput{"ContactDimension", [](ModelBuilder& b, int i) { b.add_shape({.name = "s", .body = i, .shape = {.type = ShapeType::kSphere, .size = {1, 0, 0}}, .contact_dimension = 2}); }, {"contact dimension is 2", "1, 3, 4 or 6"}},
        BadInput{"NegativeFriction", [](ModelBuilder& b, int i) { ShapeElement s{.name = "s", .body = i, .shape = {.type = ShapeType::kSphere, .size = {1, 0, 0}}}; s.material.friction[0] = -1; b.add_shape(s); }, {"friction is -1"}},
        BadInput{"ActuatorTarget", [](ModelBuilder& b, int) { b.add_actuator({.name = "u", .target = 9}); }, {"actuator 'u'", "joint is 9"}},
        BadInput{"ActuatorRange", [](ModelBuilder& b, int) { b.add_actuator({.name = "u", .target = 0, .control_limited = true, .control_range = {2, 2}}); }, {"control range is [2, 2]"}},
        BadInput{"EmptyTendon", [](ModelBuilder& b, int) { b.add_tendon({.name = "t"}); }, {"tendon 't'", "no joints"}},
        BadInput{"ReversedSpringLength",
                 [](ModelBuilder& b, int) { b.add_tendon({.name = "t", .terms = {{0, 1.0}}, .spring_length = {0.3, 0.1}}); },
                 {"tendon 't'", "spring length is [0.3, 0.1]"}},
        BadInput{"JointTwiceInTendon",
                 [](ModelBuilder& b, int) { b.add_tendon({.name = "t", .terms = {{0, 1.0}, {0, 2.0}}}); },
                 {"tendon 't'", "'arm_joint' is named twice"}},
        BadInput{"DampingRatioOfANegativeServo",
                 [](ModelBuilder& b, int) {
                   b.add_actuator({.name = "u", .target = 0, .gain = {-3, 0, 0}, .damping_ratio = 1.0});
                 },
                 {"actuator 'u'", "gain -3", "positive"}},
        BadInput{"SensorWithoutObject", [](ModelBuilder& b, int) { b.add_sensor({.name = "s", .type = SensorType::kTouch}); }, {"sensor 's'", "touch is attached to: none", "site"}},
        BadInput{"SensorOnTheWrongKind",
                 [](ModelBuilder& b, int i) { b.add_sensor({.name = "s", .type = SensorType::kJointPosition, .object_type = FrameType::kBody, .object = i}); },
                 {"jointpos is attached to: body", "joint"}},
        BadInput{"BallSensorOnAHinge",
                 [](ModelBuilder& b, int) { b.add_sensor({.name = "s", .type = SensorType::kBallQuaternion, .object_type = FrameType::kJoint, .object = 0}); },
                 {"ballquat of a hinge joint", "ball joint"}},
        BadInput{"FrameSensorOnAJoint",
                 [](ModelBuilder& b, int) { b.add_sensor({.name = "s", .type = SensorType::kFramePosition, .object_type = FrameType::kJoint, .object = 0}); },
                 {"framepos is attached to: joint", "body, inertial frame, shape or site"}},
        BadInput{"Gravity", [](ModelBuilder& b, int) { b.set_gravity({0, 0, kNan}); }, {"gravity"}}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace touchstone
