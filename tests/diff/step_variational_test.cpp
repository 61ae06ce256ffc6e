// Derivatives of steps of the variational midpoint rule.
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diff/random_loops.hpp"
#include "diff/step_instants.hpp"
#include "diff/step_scenes.hpp"
#include "support/effort.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/variational.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/integrators/loop_velocity.hpp"

namespace touchstone::test {
namespace {

SimulatorOptions variational(Stabilisation method = Stabilisation::kBaumgarte) {
  SimulatorOptions options = exact_options(method);
  options.integrator = Integrator::kVariational;
  return options;
}

// A slider with the spring k and the damper c, forces at the middle: m w = m v - (h/2) (k (q + (h/2) w) + c (2 w - v)),
// q' = q + h w, m v' = m v - h (..).
TEST(VariationalDerivatives, OfASlider) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><option timestep="0.01"/><worldbody><body><joint name="s" type="slide" axis="1 0 0" damping="3" stiffness="50"/>
         <geom type="sphere" size="0.1" mass="2"/></body></worldbody><actuator><motor joint="s" gear="4"/></actuator></mujoco>)");
  Simulator sim(model, variational());
  sim.step();
  StepDerivatives d(*model);
  d.compute(sim);
  const double h = 0.01, m = 2.0, k = 50.0, c = 3.0, E = m + 0.25 * h * h * k + h * c;
  const double w_q = -0.5 * h * k / E, w_v = (m + 0.5 * h * c) / E, w_u = 0.5 * h * 4.0 / E;
  EXPECT_NEAR(d.A(0, 0), 1.0 + h * w_q, 1e-12);
  EXPECT_NEAR(d.A(0, 1), h * w_v, 1e-12);
  EXPECT_NEAR(d.B(0, 0), h * w_u, 1e-12);
  EXPECT_NEAR(d.A(1, 0), 2.0 * w_q, 1e-12);  // v' = 2 w - v
  EXPECT_NEAR(d.A(1, 1), 2.0 * w_v - 1.0, 1e-12);
  EXPECT_NEAR(d.B(1, 0), 2.0 * w_u, 1e-12);
}

// Momentum and gradient of the kinetic energy, of all kinds of joints.
TEST(VariationalDerivatives, OfKineticEnergy) {
  std::mt19937_64 random(41);
  for (int i = 0; i < 60; ++i) {
    RandomModelOptions options;
    options.bodies = 1 + i % 8;
    const ModelPtr model = random_model(random, options);
    const State state = random_state(*model, random);
    const Parameters& parameters = model->defaults;
    const int nv = model->nv;
    if (nv == 0) continue;
    Data data(*model);
    State at = state;
    KineticDerivatives d(*model);
    forward_kinematics(*model, parameters, at, data);
    d.compute(*model, parameters, state.v, data);
    const auto both = [&](const VectorX& q, const VectorX& v) -> VectorX {
      at.q = q;
      forward_kinematics(*model, parameters, at, data);
      forward_velocity(*model, v, data);
      VectorX momentum(nv), gradient(nv), result(2 * nv);
      kinetic_gradient(*model, parameters, v, data, momentum, gradient);
      result << momentum, gradient;
      return result;
    };
    VectorX own(2 * nv);
    own << d.momentum, d.gradient;
    const double scale = 1.0 + both(state.q, state.v).cwiseAbs().maxCoeff();
    EXPECT_LT((own - both(state.q, state.v)).cwiseAbs().maxCoeff(), 1e-12 * scale) << i;
    MatrixX by_q(2 * nv, nv), by_v(2 * nv, nv);
    by_q << d.momentum_by_q, d.gradient_by_q;
    by_v << d.momentum_by_v, d.gradient_by_v;
    const MatrixX q_expected = by_configuration(*model, state.q, [&](const VectorX& q) { return both(q, state.v); });
    const MatrixX v_expected = by_vector(state.v, [&](const VectorX& v) { return both(state.q, v); });
    ASSERT_LT((by_q - q_expected).cwiseAbs().maxCoeff(), 1e-8 * (1.0 + q_expected.cwiseAbs().maxCoeff())) << i;
    ASSERT_LT((by_v - v_expected).cwiseAbs().maxCoeff(), 1e-8 * (1.0 + v_expected.cwiseAbs().maxCoeff())) << i;
  }
}

TEST(VariationalDerivatives, OfRandomRobots) {
  std::mt19937_64 random(43);
  Figures figures;
  for (int i = 0; i < 60; ++i) {
    const auto [model, state] = random_robot(i, random);
    Stepper stepper(model, state, variational());
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    compare(stepper, *model, figures, fmt::format("model {}", i), {1e-4, 1e-5});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, 12);
}

class VariationalDerivativesOf : public testing::TestWithParam<Scene> {};

TEST_P(VariationalDerivativesOf, Contacts) {
  const Scene& scene = GetParam();
  const ModelPtr model = load_mjcf_string(scene.xml);
  Figures figures;
  std::optional<Simulator> sim;
  for (int k = 0; k < 8; ++k) {
    const SimulatorOptions options = variational(k < 4 ? Stabilisation::kBaumgarte : Stabilisation::kPosition);
    if (k % 4 == 0) sim.emplace(model, options);
    if (model->nu > 0) sim->input().control.setConstant(scene.push);
    sim->step(37);
    State state = sim->state();
    if (k % 2 == 1 && model->joints[0].type == JointType::kFree) state.q[2] -= 5e-4 * k;
    Stepper stepper(model, state, options);
    if (model->nu > 0) stepper.control().setConstant(scene.push);
    compare(stepper, *model, figures, fmt::format("{} {}", scene.name, k), {1e-4, 1e-5, 1e-6});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.modes[scene.mode], 1);
  EXPECT_GE(figures.kept, figures.columns / 3) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, 3);
}

TEST_P(VariationalDerivativesOf, ContactsByParameters) {
  const Scene& scene = GetParam();
  const ModelPtr model = load_mjcf_string(scene.xml);
  Figures figures;
  // Impulses of loops are solved for until they move velocities by 1e-9 of the largest, whatever the tolerance.
  if (may_have_loops(*model)) figures.least_scale = 1e-2;
  for (const Stabilisation method : {Stabilisation::kBaumgarte, Stabilisation::kPosition}) {
    Simulator sim(model, variational(method));
    if (model->nu > 0) sim.input().control.setConstant(scene.push);
    sim.step(60);
    Stepper stepper(model, sim.state(), variational(method));
    if (model->nu > 0) stepper.control().setConstant(scene.push);
    stepper.sim().parameters().shape_material[0].friction[0] += 1e-3;  // no tie: the first surface decides
    // Nor gains of zero, which are implicit as they grow and explicit as they fall.
    for (auto& bias : stepper.sim().parameters().actuator_bias) bias[1] -= 0.1;
    compare_parameters(stepper, *model, figures, scene.name, {1e-3, 1e-4, 1e-5, 1e-6});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 3) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, 1);
}

INSTANTIATE_TEST_SUITE_P(Scenes, VariationalDerivativesOf, testing::ValuesIn(kScenes),
                         [](const auto& scene) { return std::string(scene.param.name); });

TEST(VariationalDerivatives, OfRandomRobotsByParameters) {
  std::mt19937_64 random(53);
  Figures figures;
  for (int i = 0; i < 16; ++i) {
    const bool is_bound = i % 2 == 1;
    RandomModelOptions options;
    options.bodies = 4;
    options.damping = true;
    const ModelPtr model = is_bound ? random_bound_model(random, options) : random_model(random, options);
    State state = random_state(*model, random);
    if (is_bound) state.v *= 0.3;
    Stepper stepper(model, state, variational());
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    compare_parameters(stepper, *model, figures, fmt::format("model {}", i), {1e-4, 1e-5});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, 4);
}

// Half of the weight of a body is taken away, by what stays in the world.
TEST(VariationalDerivatives, WithGravityCompensation) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><worldbody><body pos="0 0 1" gravcomp="0.5"><joint type="ball" damping="0.1"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/>
         <body pos="0.3 0 0" gravcomp="1.2"><joint type="hinge" axis="0 1 0" stiffness="2"/><geom type="capsule" fromto="0 0 0 0.3 0 0.1" size="0.02"/>
         </body></body></worldbody></mujoco>)");
  std::mt19937_64 random(59);
  Figures figures;
  for (int i = 0; i < 4; ++i) {
    Stepper stepper(model, random_state(*model, random), variational());
    compare(stepper, *model, figures, fmt::format("state {}", i), {1e-4, 1e-5});
    // Of little weight: long differences, for their digits.
    compare_parameters(stepper, *model, figures, fmt::format("state {}", i), {1e-1, 1e-2, 1e-3, 1e-4, 1e-5});
  }
  EXPECT_EQ(figures.steps, 8);
}

// A part of the weight is lifted by actuators.
TEST(VariationalDerivatives, WithGravityCompensationByActuators) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><worldbody><body pos="0 0 1" gravcomp="0.5"><joint name="a" axis="1 1 0" actuatorgravcomp="true" damping="0.1"/>
         <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/>
         <body pos="0.3 0 0" gravcomp="1.2"><joint name="b" type="hinge" axis="0 1 0" stiffness="2"/><geom type="capsule" fromto="0 0 0 0.3 0 0.1" size="0.02"/>
         <body pos="0.3 0 0.1" gravcomp="0.8"><joint name="c" type="hinge" axis="0 0 1" actuatorgravcomp="true"/><geom type="box" pos="0.1 0 0" size="0.1 0.02 0.04"/>
         </body></body></body></worldbody><actuator><motor joint="a"/></actuator></mujoco>)");
  std::mt19937_64 random(61);
  for (const Integrator rule : {Integrator::kVariational, Integrator::kContactImplicit, Integrator::kMoreauMidpoint}) {
    Figures figures;
    SimulatorOptions options = variational();
    options.integrator = rule;
    for (int i = 0; i < 4; ++i) {
      Stepper stepper(model, random_state(*model, random), options);
      compare(stepper, *model, figures, fmt::format("state {}", i), {1e-3, 1e-4, 1e-5});
    }
    EXPECT_EQ(figures.steps, 4);
    EXPECT_EQ(figures.kept, figures.columns);
    if (rule == Integrator::kMoreauMidpoint) continue;
    StepParameters theta;
    theta.gravity = true;
    Simulator sim(model, options);
    sim.step();
    EXPECT_THAT([&] { StepDerivatives(*model, theta).compute(sim); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("joint 0 'a'")));
  }
}

// Where a limit of the forces of a joint cuts what lifts the weight, that is held, and counted.
TEST(VariationalDerivatives, WithGravityCompensationByActuatorsAtALimit) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><worldbody><body pos="0 0 1" gravcomp="0.5"><joint name="a" axis="0 1 0" actuatorgravcomp="true" actuatorfrclimited="true"
         actuatorfrcrange="-0.1 0.1"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/></body></worldbody>
         <actuator><motor joint="a"/></actuator></mujoco>)");
  Figures figures;
  Stepper stepper(model, State(*model), variational());
  compare(stepper, *model, figures, "at the limit", {1e-3, 1e-4, 1e-5});
  EXPECT_EQ(figures.kept, figures.columns);
  StepDerivatives d(*model);
  d.compute(stepper.sim());
  EXPECT_EQ(d.held().actuators, 1);
}

// Springs and dampers of tendons between branches: rows of the rule, but without impulses of dampers at knots.
TEST(VariationalDerivatives, WithTendonsThatJoinBranches) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><worldbody><body><joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/>
         <body pos="0.3 0 0"><joint name="b" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.3 0 0.1" size="0.02"/></body>
         <body pos="0.3 0 0"><joint name="c" axis="0 0 1"/><geom type="capsule" fromto="0 0 0 0 0.3 0.1" size="0.02"/></body></body></worldbody>
         <tendon><fixed stiffness="40" damping="3" springlength="0.1"><joint joint="b" coef="0.7"/><joint joint="c" coef="-1.2"/></fixed>
         <fixed damping="2"><joint joint="a" coef="0.5"/><joint joint="b" coef="1"/></fixed></tendon></mujoco>)");
  std::mt19937_64 random(67);
  for (const Integrator rule : {Integrator::kVariational, Integrator::kContactImplicit, Integrator::kMoreauMidpoint}) {
    Figures figures;
    SimulatorOptions options = variational();
    options.integrator = rule;
    for (int i = 0; i < 6; ++i) {
      Stepper stepper(model, random_state(*model, random), options);
      compare(stepper, *model, figures, fmt::format("state {}", i), {1e-3, 1e-4, 1e-5});
      compare_parameters(stepper, *model, figures, fmt::format("state {}", i), {1e-1, 1e-2, 1e-3, 1e-4, 1e-5});
    }
    EXPECT_EQ(figures.steps, 12);
    EXPECT_GE(figures.kept, figures.columns / 2);
  }
}

// The first step from a state, and steps that go on, whose equation has the impulses in it: with a past of one step or
// of four.
class VariationalDerivativesOfLoops : public testing::TestWithParam<int> {};

TEST_P(VariationalDerivativesOfLoops, ThatGoOn) {
  const auto type = static_cast<LoopJointType>(GetParam());
  std::mt19937_64 random(500 + static_cast<unsigned>(GetParam()));
  Figures figures, by_parameters;
  const int systems = whole_family() ? 9 : 3;
  for (int i = 0; i < systems; ++i) {
    const auto [model, state] = looped(type, random, i % 2 == 0, 0.005);
    SimulatorOptions options = variational();
    options.tolerance = 1e-13;
    Stepper stepper(model, state, options);
    VectorX past = VectorX::Constant(3 * model->nv, std::numeric_limits<double>::quiet_NaN());
    if (i % 3 == 1) past << state.v + 0.01 * random_vector(model->nv, random), state.v, 0.9 * state.v;
    if (i % 3 < 2) stepper.set_past(past);
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    const std::string what = fmt::format("{} {}", to_string(type), i);
    compare(stepper, *model, figures, what, {1e-3, 1e-4, 1e-5});
    if (i < 3) {
      compare_theta(stepper, *model, some_parameters(*model, random), by_parameters, what, {1e-2, 1e-3, 1e-4});
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, systems * 2 / 3);
  EXPECT_GE(by_parameters.steps, 1);
  EXPECT_GE(by_parameters.kept, by_parameters.columns / 3) << by_parameters.kept << " of " << by_parameters.columns;
}

INSTANTIATE_TEST_SUITE_P(Types, VariationalDerivativesOfLoops,
                         testing::Range(0, static_cast<int>(LoopJointType::kPointOnPlane) + 1), [](const auto& type) {
                           return std::string(to_string(static_cast<LoopJointType>(type.param)));
                         });

}  // namespace
}  // namespace touchstone::test
