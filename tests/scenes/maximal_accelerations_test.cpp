// The systems of the suite in reduced and in maximal coordinates: the same accelerations, motions that meet as the step
// shrinks.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/effort.hpp"
#include "support/maximal_compare.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/maximal.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/scenes/loop_samples.hpp"
#include "touchstone/scenes/loop_suite.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/mechanism.hpp"

namespace touchstone {
namespace {

// A machine that is free of inequalities: nothing touches, no joint has limits or dry friction.
Scene smooth_system(const std::string& name) {
  Scene scene = make_scene(name);
  auto model = std::make_shared<Model>(*scene.model);
  model->options.contacts_enabled = false;
  model->options.limits_enabled = false;
  model->options.friction_loss_enabled = false;
  scene.model = std::move(model);
  return scene;
}

class MaximalAccelerations : public testing::TestWithParam<std::string> {};

// Along a run, where loops are closed. Redundant rows share their reactions as they like, so those are compared on
// trees (Maximal.*).
TEST_P(MaximalAccelerations, AreThoseOfReducedCoordinates) {
  const Scene scene = smooth_system(GetParam());
  const ModelPtr maximal = to_maximal(*scene.model);
  SimulatorOptions options = scene.options;
  options.time_step = 1e-3;
  options.stabilisation.loops = LoopClosing::kClosed;
  Simulator sim(scene.model, options);
  sim.reset(scene.start);
  Mechanism mechanism(scene.model);
  const int states = test::whole_family() ? 20 : 2;
  test::MaximalFigures worst;
  for (int k = 0; k < states; ++k) {
    for (int i = 0; i < 20; ++i) {
      drive_scene(scene, sim);
      sim.step();
    }
    // Where redundant rows contradict each other, each kind of coordinates has an answer of its own.
    // The last iteration squares the error: from a place a little farther on loops are closed to rounding.
    State state = sim.state();
    integrate(*scene.model, sim.state().q, sim.state().v, 5e-3, state.q);
    ASSERT_TRUE(mechanism.close(state).closed);
    mechanism.project_velocity(state);
    test::compare_coordinates(scene.model, maximal, state, false, worst);
  }
  std::cout << GetParam() << ": " << worst.acceleration << '\n';
  EXPECT_LT(worst.acceleration, 1e-8);
}

std::string name_of(const testing::TestParamInfo<std::string>& test) {
  std::string name = test.param.substr(test.param.find('/') + 1);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Systems, MaximalAccelerations, testing::ValuesIn(suite_scenes()), name_of);

}  // namespace
}  // namespace touchstone
