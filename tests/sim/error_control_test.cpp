// Steps whose parts follow from an accuracy: true errors, impacts, motions that are not unique, bounds, bits.
#include <cmath>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

SimulatorOptions within(double accuracy, double step, Integrator integrator = Integrator::kSemiImplicitEuler) {
  SimulatorOptions options;
  options.accuracy = accuracy;
  options.time_step = step;
  options.integrator = integrator;
  return options;
}

// A ball of 1 kg above the ground.
ModelPtr ball(double height) {
  return load_mjcf_string("<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 " +
                          std::to_string(height + 0.1) +
                          "'><freejoint/><geom size='0.1' mass='1'/></body></worldbody></mujoco>");
}

ModelPtr double_pendulum() {
  return load_mjcf_string(R"(<mujoco><worldbody><body><joint axis='0 1 0'/>
    <geom type='capsule' fromto='0 0 0 0 0 -.5' size='.02' contype='0' conaffinity='0'/>
    <body pos='0 0 -.5'><joint axis='0 1 0'/>
    <geom type='capsule' fromto='0 0 0 0 0 -.5' size='.02' contype='0' conaffinity='0'/></body></body></worldbody></mujoco>)");
}

struct Outcome {
  State state;
  AccuracyReport account;
};

Outcome run(const ModelPtr& model, const State& start, double seconds, const SimulatorOptions& options) {
  Simulator sim(model, options);
  sim.reset(start);
  Outcome result;
  const int steps = static_cast<int>(std::lround(seconds / options.time_step));
  for (int i = 0; i < steps; ++i) {
    EXPECT_EQ(sim.step().status, StepStatus::kOk);
    result.account.add(sim.report().accuracy);
  }
  EXPECT_NEAR(sim.state().time, seconds, 1e-9);
  result.state = sim.state();
  return result;
}

// Euler's rule: parts of the root of the accuracy, and the error of a second as large as they are. The variational
// rule, of second order: parts of its third root, and the error as their square.
TEST(ErrorControl, SmoothMotionConvergesWithTheAccuracy) {
  const ModelPtr model = double_pendulum();
  State start(*model);
  start.q << 2.0, 1.0;
  const VectorX truth = run(model, start, 1.0, within(0.0, 1e-4, Integrator::kVariational)).state.q;
  for (const Integrator integrator : {Integrator::kSemiImplicitEuler, Integrator::kVariational}) {
    double last = 1.0;
    int parts = 0;
    for (const double accuracy : {1e-4, 1e-6, 1e-8}) {
      const Outcome r = run(model, start, 1.0, within(accuracy, 0.1, integrator));
      const double error = (r.state.q - truth).cwiseAbs().maxCoeff();
      EXPECT_LT(error, 0.25 * last) << accuracy;
      EXPECT_LE(r.account.error, accuracy);
      EXPECT_EQ(r.account.missed, 0);
      EXPECT_GT(r.account.parts, 3 * parts);
      last = error;
      parts = r.account.parts;
    }
    EXPECT_LT(last, integrator == Integrator::kVariational ? 1e-5 : 1e-3);
  }
}

// The height of a bounce depends on when it hits: parts shrink there, and the error falls with the accuracy.
TEST(ErrorControl, BouncesAreAsAccurateAsAsked) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><worldbody><geom type='plane' size='5 5 1' solref='-100000 0'/><body pos='0 0 1.1'><freejoint/>"
      "<geom size='0.1' mass='1' solref='-100000 0'/></body></worldbody></mujoco>");
  const double fall = std::sqrt(2.0 / 9.81), t = 0.6, u = t - fall;
  const double height = std::sqrt(2.0 * 9.81) * u - 0.5 * 9.81 * u * u + 0.1;
  for (const double accuracy : {1e-3, 1e-4, 1e-5}) {
    // Euler's rule: parts of sqrt(4 accuracy / g), each wrong by at most the accuracy, all in the same direction.
    const Outcome euler = run(model, State(*model), t, within(accuracy, 0.02));
    EXPECT_NEAR(euler.state.q[2], height, t * std::sqrt(9.81 * accuracy) + 10.0 * accuracy) << accuracy;
    // The midpoint rule falls exactly; what is left is the part of the impact.
    const Outcome midpoint = run(model, State(*model), t, within(accuracy, 0.02, Integrator::kMoreauMidpoint));
    EXPECT_NEAR(midpoint.state.q[2], height, 10.0 * accuracy) << accuracy;
    EXPECT_EQ(euler.account.missed + midpoint.account.missed, 0);
    EXPECT_LT(midpoint.account.smallest, 20.0 * accuracy / std::sqrt(2.0 * 9.81));  // by the speed of the impact
    EXPECT_LT(midpoint.account.parts, 200);                                         // but only there
  }
}

// Random scenes: every step ends, within the parts that min_step allows, and what is missed is said.
TEST(ErrorControl, IsBoundedOnRandomScenes) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  for (int scene = 0; scene < 30; ++scene) {
    std::string xml = "<mujoco><worldbody><geom type='plane' size='5 5 1'/>";
    const int bodies = 1 + scene % 4;
    for (int i = 0; i < bodies; ++i) {
      const char* shape = i % 3 == 0   ? "type='box' size='.1 .07 .05'"
                          : i % 3 == 1 ? "size='.08'"
                                       : "type='capsule' size='.05 .1'";
      xml += "<body pos='" + std::to_string(0.1 * unit(random)) + " " + std::to_string(0.1 * unit(random)) + " " +
             std::to_string(0.3 + 0.3 * i) + "'><freejoint/><geom mass='1' " + shape + "/></body>";
    }
    const ModelPtr model = load_mjcf_string(xml + "</worldbody></mujoco>");
    SimulatorOptions options = within(1e-4, 0.02, static_cast<Integrator>(scene % 3));
    options.min_step = 1e-5;
    if (scene % 5 == 0) options.solver = "lagged";
    Simulator sim(model, options);
    for (int i = 0; i < 6 * bodies; ++i) sim.state().v[i] = unit(random);
    for (int i = 0; i < 50; ++i) {
      const StepReport& report = sim.step();
      ASSERT_NE(report.status, StepStatus::kDiverged);
      ASSERT_LE(report.accuracy.parts, 2000 + 1);
      ASSERT_EQ(report.accuracy.missed > 0, report.warnings.accuracy_missed);
      ASSERT_TRUE(report.accuracy.error <= 1e-4 || report.accuracy.missed > 0);
      ASSERT_GE(report.accuracy.smallest, 1e-5);
    }
    EXPECT_LT(sim.report().penetration, 1e-3);
  }
}

TEST(ErrorControl, SameBitsThroughSnapshotsAndNothingIsAllocated) {
  const ModelPtr model = ball(0.05);
  const SimulatorOptions options = within(1e-4, 0.01);
  Simulator one(model, options), two(model, options);
  one.step(30);
  const Simulator::Snapshot snapshot = one.save();
  one.step(30);
  two.step(3);
  two.restore(snapshot);
  two.step(30);
  EXPECT_TRUE(one.state() == two.state());
  one.reset();
  one.step(60);
  EXPECT_TRUE(one.state() == two.state());
  if (!test::AllocationGuard::available()) return;
  const test::AllocationGuard guard;
  one.step(10);
  EXPECT_EQ(guard.allocations(), 0u);
}

TEST(ErrorControl, BadOptionsAreRefused) {
  const ModelPtr model = ball(1.0);
  SimulatorOptions options = within(-1.0, 0.01);
  EXPECT_THROW(Simulator(model, options), Error);
  options = within(1e-4, 0.01);
  options.substeps = 2;
  EXPECT_THROW(Simulator(model, options), Error);
  options.substeps = 1;
  options.sleep.mode = SleepMode::kOn;
  EXPECT_THROW(Simulator(model, options), Error);
  options.sleep.mode = SleepMode::kOff;
  options.min_step = 0.0;
  EXPECT_THROW(Simulator(model, options), Error);
}

}  // namespace
}  // namespace touchstone
