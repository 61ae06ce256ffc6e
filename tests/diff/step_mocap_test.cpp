// Derivatives of steps in which mocap bodies move that hold others by loops.
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diff/random_loops.hpp"
#include "diff/step_compare.hpp"
#include "touchstone/io/mjcf.hpp"

namespace touchstone::test {
namespace {

constexpr double kStep = 0.002;  // s

struct Held {
  ModelPtr model;
  State state;
};

// A body with an arm, held by a hand of which the last state is that after its motion.
Held held_by(const std::string& equality) {
  const ModelPtr model = load_mjcf_string(R"(<mujoco><option timestep="0.002"/><worldbody>
    <body name="hand" mocap="true" pos="0.1 0 1" euler="10 20 30"/>
    <body name="held" pos="0.15 0.04 1.02" euler="15 18 33"><freejoint/><geom type="box" size="0.1 0.07 0.05" contype="0"/>
      <body name="arm" pos="0.1 0 0"><joint name="elbow" axis="0 1 0.3" damping="0.1"/>
        <geom type="capsule" fromto="0 0 0 0.2 0 0.05" size="0.02" contype="0"/></body></body></worldbody>
    <equality>)" + equality + "</equality></mujoco>");
  State state(*model);
  state.v << 0.2, -0.1, 0.3, 0.5, -0.4, 0.8, 0.6;
  return {model, state};
}

Held held_by(LoopJointType type, std::mt19937_64& random) {
  ModelBuilder builder;
  builder.options().time_step = kStep;
  const MassProperties inertia{0.7, Vector3(0.02, 0.03, -0.04), Vector3(0.02, 0.03, 0.025).asDiagonal()};
  const Transform X_WH{random_vector3(random), so3_exp(random_vector3(random))};
  const int hand = builder.add_body({.name = "hand", .pose = X_WH, .mocap = true});
  const int free = builder.add_body({.name = "free", .inertia = inertia});
  builder.add_joint({.body = free, .type = JointType::kFree});
  const int arm = builder.add_body({.name = "arm", .parent = free, .pose = {small(random)}, .inertia = inertia});
  builder.add_joint({.name = "elbow", .body = arm, .axis = random_vector3(random).normalized(), .damping = 0.1});
  const ModelPtr open = builder.build();
  const State state = random_state(*open, random);
  Data data(*open);
  forward_kinematics(*open, open->defaults, state, data);
  const Pose& X = data.X_WB[at(open->body("arm"))];
  LoopJoint joint{.name = "loop", .type = type, .body_a = hand, .body_b = arm};
  joint.frame_a = {small(random), so3_exp(random_vector3(random))};
  const Transform near{0.02 * random_vector3(random), so3_exp(0.1 * random_vector3(random))};
  joint.frame_b = Transform{X.p.eigen(), Quaternion(X.R.eigen())}.inverse() * (X_WH * joint.frame_a * near);
  joint.length = near.position.norm() + 0.001;
  joint.pitch = 0.1;
  if (std::uniform_int_distribution<int>(0, 1)(random) == 0) {
    std::swap(joint.body_a, joint.body_b);
    std::swap(joint.frame_a, joint.frame_b);
  }
  builder.add_loop_joint(joint);
  Held held{builder.build(), State()};
  held.state = State(*held.model);
  held.state.q = state.q;
  held.state.v = 0.3 * state.v;
  return held;
}

// The hand comes from elsewhere, at 1 m/s and 3 rad/s.
void expect_differences(const Held& held, Integrator rule, Stabilisation method, Figures& figures,
                        const std::string& what) {
  SimulatorOptions options = exact_options(method);
  options.tolerance = 1e-13;
  options.integrator = rule;
  Stepper stepper(held.model, held.state, options);
  std::vector<Transform> before = held.state.mocap;
  ASSERT_EQ(before.size(), 1u);
  before[0].position -= kStep * Vector3(0.8, -0.5, 0.3);
  before[0].rotation = so3_exp(-kStep * Vector3(1.5, 2.0, -1.7)) * before[0].rotation;
  stepper.set_mocap_before(before);
  compare(stepper, *held.model, figures, what, {1e-3, 1e-4, 1e-5});
}

struct Rule {
  const char* name;
  Integrator integrator;
  Stabilisation method;
};

class StepsHeldByMocap : public testing::TestWithParam<Rule> {};

TEST_P(StepsHeldByMocap, AgreeWithDifferences) {
  const Rule& rule = GetParam();
  Figures figures;
  for (const char* equality :
       {R"(<weld body1="hand" body2="held" torquescale="0.7"/>)", R"(<weld body1="hand" body2="arm"/>)",
        R"(<weld body1="arm" body2="hand"/>)", R"(<connect body1="hand" body2="held" anchor="0.1 0.05 0"/>)",
        R"(<connect body1="arm" body2="hand" anchor="0.2 0 0.05"/>)"}) {
    expect_differences(held_by(equality), rule.integrator, rule.method, figures, equality);
    if (HasFailure()) return;
  }
  EXPECT_EQ(figures.steps, 5);
  constexpr int kTypes = static_cast<int>(LoopJointType::kPointOnPlane) + 1;
  std::mt19937_64 random(7);
  for (int i = 0; i < 2 * kTypes; ++i) {
    const auto type = static_cast<LoopJointType>(i % kTypes);
    expect_differences(held_by(type, random), rule.integrator, rule.method, figures,
                       fmt::format("{} {}", to_string(type), i));
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.steps, 5 + kTypes);
  EXPECT_GE(figures.kept, figures.columns * 3 / 4) << figures.kept << " of " << figures.columns;
}

INSTANTIATE_TEST_SUITE_P(Rules, StepsHeldByMocap,
                         testing::Values(Rule{"euler", Integrator::kSemiImplicitEuler, Stabilisation::kBaumgarte},
                                         Rule{"midpoint", Integrator::kMoreauMidpoint, Stabilisation::kBaumgarte},
                                         Rule{"variational", Integrator::kVariational, Stabilisation::kBaumgarte}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace touchstone::test
