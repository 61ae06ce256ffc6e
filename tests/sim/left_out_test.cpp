// Contacts and limits that are left out of a step's problem because they stay open.
#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone {
namespace {

int left_out(Simulator& sim) {
  const std::span<const char> blocks = sim.context().left_out.blocks();
  return static_cast<int>(std::count(blocks.begin(), blocks.end(), 1));
}

ModelPtr scene_of(const std::string& bodies, const std::string& gravity) {
  return load_mjcf_string(fmt::format(
      "<mujoco><option timestep='0.002' gravity='{}'/><worldbody>{}</worldbody></mujoco>", gravity, bodies));
}

// A ball leaves a wall slowly, and another one strikes it towards the wall.
TEST(LeftOut, WhatIsStruckTakesPartAfterAll) {
  const ModelPtr model = scene_of(
      "<geom type='box' size='.1 .1 .1' pos='-.1 0 0'/>"
      "<body pos='.0302 0 0'><joint type='slide' axis='1 0 0'/><geom size='.03' mass='1'/></body>"
      "<body pos='.0995 0 0'><joint type='slide' axis='1 0 0'/><geom size='.03' mass='1'/></body>",
      "0 0 0");
  Simulator sim(model);
  State start(*model);
  start.v << 0.01, -1.0;
  sim.reset(start);
  int most = 0, steps_after = 0;
  for (int i = 0; i < 20; ++i) {
    const StepReport& report = sim.step();
    EXPECT_EQ(report.status, StepStatus::kOk);
    EXPECT_LE(report.residuals.natv_relative, 1e-6);
    EXPECT_GE(sim.state().q[0], -0.0002 - 1e-5) << i;  // where it touches the wall
    if (sim.state().v[0] <= 0.0) ++steps_after;
    if (steps_after == 0) most = std::max(most, left_out(sim));
  }
  EXPECT_GT(most, 0);         // the wall was left out before
  EXPECT_GT(steps_after, 0);  // and the ball was struck in time
}

// The same beside a ball that leaves the wall undisturbed: that one stays left out when the other is struck.
TEST(LeftOut, WhatIsNotStruckStaysLeftOut) {
  const ModelPtr model = scene_of(
      "<geom type='box' size='.1 .3 .1' pos='-.1 0 0'/>"
      "<body pos='.0302 0 0'><joint type='slide' axis='1 0 0'/><geom size='.03' mass='1'/></body>"
      "<body pos='.0995 0 0'><joint type='slide' axis='1 0 0'/><geom size='.03' mass='1'/></body>"
      "<body pos='.0302 .2 0'><joint type='slide' axis='1 0 0'/><geom size='.03' mass='1'/></body>",
      "0 0 0");
  Simulator sim(model);
  State start(*model);
  start.v << 0.01, -1.0, 0.01;
  sim.reset(start);
  int before = -1;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(sim.step().status, StepStatus::kOk);
    if (sim.state().v[0] <= 0.0) break;
    before = left_out(sim);
  }
  ASSERT_LE(sim.state().v[0], 0.0) << "the ball was struck in time";
  EXPECT_EQ(before, 2);
  EXPECT_EQ(left_out(sim), 1);
  EXPECT_LE(sim.report().residuals.natv_relative, 1e-6);
}

// Grains that fall on a plane and on each other: the velocities of a step are those of one in which all take part,
// which steps without a warm start are. Without friction, so that there is one solution only.
TEST(LeftOut, DoesNotChangeTheMotion) {
  std::mt19937 draw(3);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  int steps_with = 0;
  for (int scene = 0; scene < 10; ++scene) {
    std::string bodies = "<geom type='plane' size='9 9 1' condim='1'/>";
    for (int i = 0; i < 6; ++i) {
      bodies += fmt::format("<body pos='{} {} {}'><freejoint/><geom size='{}' mass='1' condim='1'/></body>",
                            0.02 * unit(draw), 0.02 * unit(draw), 0.03 + 0.062 * i, 0.025 + 0.004 * unit(draw));
    }
    const ModelPtr model = scene_of(bodies, "0 0 -9.81");
    SimulatorOptions cold_options;
    cold_options.warm_start = false;
    Simulator sim(model), cold(model, cold_options);
    for (int i = 0; i < 150; ++i) {
      const State before = sim.state();
      EXPECT_EQ(sim.step().status, StepStatus::kOk);
      EXPECT_LE(sim.report().residuals.natv_relative, 1e-6);
      if (left_out(sim) == 0) continue;
      cold.reset(before);
      cold.step();
      EXPECT_EQ(left_out(cold), 0);
      if (cold.report().contacts != sim.report().contacts) continue;  // a first step looks farther around
      ++steps_with;
      EXPECT_LT((sim.state().v - cold.state().v).lpNorm<Eigen::Infinity>(), 1e-4) << scene << ", " << i;
    }
  }
  EXPECT_GT(steps_with, 100);
}

}  // namespace
}  // namespace touchstone
