// What is no contact, in the convex framework (Castro et al. 2025, III; Castro et al. 2022, IV): limits, dry friction
// of joints, servos with limited effort, couplers and loops, against closed forms and against hard constraints.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

constexpr const char* kLaws[] = {"sap", "lagged", "similar"};

Simulator simulator_of(const std::string& xml, const std::string& solver, double h) {
  SimulatorOptions options;
  options.solver = solver;
  options.time_step = h;
  options.tolerance = 1e-9;
  return Simulator(load_mjcf_string(xml), options);
}

void advance(Simulator& sim, double seconds) {
  while (sim.state().time < seconds - 0.5 * sim.time_step()) {
    const StepReport& report = sim.step();
    ASSERT_EQ(report.status, StepStatus::kOk) << sim.options().solver << " at " << report.time;
    ASSERT_LE(report.residuals.law_natv_relative, 1e-6) << sim.options().solver << " at " << report.time;
  }
}

// A wheel of 0.1 kg m^2 about a vertical axis.
std::string wheel(const std::string& joint, const std::string& rest) {
  return fmt::format(R"(<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="j" axis="0 0 1" {}/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/></body></worldbody>{}</mujoco>)",
                     joint, rest);
}

TEST(CompliantJoints, DryFrictionBrakesEvenlyAndHolds) {
  constexpr double kInertia = 0.1, kFriction = 0.2, kSpin = 1.0, h = 1e-3;
  for (const char* law : kLaws) {
    Simulator sim = simulator_of(wheel(R"(frictionloss="0.2")", ""), law, h);
    sim.state().v[0] = kSpin;
    advance(sim, 0.3);
    // v = v0 - f t / I; symplectic Euler's angle lies h v0 / 2 below.
    EXPECT_NEAR(sim.state().v[0], kSpin - kFriction * 0.3 / kInertia, 1e-6) << law;
    advance(sim, 1.0);
    EXPECT_LT(std::abs(sim.state().v[0]), 1e-6) << law;
    EXPECT_NEAR(sim.state().q[0], kInertia * kSpin * kSpin / (2 * kFriction), 0.6 * h * kSpin) << law;
  }
}

// Half of the friction: creeps within the stiction tolerance. Twice: what is left accelerates.
TEST(CompliantJoints, DryFrictionYieldsAtItsBound) {
  const std::string motor = R"(<actuator><motor joint="j"/></actuator>)";
  for (const char* law : kLaws) {
    for (const auto& [share, stiction] : {std::pair(0.5, 1e-4), std::pair(0.5, 1e-3), std::pair(2.0, 1e-4)}) {
      SimulatorOptions options;
      options.solver = law;
      options.time_step = 1e-3;
      options.tolerance = 1e-9;
      options.laws.stiction_tolerance = stiction;
      Simulator sim(load_mjcf_string(wheel(R"(frictionloss="0.2")", motor)), options);
      sim.input().control[0] = share * 0.2;
      advance(sim, 0.5);
      const double tolerance =
          sim.options().laws.stiction_tolerance / std::sqrt(0.1 / 1.0);  // m/s at its inertia's arm
      if (share < 1.0 && law == std::string("sap")) {
        EXPECT_LE(std::abs(sim.state().v[0]), tolerance) << law;
      } else if (share < 1.0) {  // f v / sqrt(v^2 + tolerance^2) = f / 2
        EXPECT_NEAR(sim.state().v[0], tolerance / std::sqrt(3.0), 1e-3 * tolerance) << law << ' ' << stiction;
      } else {
        EXPECT_NEAR(sim.state().v[0], 0.2 / 0.1 * 0.5, 2e-3) << law;
      }
    }
  }
}

TEST(CompliantJoints, LimitsCarryWhatPushes) {
  const std::string motor = R"(<actuator><motor joint="j"/></actuator>)";
  for (const char* law : kLaws) {
    Simulator sim = simulator_of(
        wheel(R"(range="-0.5 0.25" limited="true")", motor).replace(0, 8, R"(<mujoco><compiler angle="radian"/>)"), law,
        1e-3);
    sim.input().control[0] = 3.0;
    advance(sim, 0.5);
    EXPECT_NEAR(sim.state().q[0], 0.25, 1e-5) << law;
    EXPECT_NEAR(sim.state().v[0], 0.0, 1e-5) << law;
    sim.input().control[0] = -0.1;  // and let go
    advance(sim, 0.7);
    EXPECT_NEAR(sim.state().v[0], -0.2, 1e-3) << law;
  }
}

// While the limit of effort holds, the acceleration is constant. Such a servo brakes no faster than it accelerates, so
// it overshoots, as with hard constraints.
TEST(CompliantJoints, ServosKeepTheirLimitOfEffort) {
  const std::string servo = R"(<actuator><position joint="j" kp="1000" kv="30" forcerange="-0.5 0.5"/></actuator>)";
  for (const char* law : kLaws) {
    Simulator sim = simulator_of(wheel("", servo), law, 1e-3);
    sim.input().control[0] = 1.0;
    advance(sim, 0.2);
    EXPECT_NEAR(sim.state().v[0], 0.5 / 0.1 * 0.2, 1e-6) << law;
    EXPECT_NEAR(sim.actuator_forces()[0], 0.5, 1e-9) << law;
    advance(sim, 2.0);
    Simulator hard = simulator_of(wheel("", servo), "auto", 1e-3);
    hard.input().control[0] = 1.0;
    advance(hard, 2.0);
    EXPECT_LT(hard.state().q[0], 0.9);  // on its way back
    EXPECT_NEAR(sim.state().q[0], hard.state().q[0], 1e-6) << law;
  }
}

// Two wheels whose angles are as 1 to 3: I = I1 + 9 I2.
TEST(CompliantJoints, CouplersTransmit) {
  const std::string xml = R"(<mujoco><option gravity="0 0 0"/><worldbody>
      <body><joint name="a" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/></body>
      <body><joint name="b" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="0.2 0.2 0.2"/></body></worldbody>
      <equality><joint joint1="b" joint2="a" polycoef="0 3 0 0 0"/></equality>
      <actuator><motor joint="a"/></actuator></mujoco>)";
  for (const char* law : kLaws) {
    Simulator sim = simulator_of(xml, law, 1e-3);
    sim.input().control[0] = 0.5;
    advance(sim, 0.5);
    const double speed = 0.5 * 0.5 / (0.1 + 9 * 0.2);
    EXPECT_NEAR(sim.state().v[0], speed, 2e-4 * speed) << law;
    EXPECT_NEAR(sim.state().q[1], 3 * sim.state().q[0], 1e-5) << law;
  }
}

// --- generated mechanisms ---

double pick(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

// A chain in a plane under gravity. Hinges have limits, dry friction and servos with limited effort at random, two of
// them are coupled in half of the cases, and the end is held by a loop in half.
std::string random_mechanism(int seed) {
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  const int links = 4 + seed % 3;
  const bool has_friction = seed % 8 >= 4;
  std::string open, close, actuators, rest;
  for (int i = 0; i < links; ++i) {
    const double angle = pick(random, -0.6, 0.6), half = pick(random, 0.05, 0.12), mass = pick(random, 0.2, 2.0);
    open += fmt::format(R"(<body name="b{}" pos="{} 0 0" euler="0 {} 0"><joint name="j{}" axis="0 1 0" damping="0.02")",
                        i, i == 0 ? 0.0 : 0.2, angle, i);
    if (pick(random, 0, 1) < 0.5) open += fmt::format(R"( limited="true" range="-0.4 {}")", pick(random, 0.2, 0.8));
    if (has_friction) open += fmt::format(R"( frictionloss="{}")", pick(random, 0.01, 0.3));
    open += fmt::format(R"(/><geom type="capsule" fromto="0 0 0 0.2 0 0" size="{}" mass="{}" contype="0"
                            conaffinity="0"/>)",
                        0.2 * half, mass);
    if (pick(random, 0, 1) < 0.5)
      actuators += fmt::format(R"(<position joint="j{}" kp="{}" kv="2" forcerange="-1 1"/>)", i, pick(random, 5, 200));
    close += "</body>";
  }
  if (seed % 2 == 0) rest += R"(<joint joint1="j2" joint2="j1" polycoef="0 -0.5 0 0 0"/>)";
  if (seed % 4 < 2) rest += fmt::format(R"(<connect body1="b{}" body2="world" anchor="0.2 0 0"/>)", links - 1);
  return fmt::format(R"(<mujoco><compiler angle="radian"/><worldbody>{}{}</worldbody><actuator>{}</actuator>
                        <equality>{}</equality></mujoco>)",
                     open, close, actuators, rest);
}

// The stiff limit: R is a small part of the step's own inverse mass, so the motion is that of hard constraints; what is
// left comes from impacts at limits and falls with the step (2.6e-3 rad at 0.5 ms, 7.6e-4 rad at 0.1 ms in the worst).
// Joints that dry friction holds creep by less than the stiction tolerance, at arms of a few centimetres.
TEST(CompliantJoints, GeneratedMechanismsMoveAsWithHardConstraints) {
  constexpr double kSeconds = 0.4, h = 5e-4, kCreep = 1e-4 * kSeconds / 0.03;  // rad
  int moving = 0;
  for (int seed = 0; seed < 16; ++seed) {
    const std::string xml = random_mechanism(seed);
    Simulator hard = simulator_of(xml, "auto", h);
    const VectorX start = hard.state().q;
    std::vector<VectorX> path;
    double moved = 0.0, broken = 0.0;
    for (double t = 0.01; t < kSeconds + 0.005; t += 0.01) {
      advance(hard, t);
      path.push_back(hard.state().q);
      broken = std::max(broken, hard.report().violation);
      moved = std::max(moved, (hard.state().q - start).lpNorm<Eigen::Infinity>());
    }
    moving += moved > 0.1 ? 1 : 0;
    for (const char* law : kLaws) {
      Simulator soft = simulator_of(xml, law, h);
      double most = 0.0, violation = 0.0;
      for (std::size_t i = 0; i < path.size(); ++i) {
        advance(soft, 0.01 * static_cast<double>(i + 1));
        most = std::max(most, (soft.state().q - path[i]).lpNorm<Eigen::Infinity>());
        violation = std::max(violation, soft.report().violation);
      }
      EXPECT_LE(most, seed % 8 >= 4 ? kCreep : 6e-3 * moved) << seed << ' ' << law;
      EXPECT_LE(violation, 1.2 * broken + 2e-5) << seed << ' ' << law;
    }
  }
  EXPECT_GE(moving, 14);
}

}  // namespace
}  // namespace touchstone
