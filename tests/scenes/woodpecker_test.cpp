// The woodpecker toy: its cycle against what is published.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "touchstone/io/mjcf.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

// Glocker's toy (1995, p. 162 ff.; Leine, Glocker and van Campen 2001) with all arms `k` times longer, inertias and the
// spring k^2 times larger, and the same play between sleeve, beak and pole: angles are k times smaller, and everything
// else is the same. Their equations take turns for small; this does as k grows.
ModelPtr long_armed_toy(double k) {
  const double sphere = 1e-5, play = 0.0006, beak_play = 0.0024;
  const double arm = 0.0031 * k, hinge = 0.010 * k, beak = (0.015 - 0.0201) * k;
  const std::string text = fmt::format(
      "<mujoco><compiler angle='radian'/><default><geom friction='.3' size='1e-5'/></default><worldbody>"
      "<geom type='plane' size='1 1 1' pos='{} 0 0' xyaxes='0 1 0 0 0 1' contype='1' conaffinity='1'/>"
      "<geom type='plane' size='1 1 1' pos='{} 0 0' xyaxes='0 1 0 0 0 1' contype='2' conaffinity='2'/>"
      "<body><inertial pos='0 0 0' mass='.0003' diaginertia='{J} {J} {J}'/><joint type='slide' axis='0 0 1'/>"
      "<joint axis='0 -1 0'/><geom pos='{x} 0 {z}'/><geom pos='{x} 0 -{z}'/>"
      "<body pos='{hinge} 0 0'><inertial pos='{com} 0 0' mass='.0045' diaginertia='{I} {I} {I}'/>"
      "<joint axis='0 -1 0' stiffness='{c}'/><geom name='beak' pos='{beak} 0 {top}' contype='2' conaffinity='2'/>"
      "</body></body></worldbody></mujoco>",
      arm - play, hinge + beak - beak_play, fmt::arg("J", 5e-9 * k * k), fmt::arg("x", arm + sphere),
      fmt::arg("z", 0.0058 * k), fmt::arg("hinge", hinge), fmt::arg("com", 0.015 * k), fmt::arg("I", 7e-7 * k * k),
      fmt::arg("c", 0.0056 * k * k), fmt::arg("beak", beak + sphere), fmt::arg("top", 0.02 * k));
  auto model = std::make_shared<Model>(*load_mjcf_string(text));
  for (std::size_t i = 0; i < model->shapes.size(); ++i) {
    if (model->shapes[i].name == "beak") model->defaults.shape_material[i].restitution = 0.5;
  }
  return model;
}

struct Cycle {
  std::vector<double> times, heights;           // when the beak hits, and where the sleeve is then
  double lowest = 0.0, highest = 0.0;           // turn of the bird in the second half of the time, rad
  double sleeve = 0.0, fall = 0.0, spin = 0.0;  // turn and velocity of the sleeve, spin of the bird, where it last
                                                // passed the published start
  int fallbacks = 0;
};

// The start of the cycle that is published: the sleeve slides on its low corner.
constexpr double kTurn = -0.2788, kFall = -0.3411, kSpin = -7.4583, kSleeve = -0.1036;

// q: height, turn of the sleeve, turn of the bird against it. Angles are given as those of k = 1.
Cycle run_toy(const ModelPtr& model, SimulatorOptions options, double k, double seconds) {
  Simulator sim(model, options);
  sim.state().q << 0.0, 0.96 * kSleeve / k, (kTurn - 0.96 * kSleeve) / k;
  sim.state().v << kFall, 0.0, kSpin / k;
  Cycle cycle;
  while (sim.state().time < seconds) {
    const State before = sim.state();
    if (sim.step().status == StepStatus::kDiverged) break;
    const State& after = sim.state();
    const double turn = k * (after.q[1] + after.q[2]), spin = k * (after.v[1] + after.v[2]);
    cycle.fallbacks += sim.report().events.fallbacks;
    const double event = sim.report().events.events > 0 ? sim.report().events.last : after.time;
    if (k * (before.v[1] + before.v[2]) > 1.0 && spin < -1.0 && turn > 0.1) {
      cycle.times.push_back(event);
      cycle.heights.push_back(after.q[0]);
    }
    // While the sleeve slides on its low corner and the bird goes down.
    const double turn_before = k * (before.q[1] + before.q[2]);
    if (turn_before > kTurn && turn <= kTurn) {
      const double share = (turn_before - kTurn) / (turn_before - turn);
      cycle.sleeve = k * after.q[1];
      cycle.fall = (1.0 - share) * before.v[0] + share * after.v[0];
      cycle.spin = (1.0 - share) * k * (before.v[1] + before.v[2]) + share * spin;
    }
    if (after.time < 0.5 * seconds) continue;
    cycle.lowest = std::min(cycle.lowest, turn);
    cycle.highest = std::max(cycle.highest, turn);
  }
  return cycle;
}

double period_of(const Cycle& cycle) {
  const std::size_t n = cycle.times.size() - 1;
  return (cycle.times[n] - cycle.times[n - 4]) / 4.0;
}

double drop_of(const Cycle& cycle) {
  const std::size_t n = cycle.heights.size() - 1;
  return (cycle.heights[n - 4] - cycle.heights[n]) / 4.0;
}

SimulatorOptions toy_options(double h) {
  SimulatorOptions options;
  options.integrator = Integrator::kEvent;
  options.stabilisation.restitution_threshold = 1e-3;
  options.time_step = h;
  return options;
}

TEST(Woodpecker, PecksAsItIsPublished) {
  const Cycle cycle = run_toy(long_armed_toy(100.0), toy_options(0.0005), 100.0, 2.5);
  ASSERT_GE(cycle.times.size(), 12u);
  EXPECT_EQ(cycle.fallbacks, 0);
  RecordProperty("figures",
                 fmt::format("period {} drop {} sleeve {} fall {} spin {} from {} to {}", period_of(cycle),
                             drop_of(cycle), cycle.sleeve, cycle.fall, cycle.spin, cycle.lowest, cycle.highest));
  EXPECT_NEAR(cycle.sleeve, kSleeve, 0.005 * std::abs(kSleeve));
  EXPECT_NEAR(cycle.fall, kFall, 0.015 * std::abs(kFall));
  EXPECT_NEAR(cycle.spin, kSpin, 0.015 * std::abs(kSpin));
  // Moreau's time stepping of their equations with 1 us (a program of its own): 0.1460 s, 19.45 mm, -0.530 to 0.120
  // rad.
  EXPECT_NEAR(period_of(cycle), 0.1460, 0.005 * 0.1460);
  EXPECT_NEAR(drop_of(cycle), 0.01945, 0.015 * 0.01945);
  EXPECT_NEAR(cycle.lowest, -0.530, 0.005 * 0.530);
  EXPECT_NEAR(cycle.highest, 0.120, 0.01 * 0.120);
}

// The toy as it is: turns of half a radian are no longer small. The same cycle by time stepping with short steps.
TEST(Woodpecker, TheSceneAgreesWithTimeStepping) {
  const Scene scene = make_scene("woodpecker");
  SimulatorOptions options = scene.options;
  options.time_step = 0.001;
  const Cycle cycle = run_toy(scene.model, options, 1.0, 1.5);
  ASSERT_GE(cycle.times.size(), 8u);
  EXPECT_EQ(cycle.fallbacks, 0);
  options.integrator = Integrator::kSemiImplicitEuler;
  options.time_step = 2e-5;
  const Cycle stepped = run_toy(scene.model, options, 1.0, 1.0);
  ASSERT_GE(stepped.times.size(), 5u);
  EXPECT_NEAR(period_of(cycle), period_of(stepped), 5e-4);
  EXPECT_NEAR(drop_of(cycle), drop_of(stepped), 3e-4);
  EXPECT_NEAR(cycle.lowest, stepped.lowest, 2e-3);
}

}  // namespace
}  // namespace touchstone
