// What the viewer is told about joints that close loops: everything that each type holds.
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "touchstone/model/builder.hpp"
#include "touchstone/model/loop_joint.hpp"
#include "touchstone/viewer/replay.hpp"

namespace touchstone {
namespace {

using nlohmann::json;

// Two free bodies, and a loop joint of every type between them.
ModelPtr model_of_all_types() {
  ModelBuilder b("loops");
  const Shape ball{.type = ShapeType::kSphere, .size = Vector3::Constant(0.1)};
  int bodies[2];
  for (int& body : bodies) {
    body = b.add_body({.inertia = mass_properties(ball, 1000.0)});
    b.add_joint({.body = body, .type = JointType::kFree});
  }
  for (int t = 0; t <= static_cast<int>(LoopJointType::kPointOnPlane); ++t) {
    LoopJoint joint{.type = static_cast<LoopJointType>(t), .body_a = bodies[0], .body_b = bodies[1]};
    joint.name = std::string(to_string(joint.type));
    joint.length = 0.7;
    joint.pitch = -0.2;
    b.add_loop_joint(joint);
  }
  b.add_equality({.name = "connect", .type = EqualityType::kConnect, .a = bodies[0], .b = bodies[1]});
  b.add_equality({.name = "weld", .type = EqualityType::kWeld, .a = bodies[0], .b = bodies[1]});
  return b.build();
}

TEST(LoopsJson, SaysWhatEachTypeHolds) {
  const ModelPtr model = model_of_all_types();
  const json loops = json::parse(scene_json(*model, State(*model)))["loops"];
  ASSERT_EQ(loops.size(), model->loop_joints.size() + 2);
  const auto loop = [&](const std::string& name) {
    for (const json& entry : loops) {
      if (entry["name"] == name) return entry;
    }
    ADD_FAILURE() << name;
    return json::object();
  };
  const auto expect = [&](const std::string& name, const json& held, const char* turn) {
    EXPECT_EQ(loop(name)["held"], held) << name;
    EXPECT_EQ(loop(name)["turn"], turn) << name;
    EXPECT_EQ(loop(name).contains("length"), name == "distance") << name;
    EXPECT_EQ(loop(name).contains("pitch"), name == "screw") << name;
  };
  expect("connect", {true, true, true}, "none");
  expect("weld", {true, true, true}, "all");
  expect("fixed", {true, true, true}, "all");
  expect("revolute", {true, true, true}, "axis");
  expect("prismatic", {true, true, false}, "all");
  expect("cylindrical", {true, true, false}, "axis");
  expect("screw", {true, true, false}, "axis");
  expect("universal", {true, true, true}, "square");
  expect("gimbal", {true, true, true}, "none");
  expect("spherical", {true, true, true}, "none");
  expect("planar", {false, false, true}, "axis");
  expect("cartesian", {false, false, false}, "all");
  expect("distance", {false, false, false}, "none");
  expect("point_on_line", {true, true, false}, "none");
  expect("point_on_plane", {false, false, true}, "none");
  EXPECT_EQ(loop("distance")["length"], 0.7);
  EXPECT_EQ(loop("screw")["pitch"], -0.2);
}

// A measure that nothing of this says would be a joint that stays green however far it is open.
TEST(LoopsJson, NoRowIsForgotten) {
  const ModelPtr model = model_of_all_types();
  for (const LoopJoint& joint : model->loop_joints) {
    const HeldMotions held = held_motions(joint.type);
    int rows = (held.distance ? 1 : 0) + (held.travel ? 1 : 0);
    for (const bool way : held.ways) rows += way ? 1 : 0;
    const int of_turns[] = {0, 2, 3, 1};  // none, axis, all, square
    EXPECT_EQ(rows + of_turns[static_cast<std::size_t>(held.turn)], row_count(joint.type)) << joint.name;
  }
}

}  // namespace
}  // namespace touchstone
