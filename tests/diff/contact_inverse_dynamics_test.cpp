#include "touchstone/diff/contact_inverse_dynamics.hpp"

#include <random>

#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/scenes/scene.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/simulator.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone::test {
namespace {

ModelPtr box_on_a_plane() {
  return load_mjcf_string(R"(<mujoco><option timestep="0.002"/><worldbody>
    <geom type="plane" size="5 5 1" friction="0.4"/><body pos="0 0 0.1"><freejoint/>
    <geom type="box" size="0.2 0.15 0.1" mass="3" friction="0.4"/></body></worldbody></mujoco>)");
}

constexpr double kWeight = 3.0 * 9.81;

TEST(ContactInverseDynamics, OfABoxAtRestShareItsWeightEvenly) {
  const ModelPtr model = box_on_a_plane();
  ContactInverseDynamics inverse(model);
  const ContactForces f = inverse.solve(State(*model), VectorX::Zero(6));
  EXPECT_EQ(f.status, SolveStatus::kSolved);
  EXPECT_LT(f.residual_norm, 1e-6);
  EXPECT_LT(f.violation, 1e-9);
  ASSERT_EQ(f.contacts.size(), 4u);
  for (const InverseContact& c : f.contacts) {
    EXPECT_NEAR(std::abs(c.force.z()), kWeight / 4, 1e-6);
    EXPECT_LT(c.force.head<2>().norm(), 1e-6);
  }
}

TEST(ContactInverseDynamics, OfASlidingBoxAreAgainstTheSlip) {
  const ModelPtr model = box_on_a_plane();
  State state(*model);
  state.v << 1.0, 0.5, 0, 0, 0, 0;
  SimulatorOptions exact;
  exact.tolerance = 1e-14;
  Simulator sim(model, exact);
  sim.reset(state);
  sim.step();
  ContactInverseDynamics inverse(model);
  const ContactForces f = inverse.solve(state, sim.state().v);
  EXPECT_LT(f.residual_norm, 1e-5);
  Vector3 total = Vector3::Zero();
  for (const InverseContact& c : f.contacts) total += c.force;
  EXPECT_NEAR(total.z(), kWeight, 1e-5);
  const Vector3 friction(-0.4 * kWeight / std::hypot(1.0, 0.5), -0.4 * kWeight * 0.5 / std::hypot(1.0, 0.5), 0.0);
  EXPECT_LT((total - friction - kWeight * Vector3::UnitZ()).norm(), 1e-4);
}

// Nothing can make it rise: m (a + g) is left over. Nor fall into the floor: that breaks the law of the contacts.
TEST(ContactInverseDynamics, SaysWhatCannotBe) {
  const ModelPtr model = box_on_a_plane();
  ContactInverseDynamics inverse(model);
  VectorX v = VectorX::Zero(6);
  v[2] = 0.002 * 2.0;
  ContactForces f = inverse.solve(State(*model), v);
  EXPECT_NEAR(f.residual[2], 3.0 * (2.0 + 9.81), 1e-9);
  EXPECT_NEAR(f.residual_norm, 3.0 * (2.0 + 9.81), 1e-9);
  EXPECT_EQ(f.lambda.norm(), 0.0);
  v[2] = -0.1;
  f = inverse.solve(State(*model), v);
  EXPECT_NEAR(f.violation, 0.1, 1e-9);
  v[2] = 0.0;
  // Faster than friction lets it start: it would slip, against which friction acts. Of (30 + mu n)^2 + (W - n)^2.
  v[0] = 0.002 * 10.0;
  f = inverse.solve(State(*model), v);
  const double n = (kWeight - 0.4 * 30.0) / (1.0 + 0.4 * 0.4);
  EXPECT_NEAR(f.residual[0], 30.0 + 0.4 * n, 1e-5);
  EXPECT_NEAR(f.residual[2], kWeight - n, 1e-5);
}

// A step with the forces that were found moves the robot as asked.
TEST(ContactInverseDynamics, OfRobotsAreThoseOfAStep) {
  for (const char* name : {"quadruped:flat", "humanoid"}) {
    const Scene scene = make_scene(name);
    SimulatorOptions options = scene.options;
    options.tolerance = 1e-13;
    Simulator sim(scene.model, options);
    sim.reset(scene.start);
    sim.input().control = scene.control;
    ContactInverseDynamics inverse(scene.model, options);
    Simulator again(scene.model, options);
    for (auto& gain : again.parameters().actuator_gain) gain = {};
    for (auto& bias : again.parameters().actuator_bias) bias = {};
    double worst = 0.0, closest = 1e9;
    for (int k = 0; k < 8; ++k) {
      sim.step(40);
      const State before = sim.state();
      sim.step();
      const ContactForces f = inverse.solve(before, sim.state().v);
      EXPECT_LT(f.violation, 1e-6) << name;
      if (f.contacts.empty()) continue;
      EXPECT_LT(f.residual_norm, 1e-3) << name << " of a robot of " << again.model().nbody << " bodies";
      worst = std::max(worst, f.residual_norm);
      again.reset(before);
      again.input().applied_force = f.tau;
      again.step();
      closest = std::min(closest, (again.state().v - sim.state().v).norm());
    }
    EXPECT_LT(closest, 1e-4) << name;
  }
}

TEST(ContactInverseDynamics, OfAnArmThatCanDoAllNeedNoContact) {
  const ModelPtr model = box_on_a_plane();
  ContactInverseDynamics inverse(model, {}, {0, 1, 2, 3, 4, 5});
  const ContactForces f = inverse.solve(State(*model), VectorX::Zero(6));
  EXPECT_NEAR(f.tau[2], kWeight, 1e-9);
  EXPECT_EQ(f.lambda.norm(), 0.0);
  EXPECT_LT(f.residual_norm, 1e-9);
}

TEST(ContactInverseDynamics, RefuseWhatTheyDoNotKnow) {
  const ModelPtr model = box_on_a_plane();
  SimulatorOptions options;
  options.solver = "sap";
  EXPECT_THROW(ContactInverseDynamics(model, options), Error);
  EXPECT_THROW(ContactInverseDynamics(model, {}, {6}), Error);
  ContactInverseDynamics inverse(model);
  EXPECT_THROW(inverse.solve(State(*model), VectorX::Zero(5)), Error);
  // Their equation is that of one undivided step of Euler's rule.
  for (const Integrator rule : {Integrator::kMoreauMidpoint, Integrator::kVariational, Integrator::kEvent}) {
    SimulatorOptions other;
    other.integrator = rule;
    EXPECT_THROW(ContactInverseDynamics(model, other), Error);
  }
  SimulatorOptions parts;
  parts.substeps = 2;
  EXPECT_THROW(ContactInverseDynamics(model, parts), Error);
  parts.substeps = 1;
  parts.accuracy = 1e-4;
  EXPECT_THROW(ContactInverseDynamics(model, parts), Error);
}

TEST(ContactInverseDynamics, TakeParametersOfTheirOwn) {
  const ModelPtr model = box_on_a_plane();
  Parameters parameters = model->defaults;
  parameters.body_inertia[1].mass = 5.0;
  parameters.gravity = Vector3(0, 0, -4.0);
  ContactInverseDynamics inverse(model, {}, {0, 1, 2, 3, 4, 5}, &parameters);
  const ContactForces f = inverse.solve(State(*model), VectorX::Zero(6));
  EXPECT_NEAR(f.tau[2], 20.0, 1e-9);
}

// Where bodies give way impulses follow from the velocity: whatever actuators could do, contacts press as they do.
TEST(ContactInverseDynamics, OfSpringsAreThoseOfTheStep) {
  const ModelPtr model = box_on_a_plane();
  Parameters parameters = model->defaults;
  for (Material& material : parameters.shape_material) material.stiffness = 2e4;
  SimulatorOptions exact;
  exact.tolerance = 1e-14;
  for (const double push : {0.0, 3.0, 40.0}) {  // N: at rest, sticking, sliding
    Simulator sim(model, exact);
    sim.parameters() = parameters;
    sim.input().applied_force << push, 0.3 * push, 0, 0, 0, 0;
    sim.step(5);
    const State before = sim.state();
    sim.step();
    const VectorX lambda = sim.context().lambda.head(sim.context().constraints.rows());
    ContactInverseDynamics inverse(model, exact, {}, &parameters);
    ContactForces f = inverse.solve(before, sim.state().v, &sim.input());
    EXPECT_LT(f.violation, 1e-9);
    // It tilts a little: corners that rub against each other could do what the slack of impulses leaves.
    EXPECT_LT(f.residual_norm, 1e-4 * (push + kWeight)) << push;
    ASSERT_EQ(f.lambda.size(), lambda.size());
    for (Eigen::Index k = 2; k < lambda.size(); k += 3) {
      EXPECT_GT(lambda[k], 0.0);
      EXPECT_NEAR(f.lambda[k], lambda[k], 1e-9) << push;
      EXPECT_LE(f.lambda.segment<2>(k - 2).norm(), 0.4 * lambda[k] + 1e-9);
    }
    ContactInverseDynamics strong(model, exact, {0, 1, 2, 3, 4, 5}, &parameters);
    f = strong.solve(before, sim.state().v, &sim.input());
    EXPECT_LT(f.residual_norm, 1e-9);
    double pressed = 0.0;
    for (Eigen::Index k = 2; k < lambda.size(); k += 3) pressed += f.lambda[k];
    EXPECT_NEAR(f.tau[2], kWeight - (pressed + (sim.state().v[2] - before.v[2]) * -3.0) / 0.002, 1e-6);
  }
}

// More friction than the springs carry: what the disks of friction cannot do is left over.
TEST(ContactInverseDynamics, OfSpringsStickWithinTheirFriction) {
  const ModelPtr model = box_on_a_plane();
  Parameters parameters = model->defaults;
  for (Material& material : parameters.shape_material) material.stiffness = 2e4;
  SimulatorOptions exact;
  exact.tolerance = 1e-14;
  Simulator sim(model, exact);
  sim.parameters() = parameters;
  sim.step(5);
  const State before = sim.state();
  sim.step();
  const VectorX lambda = sim.context().lambda.head(sim.context().constraints.rows());
  double pressed = 0.0;
  for (Eigen::Index k = 2; k < lambda.size(); k += 3) pressed += lambda[k];
  Input input(*model);
  input.applied_force[0] = 20.0;
  ContactInverseDynamics inverse(model, exact, {}, &parameters);
  const ContactForces f = inverse.solve(before, sim.state().v, &input);
  for (Eigen::Index k = 2; k < lambda.size(); k += 3) EXPECT_NEAR(f.lambda[k], lambda[k], 1e-9);
  double rubbed = 0.0;
  for (const InverseContact& c : f.contacts) rubbed += c.force.x();
  EXPECT_NEAR(std::abs(rubbed), 0.4 * pressed / 0.002, 1e-5);
  EXPECT_NEAR(std::abs(f.residual[0]), 20.0 - 0.4 * pressed / 0.002, 1e-5);
}

TEST(ContactInverseDynamics, OfLoopsThatGiveWayAreThoseOfTheStep) {
  const ModelPtr model = load_mjcf_string(R"(<mujoco><worldbody>
    <body name="a" pos="0 0 1"><joint type="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" contype="0" conaffinity="0"/></body>
    <body name="b" pos="0.3 0 1"><freejoint/><geom type="box" size="0.1 0.07 0.05"/></body></worldbody>
    <equality><weld body1="a" body2="b"/></equality></mujoco>)");
  SimulatorOptions options;
  options.tolerance = 1e-14;
  options.stabilisation.loop_softening = LoopSoftening::kImpedance;
  Simulator sim(model, options);
  sim.step(20);
  const State before = sim.state();
  sim.step();
  const VectorX lambda = sim.context().lambda.head(sim.context().constraints.rows());
  ASSERT_EQ(lambda.size(), 6);
  ContactInverseDynamics inverse(model, options, {0, 1, 2, 3, 4, 5, 6});
  const ContactForces f = inverse.solve(before, sim.state().v);
  EXPECT_LT((f.lambda - lambda).norm(), 1e-8 * lambda.norm());
  EXPECT_LT(f.tau.norm(), 1e-5);
  EXPECT_LT(f.violation, 1e-9);
}

}  // namespace
}  // namespace touchstone::test
