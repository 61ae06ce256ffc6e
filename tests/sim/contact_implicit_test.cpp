// The variational rule with constraints where a step ends: order while constraints persist, energy of loops, contacts
// that hold at the level of positions, stops.
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

constexpr double kG = 9.81;

SimulatorOptions rule(Integrator integrator, double h) {
  SimulatorOptions options;
  options.integrator = integrator;
  options.time_step = h;
  return options;
}

// A rod with a free joint, hung up by a point: the constraint persists, and no reduced coordinate knows of it.
ModelPtr hung_rod() {
  return load_mjcf_string(R"(<mujoco><worldbody><body name='rod' pos='0 0 -.25'><freejoint/>
    <geom type='capsule' fromto='0 0 .25 0 0 -.25' size='.02' mass='1'/></body></worldbody>
    <equality><connect body1='rod' anchor='0 0 .25'/></equality></mujoco>)");
}

// A block on a smooth floor with a pendulum on it, which it moves to and fro: a contact that persists.
ModelPtr pressed_block() {
  return load_mjcf_string(R"(<mujoco><worldbody><geom type='plane' size='5 5 1' condim='1' friction='0'/>
    <body pos='0 0 .1'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>
    <geom type='box' size='.1 .1 .1' mass='1' condim='1' friction='0'/>
    <body pos='0 0 .15'><joint axis='0 1 0'/>
    <geom type='capsule' fromto='0 0 0 0 0 .5' size='.02' mass='.3' contype='0' conaffinity='0'/></body></body>
    </worldbody></mujoco>)");
}

VectorX end_of(const ModelPtr& model, void (*start)(State&), Integrator integrator, double h, double seconds) {
  Simulator sim(model, rule(integrator, h));
  State state(*model);
  start(state);
  sim.reset(state);
  const int steps = static_cast<int>(std::lround(seconds / h));
  for (int i = 0; i < steps; ++i) EXPECT_EQ(sim.step().status, StepStatus::kOk);
  return sim.state().q;
}

void swing(State& state) {
  // About the point of the rod's top.
  state.v[4] = 3.0;
  state.v[0] = -0.25 * 3.0;
}

void lean(State& state) { state.q[2] = 0.5; }

TEST(ContactImplicit, IsOfSecondOrderWhileConstraintsPersist) {
  struct Case {
    ModelPtr model;
    void (*start)(State&);
  };
  for (const Case& c : {Case{hung_rod(), swing}, Case{pressed_block(), lean}}) {
    const VectorX truth = end_of(c.model, c.start, Integrator::kEvent, 0.01, 0.4);
    double errors[3];
    int k = 0;
    for (const double h : {0.02, 0.01, 0.005}) {
      errors[k++] = (end_of(c.model, c.start, Integrator::kContactImplicit, h, 0.4) - truth).norm();
    }
    EXPECT_NEAR(std::log2(errors[0] / errors[1]), 2.0, 0.4) << errors[0] << " " << errors[1];
    EXPECT_NEAR(std::log2(errors[1] / errors[2]), 2.0, 0.3) << errors[1] << " " << errors[2];
  }
}

// A four-bar linkage as a tree with one loop keeps its energy: what it sways by falls with the square of the step.
TEST(ContactImplicit, ALoopKeepsItsEnergy) {
  const ModelPtr model = load_mjcf_string(R"(<mujoco><worldbody>
    <body><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0 0 .2' size='.02' contype='0' conaffinity='0'/>
      <body pos='0 0 .2'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 .5 0 0' size='.02' contype='0' conaffinity='0'/>
        <body name='c' pos='.5 0 0'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0 0 -.3' size='.02' contype='0' conaffinity='0'/></body></body></body>
    </worldbody><equality><connect body1='c' anchor='0 0 -.3'/></equality></mujoco>)");
  double sway[2];
  int k = 0;
  for (const double h : {0.01, 0.005}) {
    Simulator sim(model, rule(Integrator::kContactImplicit, h));
    State state(*model);
    state.v << 3.0, -3.0, 2.0;
    sim.reset(state);
    const double energy = sim.kinetic_energy() + sim.potential_energy(), scale = std::abs(sim.kinetic_energy()) + 1.0;
    double worst = 0.0, late = 0.0, early = 0.0;
    const int steps = static_cast<int>(std::lround(20.0 / h));
    for (int i = 0; i < steps; ++i) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk);
      EXPECT_LT(sim.report().recovery_residual, 1e-9);
      const double error = std::abs(sim.kinetic_energy() + sim.potential_energy() - energy) / scale;
      worst = std::max(worst, error);
      (i < steps / 2 ? early : late) = std::max(i < steps / 2 ? early : late, error);
    }
    EXPECT_LT(late, 1.5 * early + 1e-9);
    EXPECT_LT(worst, 0.05);
    sway[k++] = worst;
  }
  EXPECT_GT(sway[0] / sway[1], 2.5);
}

// A cube that is dropped: no corner is below the ground at any knot, it comes to rest, and the ground carries its
// weight.
TEST(ContactImplicit, ContactsHoldWhereStepsEnd) {
  const ModelPtr model = load_mjcf_string(R"(<mujoco><worldbody><geom type='plane' size='5 5 1' friction='.3'/>
    <body pos='0 0 .5'><freejoint/><geom type='box' size='.1 .1 .1' mass='1' friction='.3'/></body></worldbody></mujoco>)");
  for (const double h : {0.002, 0.01}) {
    Simulator sim(model, rule(Integrator::kContactImplicit, h));
    State state(*model);
    state.v << 0.3, 0.2, 0.0, 1.0, 2.0, 1.5;
    sim.reset(state);
    double energy = sim.kinetic_energy() + sim.potential_energy(), gained = 0.0;
    const int steps = static_cast<int>(std::lround(2.0 / h));
    for (int i = 0; i < steps; ++i) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk) << h << " " << i;
      EXPECT_FALSE(sim.report().warnings.variational_fallback);
      EXPECT_LT(sim.report().penetration, 1e-9);
      const double now = sim.kinetic_energy() + sim.potential_energy();
      gained = std::max(gained, now - energy);
      energy = now;
    }
    EXPECT_LT(gained, 0.01);
    EXPECT_LT(sim.state().v.norm(), 1e-6);
    EXPECT_NEAR(sim.state().q[2], 0.1, 1e-6);
    EXPECT_NEAR(sim.contact_wrench(1)[2], kG, 1e-5);
  }
}

// A ball bounces with its restitution, to first order in the step.
TEST(ContactImplicit, RestitutionIsThatOfVelocities) {
  auto model =
      std::make_shared<Model>(*load_mjcf_string("<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 "
                                                ".6'><freejoint/><geom size='.1' mass='1'/></body>"
                                                "</worldbody></mujoco>"));
  for (Material& material : model->defaults.shape_material) material.restitution = 0.8;
  Simulator sim(model, rule(Integrator::kContactImplicit, 0.001));
  double highest = 0.0;
  while (sim.state().time < 0.6) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    if (sim.state().time > 0.35) highest = std::max(highest, sim.state().q[2] - 0.1);
  }
  EXPECT_NEAR(highest, 0.64 * 0.5, 0.01);
}

// A block that slides stops where it should, with an error of the square of the step.
TEST(ContactImplicit, ASlidingBlockStops) {
  const ModelPtr model = load_mjcf_string(R"(<mujoco><worldbody><geom type='plane' size='5 5 1' friction='.5'/>
    <body pos='0 0 .1'><freejoint/><geom type='box' size='.3 .2 .1' mass='2' friction='.5'/></body></worldbody></mujoco>)");
  for (const double h : {0.01, 0.0025}) {
    Simulator sim(model, rule(Integrator::kContactImplicit, h));
    sim.state().v[0] = 1.0;
    while (sim.state().time < 0.5) ASSERT_EQ(sim.step().status, StepStatus::kOk);
    EXPECT_LT(sim.state().v.norm(), 1e-7);
    EXPECT_NEAR(sim.state().q[0], 0.5 / (0.5 * kG), 2.0 * kG * h * h) << h;
  }
}

}  // namespace
}  // namespace touchstone
