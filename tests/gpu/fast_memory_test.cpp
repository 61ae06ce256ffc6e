// Which models fit into the shared memory of a GPU, and what is said of those that do not. No GPU is needed for that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/robot_runs.hpp"
#include "support/world_fixture.hpp"
#include "touchstone/gpu/fast_memory.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/sim/model_arrays.hpp"

namespace touchstone::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kHopper = 227 * 1024, kSmall = 99 * 1024;  // bytes of a block: H100 and H200; RTX 3090 and 4090

enum class Joints { kPlain, kLimited, kAll };  // kAll: limits, dry friction and servos with limits of their forces

ModelPtr chain(int joints, Joints kind) {
  ModelBuilder builder("chain");
  int parent = 0;
  for (int k = 0; k < joints; ++k) {
    parent = builder.add_body({.parent = parent,
                               .pose = {Vector3(0.1, 0, 0), Quaternion::Identity()},
                               .inertia = {.mass = 1.0, .inertia = 0.01 * Matrix3::Identity()}});
    const int joint = builder.add_joint({.body = parent,
                                         .axis = k % 2 == 0 ? Vector3::UnitY() : Vector3::UnitZ(),
                                         .limited = kind != Joints::kPlain,
                                         .range = Vector2(-1.0, 1.0),
                                         .friction = kind == Joints::kAll ? 0.1 : 0.0});
    if (kind != Joints::kAll) continue;
    Actuator servo{.target = joint, .bias_type = ActuatorBias::kAffine, .force_limited = true};
    servo.force_range = Vector2(-1.0, 1.0);
    builder.add_actuator(servo);
  }
  return builder.build();
}

gpu::StageLanes lanes_of(const gpu::ModelSizes& sizes, std::size_t most, int middle_contacts = 48,
                         gpu::StageLanes lanes = {}) {
  return gpu::fitting_lanes(sizes, gpu::pool_for(sizes, 8, 10), gpu::full_pool(sizes, middle_contacts), lanes, most);
}

std::string refusal_of(const gpu::ModelSizes& sizes, std::size_t most, int middle_contacts = 48) {
  try {
    lanes_of(sizes, most, middle_contacts);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

gpu::ModelSizes sizes_of(int joints, Joints kind) {
  return make_model_arrays(*chain(joints, kind), backend_options()).sizes;
}

TEST(FastMemory, RobotsFit) {
  for (const RobotFile& file : robot_files()) {
    const RobotSetup setup = set_up(file);
    if (!unsupported_features(*setup.model, backend_options()).empty()) continue;
    EXPECT_EQ(refusal_of(make_model_arrays(*setup.model, backend_options()).sizes, kHopper), "") << file.name;
  }
}

// Rows of contacts are what pools make smaller, so that is the remedy where it helps, and the number that is named
// does.
TEST(FastMemory, APoolThatFitsIsNamed) {
  const gpu::ModelSizes sizes = sizes_of(128, Joints::kLimited);
  const std::string text = refusal_of(sizes, kHopper);
  EXPECT_THAT(text, AllOf(HasSubstr("rows of contacts"), HasSubstr("227 kB"), HasSubstr("device='lanes'")));
  const std::string option = "middle_pool=";
  ASSERT_THAT(text, HasSubstr(option));
  const int fits = std::stoi(text.substr(text.find(option) + option.size()));
  EXPECT_EQ(refusal_of(sizes, kHopper, fits), "");
  EXPECT_NE(refusal_of(sizes, kHopper, fits + 1), "");
}

TEST(FastMemory, WhatNoOptionHelpsIsSaid) {
  EXPECT_THAT(refusal_of(sizes_of(128, Joints::kAll), kHopper), HasSubstr("no pool is small enough"));
  EXPECT_THAT(refusal_of(sizes_of(128, Joints::kPlain), kSmall),
              AllOf(HasSubstr("mass matrix"), HasSubstr("no option makes that less"), HasSubstr("device='lanes'")));
  EXPECT_EQ(refusal_of(sizes_of(128, Joints::kPlain), kHopper), "");
}

// The largest chains of docs/gpu.md.
TEST(FastMemory, LargestChains) {
  const struct {
    Joints kind;
    std::size_t most;
    int joints;
  } cases[] = {{Joints::kPlain, kHopper, 128}, {Joints::kLimited, kHopper, 113}, {Joints::kAll, kHopper, 85},
               {Joints::kPlain, kSmall, 113},  {Joints::kLimited, kSmall, 62},   {Joints::kAll, kSmall, 47}};
  for (const auto& c : cases) {
    int joints = 0;
    while (joints < 128 && refusal_of(sizes_of(joints + 1, c.kind), c.most).empty()) ++joints;
    EXPECT_EQ(joints, c.joints);
  }
}

// A warp works on several worlds where that fits, and on fewer where it does not.
TEST(FastMemory, WorldsOfAWarpBecomeFewer) {
  const gpu::StageLanes asked{.tree = 8, .collide = 8, .solve = 16, .finish = 8};
  EXPECT_EQ(lanes_of(sizes_of(10, Joints::kLimited), kHopper, 48, asked).tree, 8);
  const gpu::StageLanes given = lanes_of(sizes_of(120, Joints::kPlain), kHopper, 48, asked);
  EXPECT_EQ(given.tree, 16);
  EXPECT_EQ(given.collide, 8);
  EXPECT_EQ(given.finish, 16);
}

}  // namespace
}  // namespace touchstone::test
