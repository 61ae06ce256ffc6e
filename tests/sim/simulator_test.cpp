// What a user relies on: the same bits again, clear errors, statuses instead of crashes.
#include "touchstone/sim/simulator.hpp"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {
namespace {

constexpr const char* kStack =
    R"(<mujoco><option timestep='0.002'/><worldbody><geom name='floor' type='plane' size='5 5 1'/>
    <body name='low' pos='0 0 0.1'><freejoint/><geom type='box' size='.1 .1 .1' mass='2'/></body>
    <body name='high' pos='0.02 0.01 0.31'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>
    <body name='ball' pos='1 0 0.3'><freejoint/><geom size='0.1' mass='1'/></body></worldbody>
    <keyframe><key name='up' qpos='0 0 0.1 1 0 0 0  0 0 0.5 1 0 0 0  1 0 0.4 1 0 0 0'/></keyframe></mujoco>)";

ModelPtr stack() { return load_mjcf_string(kStack); }

constexpr Integrator kIntegrators[] = {Integrator::kSemiImplicitEuler, Integrator::kMoreauMidpoint,
                                       Integrator::kVariational};

std::string error_of(const SimulatorOptions& options) {
  try {
    Simulator sim(stack(), options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Simulator, SameInputGivesTheSameBits) {
  Simulator one(stack()), two(stack());
  one.step(300);
  two.step(300);
  EXPECT_TRUE(one.state() == two.state());
}

TEST(Simulator, RestoredGoesOnBitForBit) {
  Simulator sim(stack());
  sim.step(100);
  const Simulator::Snapshot snapshot = sim.save();
  sim.step(100);
  const State direct = sim.state();
  sim.step(37);
  sim.restore(snapshot);
  sim.step(100);
  EXPECT_TRUE(sim.state() == direct);
  Simulator other(stack());
  other.restore(snapshot);
  other.step(100);
  EXPECT_TRUE(other.state() == direct);
}

TEST(Simulator, ContactForcesCarryTheWeight) {
  for (const Integrator integrator : kIntegrators) {
    SimulatorOptions options;
    options.integrator = integrator;
    Simulator sim(stack(), options);
    sim.step(1000);
    EXPECT_EQ(sim.report().status, StepStatus::kOk);
    EXPECT_EQ(sim.report().islands, 2);
    EXPECT_LT(sim.report().residuals.natv_relative, 1e-6);
    EXPECT_LT(sim.report().penetration, 1e-3);
    const int low = sim.model().body("low"), high = sim.model().body("high"), ball = sim.model().body("ball");
    EXPECT_NEAR(sim.contact_wrench(low)[2], 2 * 9.81, 1e-3);  // its own weight: the load above is passed on
    EXPECT_NEAR(sim.contact_wrench(high)[2], 1 * 9.81, 1e-3);
    EXPECT_NEAR(sim.contact_wrench(ball)[2], 1 * 9.81, 1e-3);
    EXPECT_NEAR(sim.contact_wrench(0)[2], -4 * 9.81, 3e-3);
  }
}

TEST(Simulator, KeyframesAndReset) {
  Simulator sim(stack());
  sim.reset("up");
  EXPECT_EQ(sim.state().q[9], 0.5);
  sim.step(10);
  sim.reset();
  EXPECT_EQ(sim.state().q[9], 0.31);
  EXPECT_EQ(sim.state().time, 0.0);
  EXPECT_THROW(sim.reset("down"), Error);
  EXPECT_THROW(sim.reset(7), Error);
}

TEST(Simulator, BadOptionsAreNamed) {
  SimulatorOptions options;
  options.solver = "nbqs";
  EXPECT_THAT(error_of(options), testing::HasSubstr("nbgs"));
  options = {};
  options.time_step = -1.0;
  EXPECT_THAT(error_of(options), testing::HasSubstr("time_step is -1"));
  options.time_step = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(error_of(options), testing::HasSubstr("time_step"));
  options = {};
  options.tolerance = 0.0;
  EXPECT_THAT(error_of(options), testing::HasSubstr("tolerance"));
  options = {};
  options.stabilisation.erp = 2.0;
  EXPECT_THAT(error_of(options), testing::HasSubstr("erp"));
  options = {};
  options.solver_options = {"no-such-option=1"};
  EXPECT_THAT(error_of(options), testing::HasSubstr("no-such-option"));
  EXPECT_THROW(Simulator(nullptr), Error);
}

TEST(Simulator, NotANumberIsAStatusAndKeepsTheState) {
  Simulator sim(stack());
  sim.step(10);
  const State before = sim.state();
  sim.input().applied_force[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(sim.step().status, StepStatus::kDiverged);
  EXPECT_TRUE(sim.state() == before);
  sim.input().applied_force[0] = 0.0;
  EXPECT_EQ(sim.step().status, StepStatus::kOk);
}

// Whatever makes a step diverge: its report has the time of the state, which stays at the start of the step.
TEST(Simulator, DivergedStepReportsItsTrueTime) {
  const double bad[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e308};
  for (const Integrator integrator : kIntegrators) {
    for (const double force : bad) {
      for (const int substeps : {1, 3}) {
        SimulatorOptions options;
        options.integrator = integrator;
        options.substeps = substeps;
        Simulator sim(stack(), options);
        sim.step(10);
        const double time = sim.state().time;
        sim.input().applied_force[0] = force;
        const StepReport& report = sim.step();
        if (report.status != StepStatus::kDiverged) continue;  // 1e308 N may still have a finite effect
        EXPECT_EQ(report.time, time) << force;
        EXPECT_EQ(report.time, sim.state().time);
      }
    }
  }
}

TEST(Simulator, DoesNotAllocateOnceWarm) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  for (const Integrator integrator : kIntegrators) {
    SimulatorOptions options;
    options.integrator = integrator;
    options.solver = "nbgs";  // auto makes room for a method when it first needs it
    Simulator sim(stack(), options);
    sim.step(500);
    const test::AllocationGuard guard;
    sim.step(200);
    EXPECT_EQ(guard.allocations(), 0u);
  }
}

// Squeezed bodies in islands of different sizes: the position pass is at work in every step.
TEST(Simulator, APositionPassDoesNotAllocateOnceWarm) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  const ModelPtr model = load_mjcf_string(
      "<mujoco><option gravity='0 0 0'/><worldbody><geom type='box' pos='-1 0 0' size='.5 9 1'/><geom type='box' "
      "pos='1 "
      "0 0' size='.5 9 1'/><body><joint type='slide'/><geom type='box' size='.51 .1 .1'/></body><body pos='0 2 "
      "0'><joint "
      "type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 0'/><geom size='.51'/></body></worldbody></mujoco>");
  SimulatorOptions options;
  options.solver = "nbgs";
  Simulator sim(model, options);
  sim.step(50);
  ASSERT_TRUE(sim.report().warnings.recovery_conflict);
  const test::AllocationGuard guard;
  sim.step(50);
  EXPECT_EQ(guard.allocations(), 0u);
}

TEST(Simulator, IslandsDoNotChangeTheMotion) {
  SimulatorOptions together;
  together.islands = false;
  together.tolerance = 1e-10;
  SimulatorOptions apart = together;
  apart.islands = true;
  Simulator one(stack(), together), two(stack(), apart);
  one.step(100);
  two.step(100);
  EXPECT_LT((one.state().q - two.state().q).lpNorm<Eigen::Infinity>(), 1e-7);
}

// Every solver of the catalogue keeps a box at rest, with every integrator.
TEST(Simulator, EverySolverRuns) {
  for (const CatalogueEntry& entry : solver_catalogue()) {
    for (const Integrator integrator : kIntegrators) {
      SimulatorOptions options;
      options.solver = std::string(entry.name);
      options.max_iterations = 5000;
      options.integrator = integrator;
      Simulator sim(
          load_mjcf_string("<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 0.1'><freejoint/>"
                           "<geom type='box' size='.1 .1 .1'/></body></worldbody></mujoco>"),
          options);
      sim.step(50);
      EXPECT_NE(sim.report().status, StepStatus::kInvalidProblem) << entry.name << ": " << sim.report().worst;
      EXPECT_NEAR(sim.state().q[2], 0.1, 1e-3) << entry.name;
      EXPECT_LT(sim.state().v.norm(), 1e-2) << entry.name;
    }
  }
}

}  // namespace
}  // namespace touchstone
