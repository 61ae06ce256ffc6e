// Islands that rest cost nothing, and nothing is lost by it: what falls asleep, what does not, and what wakes it.
#include "touchstone/sim/sleep.hpp"

#include <chrono>
#include <cmath>
#include <functional>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "support/effort.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/batch.hpp"
#include "touchstone/sim/simulator.hpp"
#include "touchstone/sim/stages.hpp"

namespace touchstone {
namespace {

constexpr double kTimeStep = 0.002;

SimulatorOptions sleepy() {
  SimulatorOptions options;
  options.time_step = kTimeStep;
  options.sleep.mode = SleepMode::kOn;
  return options;
}

ModelPtr world(const std::string& bodies, const std::string& rest = "", const std::string& floor = "") {
  return load_mjcf_string(
      fmt::format("<mujoco><worldbody><geom name='floor' type='plane' size='9 9 1' {}/>{}</worldbody>{}</mujoco>",
                  floor, bodies, rest));
}

std::string box(const std::string& name, double x, double z, const std::string& attributes = "") {
  return fmt::format("<body name='{}' pos='{} 0 {}' {}><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>",
                     name, x, z, attributes);
}

// A tower, a box by itself and something far away.
std::string three() { return box("low", 0, 0.1) + box("high", 0.01, 0.3) + box("alone", 1, 0.1); }

bool sleeps(const Simulator& sim, const char* body) { return sim.is_asleep(sim.model().body(body)); }

void settle(Simulator& sim, double time = 2.0) { sim.step(static_cast<int>(time / sim.time_step())); }

double speed(const Simulator& sim) { return sim.state().v.lpNorm<Eigen::Infinity>(); }

// --- falling asleep ---

TEST(Sleep, IsOffUnlessAsked) {
  SimulatorOptions options = sleepy();
  options.sleep.mode = SimulatorOptions().sleep.mode;
  Simulator sim(world(three()), options);
  settle(sim);
  EXPECT_FALSE(sleeps(sim, "alone"));
  EXPECT_EQ(sim.report().sleep.islands, 0);
}

TEST(Sleep, RestingIslandsFallAsleepAfterTheTime) {
  Simulator sim(world(three()), sleepy());
  sim.step(static_cast<int>(0.9 * sim.options().sleep.time / kTimeStep));
  EXPECT_EQ(sim.report().sleep.islands, 0);
  settle(sim);
  EXPECT_EQ(sim.report().sleep.islands, 2);
  EXPECT_EQ(sim.report().sleep.trees, 3);
  EXPECT_EQ(sim.report().sleep.bodies, 3);
  EXPECT_TRUE(std::as_const(sim).state().v.isZero(0.0));
  const State before = sim.state();
  settle(sim);
  EXPECT_EQ(std::as_const(sim).state().q, before.q);
  EXPECT_NEAR(sim.report().time, before.time + 2.0, 1e-9);
}

TEST(Sleep, KeepsContactsForcesAndCertificate) {
  Simulator sim(world(three()), sleepy());
  settle(sim);
  const StepReport& report = sim.report();
  EXPECT_EQ(report.status, StepStatus::kOk);
  EXPECT_EQ(report.contacts, 12);
  EXPECT_EQ(report.sleep.contacts, 12);
  EXPECT_EQ(sim.contacts().size(), 12u);
  EXPECT_EQ(report.islands, 0);
  EXPECT_GT(report.residuals.natv, 0.0);
  EXPECT_LT(report.residuals.natv_relative, 1e-5);
  EXPECT_EQ(report.residuals.natv, report.sleep.residuals.natv);
  EXPECT_THAT(sim.describe_worst(), testing::HasSubstr("asleep since"));
  EXPECT_NEAR(sim.contact_wrench(sim.model().body("low"))[2], 9.81, 1e-3);  // the floor's 2 m g less what it carries
  EXPECT_NEAR(report.energy.total(), 9.81 * (0.1 + 0.3 + 0.1), 0.02);
}

TEST(Sleep, SensorsFeelWhatSleeps) {
  const ModelPtr model = world(
      "<body name='a' pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' mass='2'/><site name='s' type='box' "
      "size='.2 .2 .2'/></body>",
      "<sensor><touch name='touch' site='s'/><accelerometer name='acc' site='s'/><clock name='clock'/></sensor>");
  Simulator sim(model, sleepy());
  settle(sim);
  ASSERT_TRUE(sleeps(sim, "a"));
  EXPECT_NEAR(sim.sensor("touch")[0], 2 * 9.81, 1e-3);
  EXPECT_NEAR(sim.sensor("acc")[2], 9.81, 1e-9);
  EXPECT_NEAR(sim.sensor("clock")[0], sim.report().time - kTimeStep, 1e-9);
}

TEST(Sleep, HasAnEnergyThatDoesNotJump) {
  Simulator sim(world(three() + box("faller", 3, 5.0)), sleepy());
  double last = sim.potential_energy();
  for (int i = 0; i < 600; ++i) {
    const EnergyAccount e = sim.step().energy;
    EXPECT_NEAR(e.before(), last, 1e-6) << i;
    EXPECT_NEAR(e.total(), sim.potential_energy() + sim.kinetic_energy(), 1e-9);
    last = e.total();
  }
  EXPECT_EQ(sim.report().sleep.trees, 3);
}

// What others do does not depend on whether something sleeps.
TEST(Sleep, LeavesTheMotionOfOthersAlone) {
  for (const Integrator integrator :
       {Integrator::kSemiImplicitEuler, Integrator::kMoreauMidpoint, Integrator::kVariational}) {
    const ModelPtr model =
        world(three() +
              "<body name='arm' pos='3 0 3'><joint name='h' axis='0 1 0'/><geom type='capsule' fromto='0 0 0 1 0 0' "
              "size='.05'/><body pos='1 0 0'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 1 0 0' "
              "size='.05'/></body></body>" +
              "<body name='ball' pos='-2 0 1'><freejoint/><geom size='.1' mass='1'/></body>");
    SimulatorOptions options = sleepy();
    options.integrator = integrator;
    Simulator with(model, options);
    options.sleep.mode = SleepMode::kOff;
    Simulator without(model, options);
    settle(with);
    settle(without);
    ASSERT_EQ(with.report().sleep.trees, 4);  // the ball too
    const int q = model->joint_q[at(model->joint("h"))];
    EXPECT_EQ(with.state().q.segment(q, 2), without.state().q.segment(q, 2));
  }
}

// --- what does not ---

TEST(Sleep, SlowAccelerationIsNoRest) {
  // A slope that is 0.03 m/s^2 too steep for its friction, and one that is not.
  for (const bool slides : {true, false}) {
    const double tangent = 0.3,
                 mu = tangent - (slides ? 1.0 : -1.0) * 0.03 / (9.81 / std::sqrt(1.0 + tangent * tangent));
    const double angle = std::atan(tangent) * 180.0 / M_PI;
    const ModelPtr model =
        world(fmt::format("<body name='b' pos='0 0 {}' euler='0 {} 0'><freejoint/><geom type='box' size='.1 .1 .1' "
                          "mass='1' friction='0 0 0'/></body>",
                          0.1 / std::cos(std::atan(tangent)), angle),
              "", fmt::format("euler='0 {} 0' friction='{} 0 0'", angle, mu));
    SimulatorOptions options = sleepy();
    options.sleep.speed = 10.0;  // so that only the trend keeps it awake
    options.sleep.time = 0.1;
    Simulator sim(model, options);
    settle(sim, 3.0);
    EXPECT_EQ(sleeps(sim, "b"), !slides);
    EXPECT_NEAR(sim.state().v.head<3>().norm(), slides ? 0.09 : 0.0, 0.01);
  }
}

TEST(Sleep, SlowSlidersOfManySlopesStayAwake) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (int i = 0; i < 40; ++i) {
    const double tangent = 0.05 + 0.8 * unit(random), excess = std::pow(10.0, -2.0 + 2.0 * unit(random));  // m/s^2
    const double cosine = 1.0 / std::sqrt(1.0 + tangent * tangent), mu = tangent - excess / (9.81 * cosine);
    if (mu <= 0.0) continue;
    const double angle = std::atan(tangent) * 180.0 / M_PI;
    const ModelPtr model =
        world(fmt::format("<body name='b' pos='0 0 {}' euler='0 {} 0'><freejoint/><geom type='box' size='.1 .1 .05' "
                          "mass='1' friction='0 0 0'/></body>",
                          0.05 / cosine, angle),
              "", fmt::format("euler='0 {} 0' friction='{} 0 0'", angle, mu));
    SimulatorOptions options = sleepy();
    options.sleep.speed = 1.0;
    Simulator sim(model, options);
    settle(sim);
    EXPECT_FALSE(sleeps(sim, "b")) << tangent << ' ' << excess;
  }
}

TEST(Sleep, TurningPointsAndRollingAreNoRest) {
  const ModelPtr model = world(
      "<body name='pendulum' pos='0 0 2'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 1 0 0' "
      "size='.05'/></body>"
      "<body name='roller' pos='2 0 .1'><freejoint/><geom size='.1' mass='1' condim='3'/></body>"
      "<body name='thrown' pos='4 0 5'><freejoint/><geom size='.1' mass='1'/></body>");
  SimulatorOptions options = sleepy();
  options.sleep.time = 0.0;
  Simulator sim(model, options);
  sim.state().v[1] = 0.01;
  sim.state().v[5] = 0.1;
  const int up = model->tree_first_dof[2] + 2;
  sim.state().v[up] = 2.0;
  for (int i = 0; i < 500; ++i) {
    sim.step();
    EXPECT_FALSE(sleeps(sim, "pendulum")) << i;
    EXPECT_FALSE(sleeps(sim, "roller")) << i;
    EXPECT_FALSE(sleeps(sim, "thrown")) << i;
  }
}

TEST(Sleep, WhatIsBroughtOutOfTheGroundIsNoRest) {
  SimulatorOptions options = sleepy();
  options.sleep.time = 0.0;
  options.stabilisation.recovery_speed = 0.01;
  Simulator sim(world(box("b", 0, 0.09)), options);
  while (sim.step().recovered) EXPECT_FALSE(sleeps(sim, "b"));
  EXPECT_GT(sim.report().time, 0.5);
}

TEST(Sleep, ActivationsThatChangeAreNoRest) {
  const ModelPtr model = world(
      "<body name='b' pos='0 0 1'><joint name='j' type='slide' axis='1 0 0' frictionloss='100'/><geom "
      "size='.1'/></body>",
      "<actuator><general name='a' joint='j' dyntype='filter' dynprm='3' gainprm='1'/></actuator>");
  Simulator sim(model, sleepy());
  sim.input().control[0] = 1.0;
  settle(sim);
  EXPECT_FALSE(sleeps(sim, "b"));
  settle(sim, 60.0);
  EXPECT_TRUE(sleeps(sim, "b"));
  EXPECT_NEAR(sim.state().activation[0], 1.0, 1e-5);
}

// --- what wakes ---

struct Cause {
  const char* name;
  std::function<void(Simulator&)> act;
  bool wakes_tower = true, wakes_alone = false;
};

void PrintTo(const Cause& cause, std::ostream* out) { *out << cause.name; }

class SleepWakes : public testing::TestWithParam<Cause> {};

const char* kMachine =
    "<body name='servo' pos='5 0 1'><joint name='j' type='slide' axis='1 0 0' damping='1'/><geom size='.1'/></body>"
    "<body name='hand' mocap='true' pos='0 0 3'><geom type='box' size='.05 .05 .05'/></body>"
    "<body name='held' pos='-3 0 2'><freejoint/><geom size='.1' mass='1'/></body>"
    "<body name='holder' mocap='true' pos='-3 0 2'/>";

ModelPtr machine() {
  return world(three() + kMachine,
               "<actuator><position name='a' joint='j' kp='10'/></actuator>"
               "<equality><weld body1='held' body2='holder'/></equality>");
}

TEST_P(SleepWakes, InTheSameStep) {
  const Cause& cause = GetParam();
  Simulator sim(machine(), sleepy());
  settle(sim);
  ASSERT_EQ(sim.report().sleep.trees, 5) << "everything sleeps";
  cause.act(sim);
  sim.step();
  EXPECT_EQ(!sleeps(sim, "low"), cause.wakes_tower);
  EXPECT_EQ(!sleeps(sim, "high"), cause.wakes_tower);
  EXPECT_EQ(!sleeps(sim, "alone"), cause.wakes_alone);
  EXPECT_GT(sim.report().sleep.woken, 0);
}

int first_dof(const Simulator& sim, const char* body) {
  return sim.model().body_kernels[at(sim.model().body(body))].first_dof;
}

const Cause kCauses[] = {
    {"AppliedForce", [](Simulator& s) { s.input().applied_force[first_dof(s, "high")] = 0.1; }},
    {"AppliedWrench", [](Simulator& s) { s.input().applied_wrench[at(s.model().body("low"))][5] = 0.1; }},
    {"Velocity", [](Simulator& s) { s.state().v[first_dof(s, "low")] = 1e-9; }},
    {"Configuration", [](Simulator& s) { s.state().q[2] += 1e-3; }},
    {"Gravity", [](Simulator& s) { s.parameters().gravity.x() = 0.01; }, true, true},
    {"Friction", [](Simulator& s) { s.parameters().shape_material[0].friction[0] = 0.3; }, true, true},
    {"Mass", [](Simulator& s) { s.parameters().body_inertia[at(s.model().body("high"))].mass = 2.0; }, true, true},
    {"Gain", [](Simulator& s) { s.parameters().actuator_gain[0][0] = 20.0; }, true, true},
    {"Call", [](Simulator& s) { s.wake(s.model().body("high")); }},
    {"CallForAll", [](Simulator& s) { s.wake(); }, true, true},
    {"Control", [](Simulator& s) { s.input().control[0] = 0.1; }, false, false},
    {"MocapTouches", [](Simulator& s) { s.state().mocap[0].position.z() = 0.44; }},
    {"MocapHolds", [](Simulator& s) { s.state().mocap[1].position.z() += 0.001; }, false, false},
};

INSTANTIATE_TEST_SUITE_P(Causes, SleepWakes, testing::ValuesIn(kCauses),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(Sleep, WakesTheServoAndTheHeld) {
  Simulator sim(machine(), sleepy());
  settle(sim);
  sim.input().control[0] = 0.1;
  sim.state().mocap[1].position.z() += 0.001;
  sim.step();
  EXPECT_FALSE(sleeps(sim, "servo"));
  EXPECT_FALSE(sleeps(sim, "held"));
  EXPECT_NEAR(sim.state().v[first_dof(sim, "held") + 2], 0.5, 1e-3);  // 1 mm in 2 ms
}

// Also in the very step in which it would have fallen asleep.
TEST(Sleep, LosesNoVelocityThatIsGivenToIt) {
  for (int steps = 246; steps <= 256; ++steps) {
    Simulator sim(world(box("b", 0, 0.1)), sleepy());
    sim.step(steps);
    sim.state().v[0] = 1.0;
    sim.step();
    EXPECT_FALSE(sleeps(sim, "b")) << steps;
    EXPECT_NEAR(sim.state().v[0], 1.0 - 9.81 * kTimeStep, 1e-3) << steps;
  }
}

TEST(Sleep, AFarMocapBodyWakesNobody) {
  Simulator sim(machine(), sleepy());
  settle(sim);
  for (int i = 0; i < 100; ++i) {
    sim.state().mocap[0].position.x() += 0.01;
    EXPECT_EQ(sim.step().sleep.trees, 5);
  }
}

TEST(Sleep, AFloorThatGoesWakesWhatLiesOnIt) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><worldbody><body name='floor' mocap='true'><geom type='box' size='1 1 .1'/></body>"
      "<body name='b' pos='0 0 .2'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
      "<body name='cart' mocap='true' pos='5 0 0'><body name='arm'><joint axis='0 0 1' damping='1'/><geom size='.1' "
      "pos='1 0 0'/></body></body></worldbody></mujoco>");
  Simulator sim(model, sleepy());
  settle(sim);
  ASSERT_TRUE(sleeps(sim, "b") && sleeps(sim, "arm"));
  sim.state().mocap[0].position.z() = -3.0;
  sim.state().mocap[1].position.y() = 0.01;
  sim.step();
  EXPECT_FALSE(sleeps(sim, "b"));
  EXPECT_FALSE(sleeps(sim, "arm"));
  sim.step(100);
  EXPECT_LT(speed(sim), 2.5);
  EXPECT_GT(speed(sim), 1.9);
}

TEST(Sleep, AllBodiesInOneProblemSleepOneByOneAllTheSame) {
  SimulatorOptions options = sleepy();
  options.islands = false;
  Simulator sim(world(three()), options);
  settle(sim);
  EXPECT_EQ(sim.report().sleep.islands, 2);
  sim.wake(sim.model().body("alone"));
  EXPECT_EQ(sim.step().sleep.contacts, 8);
}

TEST(Sleep, SnapshotsOfOthersAreTaken) {
  SimulatorOptions awake = sleepy();
  awake.sleep.mode = SleepMode::kOff;
  Simulator on(world(three()), sleepy()), off(on.model_ptr(), awake);
  settle(on);
  settle(off);
  const Simulator::Snapshot asleep = on.save();
  on.restore(off.save());
  EXPECT_FALSE(sleeps(on, "low"));
  off.restore(asleep);
  EXPECT_FALSE(sleeps(off, "low"));
  on.step(100);
  off.step(100);
  EXPECT_LT(speed(on) + speed(off), 1e-3);
}

TEST(Sleep, ConstantForcesWakeNobody) {
  Simulator sim(world(box("b", 0, 0.1)), sleepy());
  sim.input().applied_force[0] = 1.0;  // friction holds it
  settle(sim);
  ASSERT_TRUE(sleeps(sim, "b"));
  sim.input().applied_force[0] = 0.0;
  sim.step();
  EXPECT_FALSE(sleeps(sim, "b"));
}

// --- momentum ---

TEST(Sleep, AHitSleeperMovesLikeOneThatIsAwake) {
  for (const double v : {0.3, 3.0, 30.0, 300.0}) {
    const ModelPtr model = world(box("target", 0, 0.1) + box("stacked", 0, 0.3) +
                                 "<body name='ball' pos='2 0 .1'><freejoint/><geom size='.1' mass='1'/></body>");
    const auto run = [&](bool asleep) {
      SimulatorOptions options = sleepy();
      options.sleep.mode = asleep ? SleepMode::kOn : SleepMode::kOff;
      Simulator sim(model, options);
      settle(sim);
      EXPECT_EQ(sleeps(sim, "target"), asleep);
      sim.state().v[first_dof(sim, "ball")] = -v;
      sim.state().v[first_dof(sim, "ball") + 4] = -v / 0.1;  // it rolls
      while (sim.state().q[sim.model().joint_q[2]] > 0.2 && sim.report().time < 20.0) {
        sim.step();
        const bool is_far = sim.state().q[sim.model().joint_q[2]] > 0.3 + 2 * v * kTimeStep;
        EXPECT_TRUE(!is_far || sleeps(sim, "target") == asleep);
      }
      sim.step(20);
      EXPECT_FALSE(sleeps(sim, "target"));
      return VectorX(sim.state().v);
    };
    const VectorX awake = run(false), woken = run(true);
    EXPECT_NEAR((awake - woken).lpNorm<Eigen::Infinity>(), 0.0, 1e-4 * v + 1e-4) << v;
    EXPECT_GT(awake.lpNorm<Eigen::Infinity>(), 0.05 * v);
  }
}

// --- heaps ---

std::string heap(std::mt19937_64& random, int count) {
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  std::string bodies;
  for (int i = 0; i < count; ++i) {
    const char* shapes[] = {"type='box' size='.1 .08 .06'", "type='sphere' size='.09'", "type='capsule' size='.06 .08'",
                            "type='cylinder' size='.08 .06'"};
    bodies += fmt::format(
        "<body name='b{}' pos='{} {} {}' euler='{} {} {}'><freejoint/><geom {} mass='{}' condim='6' "
        "friction='.8 .01 .01'/></body>",
        i, 0.15 * unit(random), 0.15 * unit(random), 0.15 + 0.2 * i, 90 * unit(random), 90 * unit(random),
        90 * unit(random), shapes[random() % 4], 0.5 + 0.4 * unit(random));
  }
  return bodies;
}

TEST(Sleep, HeapsThatSleepStayWhereTheyAreWhenWoken) {
  std::mt19937_64 random(11);
  const int heaps = test::whole_family() ? 200 : 20;
  int asleep = 0;
  for (int i = 0; i < heaps; ++i) {
    Simulator sim(world(heap(random, 6)), sleepy());
    settle(sim, 4.0);
    if (sim.report().sleep.trees < 6) continue;
    ++asleep;
    const VectorX q = sim.state().q;
    sim.wake();
    sim.step(50);
    EXPECT_LT((sim.state().q - q).lpNorm<Eigen::Infinity>(), 2e-5) << i;
  }
  EXPECT_GT(asleep, heaps * 3 / 4);
}

// --- the same bits ---

TEST(Sleep, GivesTheSameBitsAgain) {
  std::mt19937_64 random(3);
  const ModelPtr model = world(heap(random, 8) + three());
  const auto run = [&](Simulator& sim, int steps) {
    for (int i = 0; i < steps; ++i) {
      if (i % 1500 == 1499) sim.input().applied_force[0] = 1.0 - sim.input().applied_force[0];
      sim.step();
    }
  };
  Simulator one(model, sleepy()), two(model, sleepy());
  run(one, 4000);
  run(two, 4000);
  EXPECT_TRUE(one.state() == two.state());
  EXPECT_GT(one.report().sleep.trees, 0);
}

TEST(Sleep, SnapshotsKeepIt) {
  const ModelPtr model = world(three() + "<body name='ball' pos='-.35 0 3'><freejoint/><geom size='.1'/></body>" +
                               "<body name='roller' pos='3 0 .1'><freejoint/><geom size='.1'/></body>");
  Simulator sim(model, sleepy());
  sim.state().v[first_dof(sim, "roller")] = -0.5;
  sim.step(500);  // the tower sleeps, the roller is on its way to the box
  ASSERT_GE(sim.report().sleep.trees, 3);
  const Simulator::Snapshot snapshot = sim.save();
  sim.step(3000);
  const State direct = sim.state();
  sim.restore(snapshot);
  EXPECT_TRUE(sleeps(sim, "low"));
  EXPECT_GE(sim.contacts().size(), 12u);
  sim.step(3000);
  EXPECT_TRUE(sim.state() == direct);
  Simulator other(model, sleepy());
  other.restore(snapshot);
  other.step(3000);
  EXPECT_TRUE(other.state() == direct);
}

TEST(Sleep, BatchesDoNotDependOnThreads) {
  const ModelPtr model = world(three());
  const auto run = [&](int threads) {
    Batch batch(model, 6, sleepy(), threads);
    for (int w = 0; w < batch.worlds(); ++w) batch.q(w)[2] += 0.01 * w;
    batch.step(600);
    EXPECT_GT(batch.simulator(5).report().sleep.trees, 0);
    batch.v(3)[0] = 0.5;
    batch.step(400);
    return std::vector<double>(batch.q().begin(), batch.q().end());
  };
  EXPECT_EQ(run(1), run(3));
}

TEST(Sleep, ThreadsOfIslandsDoNotMatter) {
  std::mt19937_64 random(4);
  const ModelPtr model = world(heap(random, 8) + three());
  SimulatorOptions options = sleepy();
  Simulator one(model, options);
  options.threads = 3;
  Simulator three_threads(model, options);
  one.step(1500);
  three_threads.step(1500);
  EXPECT_TRUE(one.state() == three_threads.state());
}

// --- other ways of stepping ---

TEST(Sleep, WorksWithEveryIntegratorSubstepsAndModelOfConstraints) {
  for (const Integrator integrator :
       {Integrator::kSemiImplicitEuler, Integrator::kMoreauMidpoint, Integrator::kVariational}) {
    for (const int substeps : {1, 4}) {
      for (const ConstraintModel constraints : {ConstraintModel::kRigid, ConstraintModel::kMujoco}) {
        SimulatorOptions options = sleepy();
        options.integrator = integrator;
        options.substeps = substeps;
        options.constraints = constraints;
        Simulator sim(world(three() + box("late", 3, 1.0)), options);
        settle(sim, 4.0);
        EXPECT_EQ(sim.report().sleep.trees, 4) << static_cast<int>(integrator) << substeps;
        sim.input().applied_force[0] = 30.0;
        sim.step(50);
        EXPECT_FALSE(sleeps(sim, "low"));
        EXPECT_TRUE(sleeps(sim, "late"));
        EXPECT_GT(speed(sim), 0.1);
      }
    }
  }
}

TEST(Sleep, BaumgarteToo) {
  SimulatorOptions options = sleepy();
  options.stabilisation.method = Stabilisation::kBaumgarte;
  Simulator sim(world(three()), options);
  settle(sim);
  EXPECT_EQ(sim.report().sleep.trees, 3);
}

TEST(Sleep, StagesOneByOneGiveTheSameBits) {
  Simulator direct(world(three() + box("late", 0.05, 4.0)), sleepy()), staged(direct.model_ptr(), sleepy());
  direct.step(700);
  StepContext& s = staged.context();
  for (int i = 0; i < 700; ++i) {
    if (stage::settle(s)) continue;
    do {
      do {
        stage::begin(s, 0.0);
        ASSERT_TRUE(stage::free_motion(s));
        stage::detect(s);
      } while (stage::wake(s));
      stage::assemble(s);
      stage::solve(s);
      stage::bound_servos(s);
    } while (stage::meet(s));
    stage::integrate(s);
    stage::account(s);
  }
  EXPECT_TRUE(direct.state() == staged.state());
}

// --- switches ---

TEST(Sleep, NeverAlsoKeepsNeighboursAwake) {
  const ModelPtr model = world(box("low", 0, 0.1) + box("high", 0, 0.3, "sleep='never'") + box("alone", 1, 0.1));
  Simulator sim(model, sleepy());
  settle(sim);
  EXPECT_FALSE(sleeps(sim, "low"));
  EXPECT_FALSE(sleeps(sim, "high"));
  EXPECT_TRUE(sleeps(sim, "alone"));
}

TEST(Sleep, SomeStartAsleepIfTheyRest) {
  const ModelPtr model = world(box("low", 0, 0.0999, "sleep='init'") + box("high", 0, 0.2998, "sleep='init'") +
                               box("falling", 1, 0.5, "sleep='init'") + box("awake", 2, 0.1));
  Simulator sim(model, sleepy());
  sim.step();
  EXPECT_TRUE(sleeps(sim, "low"));
  EXPECT_TRUE(sleeps(sim, "high"));
  EXPECT_FALSE(sleeps(sim, "falling"));
  EXPECT_FALSE(sleeps(sim, "awake"));
}

TEST(Sleep, TheModelMayTurnItOn) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><option sleep_tolerance='0.003'><flag sleep='enable'/></option><worldbody><geom type='plane' size='1 1 "
      "1'/><body name='b' pos='0 0 .1' sleep='allowed'><freejoint/><geom size='.1'/></body></worldbody></mujoco>");
  EXPECT_TRUE(model->options.sleep_enabled);
  EXPECT_EQ(model->options.sleep_tolerance, 0.003);
  EXPECT_EQ(model->bodies[1].sleep, SleepPolicy::kAllowed);
  Simulator sim(model);
  settle(sim);
  EXPECT_TRUE(sleeps(sim, "b"));
}

TEST(Sleep, MayBeAskedFor) {
  Simulator sim(world(three()), sleepy());
  sim.step(50);
  sim.put_to_sleep(sim.model().body("alone"));
  sim.put_to_sleep(sim.model().body("high"));  // not ready: what it stands on is not asked
  sim.step(2);
  EXPECT_TRUE(sleeps(sim, "alone"));
  EXPECT_FALSE(sleeps(sim, "high"));
  Simulator off(world(three()));
  EXPECT_THROW(off.put_to_sleep(1), Error);
  EXPECT_THROW(off.wake(77), Error);
}

TEST(Sleep, ResetWakes) {
  Simulator sim(world(three()), sleepy());
  settle(sim);
  sim.reset();
  EXPECT_FALSE(sleeps(sim, "low"));
  EXPECT_TRUE(sim.contacts().empty());
  Simulator fresh(world(three()), sleepy());
  sim.step(1000);
  fresh.step(1000);
  EXPECT_TRUE(sim.state() == fresh.state());
}

// --- cost ---

ModelPtr wall(int bodies, const std::string& more = "") {
  std::string text;
  for (int i = 0; i < bodies; ++i) {
    const double z = 0.0999 + 0.1998 * (i % 4);
    text += box(fmt::format("b{}", i), 0.21 * (i / 4), z, "sleep='init'");
  }
  return world(text + more);
}

TEST(Sleep, AllocatesNothing) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  Simulator sim(world(three() + box("faller", 3, 3.0)), sleepy());
  for (int i = 0; i < 6; ++i) {  // which islands the solver sees, and how large, depends on rounding: several rounds
    settle(sim, 3.0);
    sim.input().applied_force[0] = 1.0;  // the solver's memory for what is pushed
    settle(sim, 1.0);
    sim.input().applied_force[0] = 0.0;
    sim.wake();
  }
  const test::AllocationGuard guard;
  settle(sim, 3.0);
  sim.input().applied_force[0] = 1.0;
  settle(sim, 1.0);
  EXPECT_EQ(guard.allocations(), 0u);
}

double microseconds_a_step(Simulator& sim, int steps) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) sim.step();
  return 1e6 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps;
}

// Towers of four boxes, so many bodies in all, and a ball that rolls far away.
TEST(Sleep, AStepDoesNotDependOnHowManySleep) {
  constexpr int kSteps = 200;
  for (const int count : test::whole_family() ? std::vector<int>{100, 1000, 4000} : std::vector<int>{100}) {
    Simulator sim(wall(count), sleepy());
    const double first = microseconds_a_step(sim, 1);
    ASSERT_EQ(sim.report().sleep.bodies, count);
    const double rest = microseconds_a_step(sim, kSteps);
    sim.state();  // from here on somebody could change it
    sim.input();
    sim.parameters();
    const double watched = microseconds_a_step(sim, kSteps);
    EXPECT_EQ(sim.report().sleep.bodies, count);
    fmt::print(
        "{} bodies: first step {:.0f} us; asleep {:.2f} us, {:.1f} us where state, input and parameters are lent",
        count, first, rest, watched);
    const ModelPtr with_ball = wall(count, "<body pos='0 5 .1'><freejoint/><geom size='.1' mass='1'/></body>");
    Simulator rolling(with_ball, sleepy());
    rolling.state().v[rolling.model().nv - 6] = 1.0;
    rolling.step(5);
    EXPECT_EQ(rolling.report().sleep.bodies, count);
    const double one = microseconds_a_step(rolling, kSteps);
    SimulatorOptions off = sleepy();
    off.sleep.mode = SleepMode::kOff;
    Simulator awake(with_ball, off);
    awake.step(2);
    fmt::print("; a ball rolls {:.0f} us; all awake {:.0f} us\n", one, microseconds_a_step(awake, 5));
    EXPECT_LT(rest, 20.0);
  }
}

}  // namespace
}  // namespace touchstone
