// Loops of a URDF robot from the file beside it: what is read, and every way to get it wrong that we know of.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/base/index.hpp"
#include "touchstone/io/urdf.hpp"

namespace touchstone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kInertial =
    "<inertial><mass value='1'/><inertia ixx='0.01' iyy='0.01' izz='0.01' ixy='0' ixz='0' iyz='0'/></inertial>";

// A parallelogram in the plane of x and z, with a foot behind a fixed joint; it is not closed.
std::string parallelogram() {
  const auto link = [](const std::string& name) { return "<link name='" + name + "'>" + kInertial + "</link>\n"; };
  const auto joint = [](const std::string& name, const std::string& type, const std::string& parent,
                        const std::string& child, const std::string& xyz) {
    return "<joint name='" + name + "' type='" + type + "'><parent link='" + parent + "'/><child link='" + child +
           "'/><origin xyz='" + xyz + "'/><axis xyz='0 1 0'/></joint>\n";
  };
  return "<robot name='parallelogram'>\n<link name='base'/>\n" + link("crank") + link("coupler") + link("rocker") +
         link("tip") + joint("shoulder", "continuous", "base", "crank", "0 0 0") +
         joint("elbow", "continuous", "crank", "coupler", "0 0 0.3") +
         joint("knee", "continuous", "base", "rocker", "1 0 0") + joint("mount", "fixed", "rocker", "tip", "0 0 0.3") +
         "</robot>";
}

class UrdfLoopFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("touchstone_loops_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    write("robot.urdf", parallelogram());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  ModelPtr load(const LoadOptions& options = {}) const { return load_urdf(folder_ / "robot.urdf", options); }

  std::string error_of(const std::string& loops) const {
    write("robot.loops.yaml", loops);
    try {
      load();
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

TEST_F(UrdfLoopFiles, AreFoundBesideTheRobot) {
  EXPECT_TRUE(load()->loop_joints.empty());
  write("robot.loops.yaml", R"(loops:
  pin:
    type: hinge
    between: [coupler, tip]
    position: [1, 0, 0]
    axis: [0, 1, 0]
    limits: [-1, 2]
    damping: 0.1
couplings:
  gear: {joint: elbow, driver: pin, polynomial: [0, -1]}
)");
  const ModelPtr model = load();
  ASSERT_EQ(model->loop_joints.size(), 1U);
  const LoopJoint& pin = model->loop_joints[0];
  EXPECT_EQ(pin.type, LoopJointType::kRevolute);
  EXPECT_EQ(pin.body_a, model->body("coupler"));
  EXPECT_EQ(pin.body_b, model->body("rocker"));  // the tip is part of it
  EXPECT_LT((pin.frame_b.position - Vector3(0, 0, 0.3)).norm(), 1e-14);
  EXPECT_LT((pin.frame_b.rotation * Vector3::UnitZ() - Vector3::UnitY()).norm(), 1e-14);
  EXPECT_TRUE(pin.coordinates[0].limited);
  EXPECT_EQ(pin.coordinates[0].range, Vector2(-1, 2));
  EXPECT_EQ(pin.coordinates[0].damping, 0.1);
  EXPECT_EQ(pin.origin.line, 2);
  ASSERT_EQ(model->equalities.size(), 1U);
  EXPECT_EQ(model->equalities[0].coordinate_b, 0);
  EXPECT_EQ(model->equalities[0].polynomial[1], -1.0);
}

TEST_F(UrdfLoopFiles, MayBeNamedOrLeftOut) {
  write("robot.loops.yaml", "loops: {pin: {type: weld, between: [coupler, world]}}");
  write("other.yaml", "loops: {rod: {type: distance, between: [coupler, tip], position_b: [0, 0, 0.1]}}");
  EXPECT_EQ(load()->loop_joints[0].type, LoopJointType::kFixed);
  LoadOptions options;
  options.loops = "none";
  EXPECT_TRUE(load(options)->loop_joints.empty());
  options.loops = folder_ / "other.yaml";
  const ModelPtr model = load(options);
  EXPECT_EQ(model->loop_joints[0].name, "rod");
  EXPECT_EQ(load_urdf_string(parallelogram(), folder_, options)->loop_joints.size(), 1U);
  options.loops = folder_ / "missing.yaml";
  EXPECT_THROW(load(options), InputError);
}

TEST_F(UrdfLoopFiles, FramesOfBothLinksMayBeGiven) {
  write("robot.loops.yaml", R"(
loops:
  rod: {type: distance, between: [crank, tip], position_b: [0, 0, 0.1]}
  slot:
    type: cylindrical
    between: [world, coupler]
    rpy: [0, 1.5707963267948966, 0]
    rpy_b: [0, 0, 0.5]
    limits: [[-1, 1], ~]
    friction: [1, 2]
)");
  const ModelPtr model = load();
  EXPECT_NEAR(model->loop_joints[0].length, std::hypot(1.0, 0.4), 1e-12);
  const LoopJoint& slot = model->loop_joints[1];
  EXPECT_LT((slot.frame_a.rotation * Vector3::UnitZ() - Vector3::UnitX()).norm(), 1e-12);
  EXPECT_TRUE(slot.coordinates[0].limited);
  EXPECT_FALSE(slot.coordinates[1].limited);
  EXPECT_EQ(slot.coordinates[1].friction, 2.0);
}

TEST_F(UrdfLoopFiles, ErrorsNameFileLineElementValueAndRemedy) {
  const auto loop = [](const std::string& rest) { return "loops:\n  pin:\n    " + rest; };
  EXPECT_THAT(error_of("- a"), AllOf(HasSubstr("robot.loops.yaml"), HasSubstr("loops:")));
  EXPECT_THAT(error_of("joints: {}"), AllOf(HasSubstr("robot.loops.yaml:1"), HasSubstr("loops, couplings")));
  EXPECT_THAT(error_of("loops: [a]"), HasSubstr("write a name for each"));
  EXPECT_THAT(error_of(loop("between: [coupler, tip]")), AllOf(HasSubstr("has no type"), HasSubstr("revolute")));
  EXPECT_THAT(error_of(loop("type: hing\n    between: [coupler, tip]")),
              AllOf(HasSubstr("robot.loops.yaml:3"), HasSubstr("'hing'"), HasSubstr("revolute")));
  EXPECT_THAT(error_of(loop("type: hinge")), HasSubstr("write between: [LINK, LINK]"));
  EXPECT_THAT(error_of(loop("type: hinge\n    between: [coupler]")), HasSubstr("it has 1 links"));
  EXPECT_THAT(error_of(loop("type: hinge\n    between: [couplr, tip]")),
              AllOf(HasSubstr("robot.loops.yaml:4"), HasSubstr("'couplr'"), HasSubstr("did you mean 'coupler'")));
  EXPECT_THAT(error_of(loop("type: hinge\n    between: [coupler, tip]\n    axis: [0, 0, 0]")), HasSubstr("it is zero"));
  EXPECT_THAT(error_of(loop("type: hinge\n    between: [coupler, tip]\n    axis: [0, 0, 1]\n    rpy: [0, 0, 0]")),
              HasSubstr("give axis or rpy"));
  EXPECT_THAT(error_of(loop("type: hinge\n    between: [coupler, tip]\n    limits: [2, 1]")),
              HasSubstr("the lower limit 2 is above the upper one 1"));
  EXPECT_THAT(error_of(loop("type: planar\n    between: [coupler, tip]\n    limits: [1, 2]")),
              HasSubstr("the joint has 3 coordinates"));
  EXPECT_THAT(error_of(loop("type: planar\n    between: [coupler, tip]\n    damping: [1, 2]")),
              HasSubstr("it has 2 numbers, the joint 3 coordinates"));
  EXPECT_THAT(error_of(loop("type: weld\n    between: [coupler, tip]\n    damping: 1")),
              HasSubstr("a joint of this type has no coordinates"));
  EXPECT_THAT(error_of(loop("type: hinge\n    between: [coupler, tip]\n    position: [0, x, 0]")),
              HasSubstr("'x' is not a finite number"));
  EXPECT_THAT(error_of(loop("type: hinge\n    between: [coupler, tip]\n    length: 1")),
              AllOf(HasSubstr("robot.loops.yaml:"), HasSubstr("length: a loop of type revolute has none")));
  EXPECT_THAT(error_of(loop("type: distance\n    between: [coupler, tip]\n    pitch: 1")),
              HasSubstr("choose type screw"));
  EXPECT_THAT(error_of(loop("type: screw\n    between: [coupler, tip]")), HasSubstr("a screw needs its pitch"));
  EXPECT_THAT(error_of("couplings: {gear: {driver: elbow}}"), HasSubstr("name the joint that follows"));
  EXPECT_THAT(error_of("couplings: {gear: {joint: elbo}}"), HasSubstr("did you mean 'elbow'"));
  EXPECT_THAT(error_of("couplings: {gear: {joint: 'pin[x]'}}"), HasSubstr("no number between the brackets"));
  EXPECT_THAT(error_of("couplings: {gear: {joint: elbow, polynomial: []}}"), HasSubstr("it has 0 numbers"));
  // The builder's own checks say where, too.
  EXPECT_THAT(error_of(loop("type: hinge\n    between: [coupler, coupler]")),
              AllOf(HasSubstr("robot.loops.yaml"), HasSubstr("pin")));
}

}  // namespace
}  // namespace touchstone
