// Derivatives of steps of Moreau's midpoint rule.
#include <algorithm>
#include <limits>
#include <numbers>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diff/random_loops.hpp"
#include "diff/step_instants.hpp"
#include "diff/step_scenes.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/integrators/integrator.hpp"

namespace touchstone::test {
namespace {

SimulatorOptions midpoint(Stabilisation method, double tolerance = 1e-14) {
  SimulatorOptions options = exact_options(method);
  options.integrator = Integrator::kMoreauMidpoint;
  options.tolerance = tolerance;
  return options;
}

// A slider with spring k and damper c that are backward Euler's at
// q_m = q + h v/2: (m + h c + h^2 k) (v' - v) = -h k q_m - h (c + h k) v.
TEST(MidpointDerivatives, OfASlider) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><option timestep="0.01"/><worldbody><body><joint name="s" type="slide" axis="1 0 0" damping="3" stiffness="50"/>
         <geom type="sphere" size="0.1" mass="2"/></body></worldbody><actuator><motor joint="s" gear="4"/></actuator></mujoco>)");
  Simulator sim(model, midpoint(Stabilisation::kPosition));
  sim.step();
  StepDerivatives d(*model);
  d.compute(sim.context());
  const double h = 0.01, m = 2.0, k = 50.0, c = 3.0, A = m + h * c + h * h * k;
  const double by_q = -h * k / A, by_v = 1.0 - (h * (c + h * k) + 0.5 * h * h * k) / A;
  EXPECT_NEAR(d.A(1, 0), by_q, 1e-12);
  EXPECT_NEAR(d.A(1, 1), by_v, 1e-12);
  EXPECT_NEAR(d.A(0, 0), 1.0 + 0.5 * h * by_q, 1e-12);
  EXPECT_NEAR(d.A(0, 1), 0.5 * h * (1.0 + by_v), 1e-12);
  EXPECT_NEAR(d.B(1, 0), h * 4.0 / A, 1e-12);
}

// A rod hangs at rest on a revolute loop joint: (I + h d) dv' = I dv for turns about its pin with the damper d; at the
// middle it has swung by h/2 dv, and its weight acts on that.
TEST(MidpointDerivatives, OfARodOnALoopJoint) {
  const double h = 2e-3, inertia = 0.02 + 0.25, swing = 9.81 * 0.5, damping = 0.1;
  ModelBuilder builder("pendulum");
  const int rod = builder.add_body({.name = "rod",
                                    .pose = {Vector3(0.0, 0.0, -0.5), Quaternion::Identity()},
                                    .inertia = {1.0, Vector3::Zero(), Vector3(0.02, 0.02, 0.001).asDiagonal()}});
  builder.add_joint({.body = rod, .type = JointType::kFree});
  // z of both frames along the world's y: the pin.
  const Quaternion pin(Eigen::AngleAxisd(-std::numbers::pi / 2.0, Vector3::UnitX()));
  LoopJoint joint{.name = "pin", .type = LoopJointType::kRevolute, .body_a = 0, .body_b = rod};
  joint.frame_a = {Vector3::Zero(), pin};
  joint.frame_b = {Vector3(0.0, 0.0, 0.5), pin};
  LoopCoordinate coordinate;
  coordinate.damping = damping;
  joint.coordinates.push_back(coordinate);
  builder.add_loop_joint(joint);
  const ModelPtr model = builder.build();
  VectorX about_pin = VectorX::Zero(6);
  about_pin[0] = -0.5;
  about_pin[4] = 1.0;
  for (const Integrator integrator : {Integrator::kSemiImplicitEuler, Integrator::kMoreauMidpoint}) {
    SimulatorOptions options = midpoint(Stabilisation::kPosition);
    options.integrator = integrator;
    options.time_step = h;
    Simulator sim(model, options);
    sim.step();
    StepDerivatives d(*model);
    d.compute(sim.context());
    const double ahead = integrator == Integrator::kMoreauMidpoint ? 0.5 * h : 0.0;
    const double factor = (inertia - h * ahead * swing) / (inertia + h * damping);
    EXPECT_LT((d.A.bottomRightCorner(6, 6) * about_pin - factor * about_pin).cwiseAbs().maxCoeff(), 1e-7) << ahead;
  }
}

TEST(MidpointDerivatives, OfRandomRobots) {
  std::mt19937_64 random(11);
  Figures figures;
  for (int i = 0; i < 24; ++i) {
    const auto [model, state] = random_robot(i, random);
    Stepper stepper(model, state, midpoint(Stabilisation::kBaumgarte));
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    compare(stepper, *model, figures, fmt::format("model {}", i), {1e-4, 1e-5});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, 12);
}

// RaiSim's law has the mobility of the tree in it, the balance another one.
TEST(MidpointDerivatives, RefuseRaisimWithLoops) {
  const ModelPtr model = load_mjcf_string(scene_named("BoundByAConnect").xml);
  for (const Integrator rule : {Integrator::kMoreauMidpoint, Integrator::kVariational}) {
    SimulatorOptions options = midpoint(Stabilisation::kPosition);
    options.solver = "raisim";
    options.integrator = rule;
    Simulator sim(model, options);
    sim.step(2);
    StepDerivatives d(*model);
    EXPECT_THAT([&] { d.compute(sim.context()); }, testing::ThrowsMessage<Error>(testing::HasSubstr("RaiSim's law")));
  }
}

class MidpointDerivativesOf : public testing::TestWithParam<Scene> {};

TEST_P(MidpointDerivativesOf, Contacts) {
  const Scene& scene = GetParam();
  const ModelPtr model = load_mjcf_string(scene.xml);
  Figures figures;
  std::optional<Simulator> sim;
  for (int k = 0; k < 8; ++k) {
    const SimulatorOptions options = midpoint(k < 4 ? Stabilisation::kBaumgarte : Stabilisation::kPosition);
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

INSTANTIATE_TEST_SUITE_P(Scenes, MidpointDerivativesOf, testing::ValuesIn(kScenes),
                         [](const auto& scene) { return std::string(scene.param.name); });

// Loops hold for the mean of both velocities, and the bias is that of the mean: with a past of one step or of four.
class MidpointDerivativesOfLoops : public testing::TestWithParam<int> {};

TEST_P(MidpointDerivativesOfLoops, ThatGoOn) {
  const auto type = static_cast<LoopJointType>(GetParam());
  std::mt19937_64 random(300 + static_cast<unsigned>(GetParam()));
  Figures figures, by_parameters;
  for (int i = 0; i < 6; ++i) {
    const auto [model, state] = looped(type, random, i % 2 == 0, 0.005);
    Stepper stepper(model, state, midpoint(Stabilisation::kBaumgarte, 1e-13));
    VectorX past = VectorX::Constant(3 * model->nv, std::numeric_limits<double>::quiet_NaN());
    if (i % 3 > 0) past << state.v + 0.01 * random_vector(model->nv, random), state.v, 0.9 * state.v;
    stepper.set_past(past);
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    const std::string what = fmt::format("{} {}", to_string(type), i);
    compare(stepper, *model, figures, what, {1e-3, 1e-4, 1e-5});
    if (i < 2) {
      compare_theta(stepper, *model, some_parameters(*model, random), by_parameters, what, {1e-2, 1e-3, 1e-4});
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, 4);
  EXPECT_GE(by_parameters.steps, 1);
  EXPECT_GE(by_parameters.kept, by_parameters.columns / 3) << by_parameters.kept << " of " << by_parameters.columns;
}

INSTANTIATE_TEST_SUITE_P(Types, MidpointDerivativesOfLoops, testing::Values(1, 3, 5, 7, 10), [](const auto& type) {
  return std::string(to_string(static_cast<LoopJointType>(type.param)));
});

// Loops with laws that are functions of velocities.
struct LawCase {
  Integrator rule;
  const char* solver;
};

class LawsOfLoops : public testing::TestWithParam<LawCase> {};

TEST_P(LawsOfLoops, ThatGoOn) {
  const auto [rule, solver] = GetParam();
  constexpr LoopJointType kTypes[] = {LoopJointType::kRevolute, LoopJointType::kSpherical, LoopJointType::kUniversal};
  std::mt19937_64 random(700);
  Figures figures, by_parameters;
  for (int i = 0; i < 9; ++i) {
    const LoopJointType type = kTypes[i % 3];
    const auto [model, state] = looped(type, random, i % 2 == 0, 0.005);
    SimulatorOptions options = midpoint(Stabilisation::kBaumgarte, 1e-13);
    options.integrator = rule;
    options.solver = solver;
    Stepper stepper(model, state, options);
    VectorX past = VectorX::Constant(3 * model->nv, std::numeric_limits<double>::quiet_NaN());
    if (i / 3 == 1) past << state.v + 0.01 * random_vector(model->nv, random), state.v, 0.9 * state.v;
    if (i / 3 < 2) stepper.set_past(past);
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    const std::string what = fmt::format("{} {} {}", solver, to_string(type), i);
    compare(stepper, *model, figures, what, {1e-3, 1e-4, 1e-5, 1e-6});
    if (i % 4 == 0) {
      compare_theta(stepper, *model, some_parameters(*model, random), by_parameters, what, {1e-2, 1e-3, 1e-4, 1e-5});
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, 6);
  EXPECT_GE(by_parameters.steps, 1);
  EXPECT_GE(by_parameters.kept, by_parameters.columns / 3) << by_parameters.kept << " of " << by_parameters.columns;
}

// Limits of balls, curved couplings and tendons: their mobility turns with them.
TEST_P(LawsOfLoops, OfRandomRobots) {
  const auto [rule, solver] = GetParam();
  std::mt19937_64 random(710);
  Figures figures;
  for (int i = 0; i < 16; ++i) {
    const auto [model, state] = random_robot(i, random);
    SimulatorOptions options = midpoint(Stabilisation::kBaumgarte, 1e-13);
    options.integrator = rule;
    options.solver = solver;
    Stepper stepper(model, state, options);
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    compare(stepper, *model, figures, fmt::format("{} {}", solver, i), {1e-3, 1e-4, 1e-5, 1e-6});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, 8);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, LawsOfLoops,
    testing::Values(LawCase{Integrator::kSemiImplicitEuler, "sap"},
                    LawCase{Integrator::kSemiImplicitEuler, "ccp-newton"}, LawCase{Integrator::kMoreauMidpoint, "sap"},
                    LawCase{Integrator::kMoreauMidpoint, "lagged"}, LawCase{Integrator::kMoreauMidpoint, "ccp-newton"},
                    LawCase{Integrator::kVariational, "sap"}, LawCase{Integrator::kVariational, "similar"},
                    LawCase{Integrator::kVariational, "ccp-newton"}),
    [](const auto& test) {
      std::string name = fmt::format("{}_{}", entry_of(test.param.rule).name, test.param.solver);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace touchstone::test
