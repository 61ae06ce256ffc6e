// What a user does with a simulator beyond stepping it: substeps, random states, callbacks, sensors, snapshots,
// threads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/base/hash.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/constraints.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

// A robot of two links with a servo that reaches its limit, a ball and a box, on the ground.
constexpr const char* kScene =
    R"(<mujoco><option timestep='0.002'/><worldbody><geom name='floor' type='plane' size='5 5 1'/>
    <body name='trunk' pos='0 0 0.4'><freejoint/><geom type='box' size='.15 .1 .05' mass='3'/>
      <site name='imu' pos='0.05 0 0'/>
      <body pos='0.15 0 0'><joint name='hip' axis='0 1 0' range='-60 60' limited='true' damping='0.1' frictionloss='0.05'/>
        <geom type='capsule' fromto='0 0 0 0.1 0 -0.25' size='0.03'/>
        <site name='foot' type='sphere' size='0.06' pos='0.1 0 -0.25'/></body>
      <body pos='-0.15 0 0'><joint name='knee' axis='0 1 0' range='-60 60' limited='true' armature='0.01'/>
        <geom type='capsule' fromto='0 0 0 -0.1 0 -0.25' size='0.03'/></body></body>
    <body name='ball' pos='0.6 0 0.3'><freejoint/><geom size='0.1' mass='1' condim='6'/></body>
    <body name='box' pos='-0.6 0.1 0.3' euler='20 30 0'><freejoint/><geom type='box' size='.1 .08 .06' mass='1'/></body>
    </worldbody><actuator><position name='hip' joint='hip' kp='300' kv='5' forcerange='-6 6'/>
      <motor name='knee' joint='knee' ctrllimited='true' ctrlrange='-5 5'/></actuator>
    <sensor><accelerometer name='acc' site='imu'/><touch name='touch' site='foot'/><jointpos name='hip' joint='hip'/>
      <clock name='clock'/></sensor></mujoco>)";

ModelPtr scene() { return load_mjcf_string(kScene); }

// Inputs that change from step to step, as those of a policy do.
void drive(Simulator& sim, int step) {
  sim.input().control[0] = 0.4 * std::sin(0.05 * step);
  sim.input().control[1] = 2.0 * std::cos(0.03 * step);
  sim.input().applied_wrench[1].setZero();
  if (step % 50 < 5) sim.input().applied_wrench[1][1] = 20.0;
}

std::uint64_t hash_after(Simulator& sim, int first, int steps) {
  for (int i = first; i < first + steps; ++i) {
    drive(sim, i);
    sim.step();
  }
  const std::vector<std::uint8_t> bytes = sim.state().serialize();
  return fnv1a(bytes.data(), bytes.size());
}

std::vector<SimulatorOptions> variants() {
  std::vector<SimulatorOptions> list(8);
  list[1].substeps = 3;
  list[2].integrator = Integrator::kMoreauMidpoint;
  list[3].constraints = ConstraintModel::kMujoco;
  list[4].integrator = Integrator::kVariational;
  list[5].integrator = Integrator::kVariational;
  list[5].constraints = ConstraintModel::kMujoco;
  list[6].accuracy = 1e-5;
  list[7].integrator = Integrator::kContactImplicit;
  return list;
}

TEST(Determinism, TheSameHashAfterAThousandSteps) {
  for (const SimulatorOptions& options : variants()) {
    Simulator one(scene(), options), two(scene(), options);
    const std::uint64_t hash = hash_after(one, 0, 1000);
    EXPECT_EQ(hash_after(two, 0, 1000), hash);
    // Through a snapshot, in another simulator, and again in the first.
    Simulator three(scene(), options);
    hash_after(three, 0, 400);
    const Simulator::Snapshot snapshot = three.save();
    EXPECT_EQ(hash_after(three, 400, 600), hash);
    Simulator four(scene(), options);
    hash_after(four, 0, 123);
    four.restore(snapshot);
    EXPECT_EQ(hash_after(four, 400, 600), hash);
    three.reset();
    EXPECT_EQ(hash_after(three, 0, 1000), hash);
  }
}

// Boxes of a wall that has been pushed: one island with some hundred rows, which are solved by the sparse kernels.
std::string pushed_wall() {
  std::string xml = "<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='5 5 1'/>";
  for (int layer = 0; layer < 4; ++layer) {
    for (int k = 0; k < 4; ++k) {
      xml += "<body pos='" + std::to_string(0.21 * k + 0.1 * (layer % 2)) + " 0 " + std::to_string(0.05 + 0.1 * layer) +
             "'><freejoint/><geom type='box' size='.1 .05 .05' mass='1'/></body>";
    }
  }
  return xml + "</worldbody></mujoco>";
}

// Arrays must not begin where chance puts them: kernels round differently before an aligned address.
TEST(Determinism, TheSameHashWhereverTheMemoryIs) {
  const ModelPtr model = load_mjcf_string(pushed_wall());
  std::mt19937 random(1);
  std::uint64_t first = 0;
  for (int run = 0; run < 4; ++run) {
    // Holes of many sizes in the heap, so that the simulator's arrays come to lie elsewhere.
    std::vector<std::vector<char>> blocks(run == 0 ? 0 : 4000);
    for (std::vector<char>& block : blocks) block.resize(8 + random() % 4000);
    for (std::vector<char>& block : blocks) {
      if (random() % 2 == 0) std::vector<char>().swap(block);
    }
    Simulator sim(model);
    int largest = 0;
    for (int step = 0; step < 150; ++step) {
      sim.input().applied_wrench[13].setZero();
      if (step % 50 < 10) sim.input().applied_wrench[13][1] = 30.0;
      sim.step();
      largest = std::max(largest, sim.constraints().rows());
    }
    EXPECT_GT(largest, 100);
    const std::vector<std::uint8_t> bytes = sim.state().serialize();
    const std::uint64_t hash = fnv1a(bytes.data(), bytes.size());
    if (run == 0) first = hash;
    EXPECT_EQ(hash, first) << "run " << run;
  }
}

// Two simulators in two threads with one model; the thread sanitizer watches.
TEST(Determinism, ThreadsShareAModel) {
  const ModelPtr model = scene();
  std::vector<std::uint64_t> hashes(2);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < hashes.size(); ++t) {
      threads.emplace_back([&model, &hash = hashes[t]] {
        Simulator sim(model);
        hash = hash_after(sim, 0, 300);
        static_cast<void>(sim.sensors());
      });
    }
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(Substeps, AreStepsOfASmallerSize) {
  SimulatorOptions coarse, fine;
  coarse.time_step = 0.004;
  coarse.substeps = 4;
  fine.time_step = 0.001;
  Simulator one(scene(), coarse), four(scene(), fine);
  EXPECT_EQ(one.time_step(), 0.004);
  for (int i = 0; i < 100; ++i) {
    one.step();
    EnergyAccount sum;
    for (int k = 0; k < 4; ++k) {
      const EnergyAccount& e = four.step().energy;
      sum.actuators += e.actuators;
      sum.constraints += e.constraints;
    }
    ASSERT_TRUE(one.state() == four.state());
    ASSERT_NEAR(one.report().energy.actuators, sum.actuators, 1e-12);
    ASSERT_NEAR(one.report().energy.constraints, sum.constraints, 1e-12);
  }
  coarse.substeps = 0;
  EXPECT_THROW(Simulator(scene(), coarse), Error);
}

TEST(RandomReset, GivesValidStatesThatDependOnTheSeed) {
  Simulator sim(scene());
  std::vector<State> states;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    sim.reset_random(seed);
    states.push_back(sim.state());
    EXPECT_NO_THROW(sim.state().validate(sim.model()));
    EXPECT_LE(std::abs(sim.state().q[7]), 60.0 * 3.15 / 180.0);
    sim.step();
    EXPECT_LT(sim.report().penetration, 1e-9) << seed;
  }
  EXPECT_FALSE(states[0] == states[1]);
  sim.reset_random(7);
  EXPECT_TRUE(sim.state() == states[7]);
  // Two balls in one place have no way not to overlap.
  Simulator balls(
      load_mjcf_string("<mujoco><worldbody><body><freejoint/><geom size='0.1'/></body><body><freejoint/><geom "
                       "size='0.1'/></body></worldbody></mujoco>"));
  EXPECT_THROW(balls.reset_random(1, 1e-9), Error);
  EXPECT_NO_THROW(balls.reset_random(1, 1.0));
}

TEST(Callback, IsCalledAfterEachStep) {
  Simulator sim(scene());
  int calls = 0;
  sim.set_callback([&calls](Simulator& s) {
    ++calls;
    EXPECT_NEAR(s.state().time, 0.002 * calls, 1e-12);
    s.input().control[1] = 1.0;  // a controller
  });
  sim.step(10);
  EXPECT_EQ(calls, 10);
  EXPECT_EQ(sim.input().control[1], 1.0);
  sim.set_callback({});
  sim.step();
  EXPECT_EQ(calls, 10);
}

TEST(SensorsOfASimulator, AreReadByName) {
  Simulator sim(scene());
  EXPECT_EQ(sim.sensors().size(), 6);
  EXPECT_EQ(sim.sensor("clock")[0], 0.0);
  sim.step();
  // In free fall an accelerometer feels nothing.
  EXPECT_NEAR(sim.sensor("acc")[0], 0.0, 1e-6);
  EXPECT_NEAR(sim.sensor("acc")[2], 0.0, 1.0);  // the servo pulls a little
  sim.input().control[0] = 0.0;
  sim.step(2000);
  EXPECT_NEAR(sim.sensor("clock")[0], 4.0, 1e-9);  // the start of the last step
  EXPECT_NEAR(sim.sensor("hip")[0], sim.state().q[7], 1e-6);
  const std::span<const double> acc = sim.sensor("acc");
  EXPECT_NEAR(std::hypot(acc[0], acc[1], acc[2]), 9.81, 1e-2);
  EXPECT_THAT([&] { sim.sensor("clok"); }, testing::ThrowsMessage<Error>(testing::HasSubstr("clock")));
}

TEST(Wrenches, MoveBodies) {
  Simulator sim(
      load_mjcf_string("<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/><inertial pos='0.1 0 0' "
                       "mass='2' diaginertia='1 1 1'/></body></worldbody></mujoco>"));
  sim.input().applied_wrench[1] << 0, 4, 0, 0, 0, 0.5;  // at the centre of mass: no turning but the torque's
  sim.step(100);
  const double t = 100 * sim.time_step();
  EXPECT_NEAR(sim.state().v[5], 0.5 * t, 1e-9);
  EXPECT_NEAR(sim.report().energy.total(), 0.5 * 2.0 * 4.0 * t * t + 0.5 * 0.25 * t * t, 1e-3);
}

TEST(Report, NamesTheWorstConstraint) {
  Simulator sim(scene());
  sim.step(500);
  ASSERT_GT(sim.report().constraints, 0);
  EXPECT_THAT(sim.describe_worst(), testing::AnyOf(testing::HasSubstr("contact of '"),
                                                   testing::HasSubstr("friction of"), testing::HasSubstr("limit of")));
}

}  // namespace
}  // namespace touchstone
