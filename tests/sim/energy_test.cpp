// The account of energy against closed forms, and what it warns of.
#include <cmath>

#include <gtest/gtest.h>

#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

SimulatorOptions options_of(double h) {
  SimulatorOptions options;
  options.time_step = h;
  options.tolerance = 1e-9;
  return options;
}

constexpr const char* kBall =
    "<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 1'><freejoint/><geom size='0.1' "
    "mass='2'/></body></worldbody></mujoco>";

TEST(Energy, OfABallThatFallsAndStops) {
  const double h = 0.001, m = 2.0, g = 9.81;
  Simulator sim(load_mjcf_string(kBall), options_of(h));
  EnergyAccount sum;
  double first = 0.0;
  for (int i = 0; i < 1000; ++i) {
    const EnergyAccount& e = sim.step().energy;
    if (i == 0) first = e.before();
    EXPECT_LE(e.inelastic, 0.0);
    sum.kinetic += e.error();  // all of it, summed
    sum.inelastic += e.inelastic;
    sum.constraints += e.constraints;
    sum.stabilisation += e.stabilisation;
    if (i == 100) {
      EXPECT_NEAR(e.error(), -0.5 * m * g * g * h * h, 1e-11);  // free fall: Euler's rule loses that
      EXPECT_EQ(e.inelastic, 0.0);
    }
  }
  const EnergyAccount& e = sim.report().energy;
  EXPECT_NEAR(first, m * g * 1.0, 1e-9);
  EXPECT_NEAR(e.potential, m * g * 0.1, 1e-4);
  EXPECT_NEAR(e.kinetic, 0.0, 1e-10);
  EXPECT_NEAR(sum.inelastic + sum.constraints + sum.stabilisation + sum.kinetic, -m * g * 0.9, 1e-4);
  EXPECT_NEAR(sum.inelastic, -m * g * 0.9, 0.01 * m * g);  // the impact has nearly all of it,
  EXPECT_NEAR(sum.constraints, 0.0, 1e-6);                 // and rest none
}

// Several steps at once are the same motion, and report the account of the last.
TEST(Energy, OfTheLastOfSeveralSteps) {
  const ModelPtr model = load_mjcf_string(kBall);
  Simulator together(model, options_of(0.002)), apart(model, options_of(0.002));
  for (const int count : {3, 1, 230, 20}) {
    const EnergyAccount& e = together.step(count).energy;
    for (int i = 0; i < count; ++i) apart.step();
    const EnergyAccount& expected = apart.report().energy;
    EXPECT_EQ(together.state().q, apart.state().q);
    EXPECT_EQ(together.state().v, apart.state().v);
    EXPECT_NEAR(e.before(), expected.before(), 1e-12);
    EXPECT_NEAR(e.total(), expected.total(), 1e-12);
    EXPECT_NEAR(e.error(), expected.error(), 1e-12);
  }
}

TEST(Energy, WorkOfForcesAndMotors) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='j' type='slide' axis='1 0 0' "
      "damping='0.5'/><geom "
      "size='0.1' mass='2' contype='0' conaffinity='0'/></body></worldbody><actuator><motor "
      "joint='j'/></actuator></mujoco>");
  Simulator sim(model, options_of(0.002));
  sim.input().control[0] = 3.0;
  sim.input().applied_force[0] = 1.0;
  sim.input().applied_wrench[1] << -0.5, 0, 0, 0, 0, 0;
  double actuators = 0.0, applied = 0.0, dampers = 0.0, before = 0.0;
  for (int i = 0; i < 500; ++i) {
    const EnergyAccount& e = sim.step().energy;
    actuators += e.actuators;
    applied += e.applied;
    dampers += e.dampers;
    ASSERT_NEAR(e.error(), 0.0, 1e-12);
    ASSERT_NEAR(e.dampers, -0.002 * 0.5 * sim.state().v[0] * 0.5 * (before + sim.state().v[0]), 1e-12);
    before = sim.state().v[0];
  }
  const double way = sim.state().q[0] - 0.5 * 0.002 * sim.state().v[0];  // by the mean velocity of each step
  EXPECT_NEAR(actuators, 3.0 * way, 1e-9);
  EXPECT_NEAR(applied, 0.5 * way, 1e-9);
  EXPECT_LT(dampers, 0.0);
}

// The midpoint rules move by the mean velocity and keep the energy of a thrown body.
TEST(Energy, MidpointRuleLosesNoneInFlight) {
  for (const Integrator integrator : {Integrator::kMoreauMidpoint, Integrator::kVariational}) {
    SimulatorOptions options = options_of(0.01);
    options.integrator = integrator;
    Simulator sim(
        load_mjcf_string("<mujoco><worldbody><body pos='0 0 10'><freejoint/><geom size='0.1'/></body></worldbody>"
                         "</mujoco>"),
        options);
    sim.state().v << 1, 2, 3, 4, 5, 6;
    for (int i = 0; i < 100; ++i) {
      const EnergyAccount& e = sim.step().energy;
      ASSERT_NEAR(e.total(), e.before(), 1e-10);
      ASSERT_EQ(e.inelastic, 0.0);
    }
  }
}

// A body at a ball joint that spins by more than a radian a step about an axis that is not principal: the explicit
// gyroscopic force adds energy, and the report says so. At a step that is small enough it does not. A free body may
// spin as fast as it likes (dynamics/gyroscopic.hpp).
TEST(Energy, ATimeStepThatIsTooLargeIsReported) {
  const auto warned = [](double h, const std::string& joint) {
    Simulator sim(load_mjcf_string("<mujoco><option gravity='0 0 0'/><worldbody><body><joint type='" + joint +
                                   "'/><geom type='box' size='.1 .05 .2'/></body></worldbody></mujoco>"),
                  options_of(h));
    sim.state().v.tail<3>() << 40, 10, 30;
    int count = 0;
    for (double t = 0.0; t < 0.2; t += h) count += sim.step().warnings.energy_jump ? 1 : 0;
    return count;
  };
  EXPECT_EQ(warned(0.0005, "ball"), 0);
  EXPECT_GT(warned(0.05, "ball"), 0);
  EXPECT_EQ(warned(0.05, "free"), 0);
}

TEST(Energy, DeepPenetrationIsReported) {
  Simulator sim(load_mjcf_string(kBall), options_of(0.002));
  State state = sim.state();
  state.q[2] = 0.08;  // 2 cm deep
  sim.reset(state);
  EXPECT_TRUE(sim.step().warnings.deep_penetration);
  EXPECT_GT(sim.report().energy.stabilisation, 0.0);
  sim.step(500);
  EXPECT_FALSE(sim.report().warnings.any());
}

TEST(Energy, IsOnlyWatchedIfAskedFor) {
  SimulatorOptions options = options_of(0.002);
  options.watch.energy = false;
  Simulator sim(load_mjcf_string(kBall), options);
  sim.step(10);
  EXPECT_EQ(sim.report().energy.kinetic, 0.0);
}

}  // namespace
}  // namespace touchstone
