// Contacts that a step meets and that were not seen from its start.
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

ModelPtr scene_of(const std::string& bodies, const std::string& gravity = "0 0 0") {
  return load_mjcf_string(fmt::format(
      "<mujoco><option timestep='0.002' gravity='{}'/><worldbody>{}</worldbody></mujoco>", gravity, bodies));
}

// The deepest overlap where the steps end, and the worst natv.
struct Outcome {
  double penetration = 0.0, natv = 0.0;
};

Outcome run(Simulator& sim, int steps) {
  Outcome o;
  for (int i = 0; i < steps; ++i) {
    const StepReport& report = sim.step();
    EXPECT_EQ(report.status, StepStatus::kOk);
    o.penetration = std::max(o.penetration, report.penetration);
    o.natv = std::max(o.natv, report.residuals.natv_relative);
  }
  return o;
}

// Twelve balls in a row, 2 mm apart, and one that comes along at 10 m/s: 20 mm in a step.
std::string row_of_balls() {
  std::string bodies;
  for (int i = 0; i < 12; ++i) {
    bodies += fmt::format("<body pos='{} 0 0'><freejoint/><geom size='.03' mass='1'/></body>", 0.062 * i);
  }
  return bodies + "<body pos='-0.09 0 0'><freejoint/><geom size='.03' mass='1'/></body>";
}

TEST(LateContacts, ABallThatIsStruckDoesNotEndInTheNext) {
  for (const Integrator integrator : {Integrator::kSemiImplicitEuler, Integrator::kMoreauMidpoint}) {
    const ModelPtr model = scene_of(row_of_balls());
    SimulatorOptions options;
    options.integrator = integrator;
    Simulator sim(model, options);
    State start(*model);
    start.v[6 * 12] = 10.0;
    sim.reset(start);
    const Outcome o = run(sim, 100);
    // Half a margin and the slop. Moreau's rule moves bodies by their old velocities for half a step, 4 m/s against 2.
    EXPECT_LT(o.penetration, integrator == Integrator::kSemiImplicitEuler ? 7e-4 : 2.1e-3);
    EXPECT_LT(o.natv, 1e-6);
    double momentum = 0.0;
    for (int i = 0; i < 13; ++i) momentum += sim.state().v[6 * i];
    EXPECT_NEAR(momentum, 10.0, 1e-8);
  }
}

// C strikes A, which meets B; both sleep. B has come there since the end of a step was looked at last.
TEST(LateContacts, OfBodiesThatSleep) {
  std::string bodies = "<geom type='plane' size='9 9 1' friction='0.1'/>";
  const char* places[] = {"0.02 0 .03", "-0.044 0 .03", "-0.185 0 .03", "-1 0 .03", "-1.2 0 .03"};
  for (const char* place : places) {
    bodies += fmt::format("<body pos='{}'><freejoint/><geom type='box' size='.03 .03 .03' mass='1'/></body>", place);
  }
  const ModelPtr model = scene_of(bodies, "0 0 -9.81");
  SimulatorOptions options;
  options.sleep.mode = SleepMode::kOn;
  Simulator sim(model, options);
  State start(*model);
  start.q[0] = 0.9, start.q[2] = 0.5;  // B, far away and in the air
  start.v[0] = -2.8;
  start.v[6 * 4] = 10.0;  // far away one box strikes another
  sim.reset(start);
  run(sim, 20);
  sim.state().v.segment(18, 12).setZero();
  run(sim, 180);
  sim.state().q.segment(0, 7) = model->reference_q.segment(0, 7);
  sim.state().v.setZero();
  run(sim, 1000);
  ASSERT_TRUE(sim.is_asleep(1) && sim.is_asleep(2));
  sim.state().v[6 * 2] = 10.0;  // C
  EXPECT_LT(run(sim, 60).penetration, 8e-4);
}

// Grains that are shot together and spin: no pair ends a step far inside each other.
TEST(LateContacts, RandomGrains) {
  const char* shapes[] = {"type='sphere' size='.03'", "type='capsule' size='.02 .03'", "type='box' size='.03 .02 .025'",
                          "type='cylinder' size='.025 .03'", "type='ellipsoid' size='.03 .02 .025'"};
  std::mt19937 random(11);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  double deepest = 0.0;
  for (int k = 0; k < 20; ++k) {
    std::string bodies;
    for (int i = 0; i < 12; ++i) {
      bodies += fmt::format("<body pos='{} {} {}' euler='{} {} {}'><freejoint/><geom {} mass='.3'/></body>",
                            0.09 * (i % 3) + 0.005 * unit(random), 0.09 * (i / 3 % 2), 0.09 * (i / 6),
                            90 * unit(random), 90 * unit(random), 90 * unit(random), shapes[(i + k) % 5]);
    }
    const ModelPtr model = scene_of(bodies);
    Simulator sim(model);
    State start(*model);
    for (int i = 0; i < model->nv; ++i) start.v[i] = (i % 6 < 3 ? 3.0 : 40.0) * unit(random);
    for (int i = 0; i < 12; ++i) {
      const double centre[] = {0.09, 0.045, 0.045};
      for (int d = 0; d < 3; ++d) start.v[6 * i + d] -= 40.0 * (start.q[7 * i + d] - centre[d]);
    }
    sim.reset(start);
    deepest = std::max(deepest, run(sim, 40).penetration);
  }
  RecordProperty("deepest_um", static_cast<int>(1e6 * deepest));
  EXPECT_LT(deepest, 4e-3);  // 6.7e-3 without
}

}  // namespace
}  // namespace touchstone
