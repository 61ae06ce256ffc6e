// Derivatives of steps of the contact-implicit rule.
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diff/random_loops.hpp"
#include "diff/step_compare.hpp"
#include "diff/step_scenes.hpp"
#include "support/allocation_guard.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"

namespace touchstone::test {
namespace {

SimulatorOptions contact_implicit(Stabilisation method = Stabilisation::kPosition) {
  SimulatorOptions options = exact_options(method);
  options.integrator = Integrator::kContactImplicit;
  options.tolerance = 1e-10;  // with which a step is accepted; problems are solved to 1e-13
  return options;
}

// Differences as long as the curvature lets them be: the rule solves its equations to 1e-13 m.
const std::vector<double> kWays = {1e-3, 3e-4, 1e-4, 1e-5};

// A slider that meets its limit within the step ends there at rest, wherever it came from.
TEST(KnotDerivatives, OfASliderOnItsLimit) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><option timestep="0.01"/><worldbody><body><joint name="s" type="slide" axis="0 0 1" limited="true" range="0 1"/>
         <geom type="sphere" size="0.1" mass="2"/></body></worldbody><actuator><motor joint="s"/></actuator></mujoco>)");
  Simulator sim(model, contact_implicit());
  State state(*model);
  state.q[0] = 1e-3;
  state.v[0] = -0.3;
  sim.reset(state);
  sim.step();
  StepDerivatives d(*model);
  d.compute(sim);
  EXPECT_LT(d.A.cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LT(d.B.cwiseAbs().maxCoeff(), 1e-12);
  // Above it the variational rule without constraints: q' = q + h v + ..
  state.q[0] = 0.5;
  sim.reset(state);
  sim.step();
  d.compute(sim);
  EXPECT_NEAR(d.A(0, 0), 1.0, 1e-12);
  EXPECT_NEAR(d.A(0, 1), 0.01, 1e-12);
  EXPECT_NEAR(d.B(0, 0), 0.5 * 1e-4 / 2.0, 1e-12);
  EXPECT_NEAR(d.B(1, 0), 0.01 / 2.0, 1e-12);
}

TEST(KnotDerivatives, OfRandomRobots) {
  std::mt19937_64 random(47);
  Figures figures;
  for (int i = 0; i < 60; ++i) {
    const auto [model, state] = random_robot(i, random);
    Stepper stepper(model, state, contact_implicit());
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    compare(stepper, *model, figures, fmt::format("model {}", i), kWays);
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, 12);
}

class KnotDerivativesOf : public testing::TestWithParam<Scene> {};

TEST_P(KnotDerivativesOf, Contacts) {
  const Scene& scene = GetParam();
  const ModelPtr model = load_mjcf_string(scene.xml);
  Figures figures;
  const SimulatorOptions options = contact_implicit();
  Simulator sim(model, options);
  for (int k = 0; k < 8; ++k) {
    if (model->nu > 0) sim.input().control.setConstant(scene.push);
    sim.step(23);
    State state = sim.state();
    if (k % 2 == 1 && model->joints[0].type == JointType::kFree) state.q[2] -= 5e-4 * k;  // overlaps
    Stepper stepper(model, state, options);
    if (model->nu > 0) stepper.control().setConstant(scene.push);
    compare(stepper, *model, figures, fmt::format("{} {}", scene.name, k), kWays);
    if (HasFailure()) return;
  }
  RecordProperty("worst", fmt::format("{:.1e}", figures.worst));
  EXPECT_GE(figures.modes[scene.mode], 1);
  EXPECT_GE(figures.kept, figures.columns / 3) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, 3);
}

TEST_P(KnotDerivativesOf, ContactsByParameters) {
  const Scene& scene = GetParam();
  const ModelPtr model = load_mjcf_string(scene.xml);
  Figures figures;
  const SimulatorOptions options = contact_implicit();
  Simulator sim(model, options);
  for (int k = 0; k < 3; ++k) {
    if (model->nu > 0) sim.input().control.setConstant(scene.push);
    sim.step(41);
    Stepper stepper(model, sim.state(), options);
    if (model->nu > 0) stepper.control().setConstant(scene.push);
    stepper.sim().parameters().shape_material[0].friction[0] += 1e-3;  // no tie: the first surface decides
    // Nor gains of zero, which are implicit as they grow and explicit as they fall.
    for (auto& bias : stepper.sim().parameters().actuator_bias) bias[1] -= 0.1;
    compare_parameters(stepper, *model, figures, fmt::format("{} {}", scene.name, k),
                       {1e-3, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 3) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, 1);
}

INSTANTIATE_TEST_SUITE_P(Scenes, KnotDerivativesOf, testing::ValuesIn(kScenes),
                         [](const auto& scene) { return std::string(scene.param.name); });

// A ball that bounces within a step: J v' = -e J v1- with v1- = v - g h.
TEST(KnotDerivatives, OfABallThatBounces) {
  const ModelPtr loaded = load_mjcf_string(
      R"(<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="5 5 1"/><body pos="0 0 0.1">
         <joint type="slide" axis="0 0 1"/><geom type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>)");
  const auto model = std::make_shared<Model>(*loaded);
  for (Material& material : model->defaults.shape_material) material.restitution = 0.6;
  State state(*model);
  state.q[0] = 0.02;
  state.v[0] = -2.0;
  Stepper stepper(model, state, contact_implicit());
  Figures figures, by_restitution;
  compare(stepper, *model, figures, "ball", kWays);
  // Of both surfaces, which are alike, as it grows: one is the greater then.
  stepper.sim().parameters().shape_material[1].restitution = 0.61;
  compare_theta(stepper, *model, {.restitutions = {0, 1}}, by_restitution, "ball", {1e-3, 1e-4});
  EXPECT_EQ(by_restitution.kept, 2);
  state.q[0] = 0.002;
  state.v[0] = -0.3;
  Stepper other(model, state, contact_implicit());
  compare(other, *model, figures, "slow ball", kWays);
  EXPECT_EQ(figures.steps, 2);
  EXPECT_EQ(figures.kept, figures.columns);
}

TEST(KnotDerivatives, ThroughSubsteps) {
  const ModelPtr model = load_mjcf_string(kScenes[1].xml);
  SimulatorOptions options = contact_implicit();
  options.substeps = 3;
  Simulator sim(model, options);
  Figures figures;
  for (int k = 0; k < 3; ++k) {
    sim.step(20);
    Stepper stepper(model, sim.state(), options);
    compare(stepper, *model, figures, fmt::format("substeps {}", k), kWays);
  }
  EXPECT_GE(figures.steps, 2);
  EXPECT_GE(figures.kept, figures.columns / 3) << figures.kept << " of " << figures.columns;
}

TEST(KnotDerivatives, RefuseWhatTheyDoNotKnow) {
  const ModelPtr model = load_mjcf_string(kScenes[0].xml);
  const auto expect_refused = [&](SimulatorOptions options, double smoothing, double spin) {
    Simulator sim(model, options);
    sim.state().v[3] = spin;
    sim.step();
    StepDerivatives d(*model);
    d.set_smoothing(smoothing);
    EXPECT_THROW(d.compute(sim), Error);
  };
  SimulatorOptions options = contact_implicit();
  expect_refused(options, 1e-3, 0.0);
  expect_refused(options, 0.0, 1e4);  // turns too fast for the rule: made by Moreau's
  options.solver = "raisim";
  options.tolerance = 1e-6;
  expect_refused(options, 0.0, 0.0);
}

}  // namespace
}  // namespace touchstone::test
