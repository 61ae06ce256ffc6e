// Derivatives of steps that are made of substeps, and of steps in which something sleeps.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diff/random_loops.hpp"
#include "diff/step_instants.hpp"
#include "diff/step_scenes.hpp"
#include "support/allocation_guard.hpp"
#include "support/effort.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"

namespace touchstone::test {
namespace {

SimulatorOptions in_parts(int substeps, Stabilisation method = Stabilisation::kBaumgarte) {
  SimulatorOptions options = exact_options(method);
  options.substeps = substeps;
  return options;
}

const char* const kSlider =
    R"(<mujoco><option timestep="0.01"/><worldbody><body><joint name="s" type="slide" axis="1 0 0" damping="3" stiffness="50"/>
       <geom type="sphere" size="0.1" mass="2"/></body></worldbody><actuator><motor joint="s" gear="4"/></actuator></mujoco>)";

// Backward Euler's spring and damper, four times: (m + h c + h^2 k) (v' - v) = -h k q - h (c + h k) v + 4 h u.
TEST(SubstepDerivatives, OfASlider) {
  const ModelPtr model = load_mjcf_string(kSlider);
  Simulator sim(model, in_parts(4));
  sim.keep_starts();
  sim.input().control[0] = 0.3;
  sim.step();
  StepDerivatives d(*model);
  d.compute(sim);
  const double h = 0.0025, m = 2.0, k = 50.0, c = 3.0, inertia = m + h * c + h * h * k;
  MatrixX part(2, 2), A = MatrixX::Identity(2, 2);
  VectorX B = VectorX::Zero(2), by_control(2);
  part.row(1) << -h * k / inertia, 1.0 - h * (c + h * k) / inertia;
  part.row(0) << 1.0 + h * part(1, 0), h * part(1, 1);
  by_control << h * h * 4.0 / inertia, h * 4.0 / inertia;
  for (int i = 0; i < 4; ++i) {
    A = (part * A).eval();
    B = (part * B + by_control).eval();
  }
  EXPECT_LT((d.A - A).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LT((d.B - B).cwiseAbs().maxCoeff(), 1e-12);
  expect_products(d, "slider");
}

TEST(SubstepDerivatives, OfRandomRobots) {
  std::mt19937_64 random(31);
  Figures figures;
  for (int i = 0; i < 16; ++i) {
    const auto [model, state] = random_robot(i, random);
    SimulatorOptions chosen = in_parts(2 + i % 4);
    if (i % 4 == 0) chosen.integrator = Integrator::kMoreauMidpoint;
    Stepper stepper(model, state, chosen);
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    compare(stepper, *model, figures, fmt::format("model {}", i), {1e-4, 1e-5});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, 8);
}

// Midpoint rules with loops remember velocities from one part to the next, and damp what alternates from the fifth on.
TEST(SubstepDerivatives, OfLoopsByMidpointRules) {
  constexpr LoopJointType kTypes[] = {LoopJointType::kRevolute, LoopJointType::kSpherical, LoopJointType::kUniversal};
  std::mt19937_64 random(37);
  Figures figures, by_parameters;
  const int systems = whole_family() ? 8 : 4;
  for (int i = 0; i < systems; ++i) {
    const auto [model, state] = looped(kTypes[i % 3], random, i % 4 == 0, 0.005);
    SimulatorOptions options = in_parts(2 + 2 * (i % 4));
    options.tolerance = 1e-12;
    options.time_step = 8e-3;
    options.integrator = i % 2 == 0 ? Integrator::kMoreauMidpoint : Integrator::kVariational;
    Stepper stepper(model, state, options);
    if (i % 3 == 0) {
      VectorX past(3 * model->nv);
      past << state.v + 0.01 * random_vector(model->nv, random), state.v, 0.9 * state.v;
      stepper.set_past(past);
    }
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    const std::string what = fmt::format("loop {}", i);
    compare(stepper, *model, figures, what, {1e-3, 1e-4, 1e-5});
    if (i == 2 || i == 3) {
      compare_theta(stepper, *model, some_parameters(*model, random), by_parameters, what, {1e-2, 1e-3, 1e-4});
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, systems * 2 / 3);
  EXPECT_GE(by_parameters.steps, 1);
  EXPECT_GE(by_parameters.kept, by_parameters.columns / 3) << by_parameters.kept << " of " << by_parameters.columns;
}

SimulatorOptions accurate(double accuracy, Integrator integrator) {
  SimulatorOptions options = exact_options(Stabilisation::kBaumgarte);
  options.accuracy = accuracy;
  options.min_step = 1e-4;
  options.integrator = integrator;
  return options;
}

// Parts that keep to an accuracy count with the sizes that they had: differences are of steps with these sizes.
TEST(ErrorControlDerivatives, OfRandomRobots) {
  std::mt19937_64 random(33);
  constexpr Integrator kRules[] = {Integrator::kSemiImplicitEuler, Integrator::kMoreauMidpoint,
                                   Integrator::kVariational};
  RandomModelOptions options;
  options.bodies = 5;
  options.damping = true;
  Figures figures;
  int parts = 0;
  for (int i = 0; i < 24; ++i) {
    const ModelPtr model = random_model(random, options);
    Stepper stepper(model, random_state(*model, random), accurate(i % 2 == 0 ? 1e-5 : 1e-6, kRules[i % 3]));
    stepper.step();
    parts = std::max(parts, stepper.sim().report().accuracy.parts);
    compare(stepper, *model, figures, fmt::format("model {}", i), {1e-4, 1e-5, 1e-6});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 4) << figures.kept << " of " << figures.columns;
  EXPECT_GE(parts, 4);
}

// Their parts hand on what loops remember, as substeps do.
TEST(ErrorControlDerivatives, OfLoopsByMidpointRules) {
  std::mt19937_64 random(39);
  Figures figures;
  int parts = 0;
  for (int i = 0; i < (whole_family() ? 4 : 2); ++i) {
    const auto [model, state] = looped(LoopJointType::kSpherical, random, i % 4 < 2, 0.005);
    SimulatorOptions options = accurate(1e-4, i % 2 == 0 ? Integrator::kMoreauMidpoint : Integrator::kVariational);
    options.tolerance = 1e-12;
    options.time_step = 8e-3;
    Stepper stepper(model, state, options);
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    stepper.step();
    parts = std::max(parts, stepper.sim().report().accuracy.parts);
    compare(stepper, *model, figures, fmt::format("loop {}", i), {1e-4, 1e-5, 1e-6});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 4) << figures.kept << " of " << figures.columns;
  EXPECT_GE(parts, 3);
}

TEST(ErrorControlDerivatives, OfContacts) {
  Figures figures;
  int parts = 0;
  for (const Scene& scene : {kScenes[0], kScenes[1], kScenes[2]}) {
    const ModelPtr model = load_mjcf_string(scene.xml);
    const SimulatorOptions options = accurate(1e-7, Integrator::kSemiImplicitEuler);
    Simulator sim(model, options);
    for (int k = 0; k < 4; ++k) {
      sim.step(23);
      Stepper stepper(model, sim.state(), options);
      stepper.step();
      parts = std::max(parts, stepper.sim().report().accuracy.parts);
      compare(stepper, *model, figures, fmt::format("{} {}", scene.name, k), {1e-5, 1e-6});
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(figures.kept, figures.columns / 4) << figures.kept << " of " << figures.columns;
  EXPECT_GE(parts, 2);
}

// Asking changes nothing: not the state, not the size of the next part, no bit of the steps that follow.
TEST(ErrorControlDerivatives, LeaveTheSimulatorAsItWas) {
  const ModelPtr model = load_mjcf_string(kScenes[0].xml);
  SimulatorOptions options;
  options.accuracy = 1e-5;
  Simulator asked(model, options), plain(model, options);
  asked.keep_starts();
  StepDerivatives d(*model);
  for (int i = 0; i < 40; ++i) {
    asked.step();
    plain.step();
    d.compute(asked);
    ASSERT_EQ(asked.state().q, plain.state().q) << i;
    ASSERT_EQ(asked.report().accuracy.parts, plain.report().accuracy.parts) << i;
  }
  Simulator forgetful(model, options);
  forgetful.step();
  EXPECT_THAT([&] { d.compute(forgetful); }, testing::ThrowsMessage<Error>(testing::HasSubstr("keep_starts")));
  EXPECT_THAT([&] { d.compute(asked.context()); }, testing::ThrowsMessage<Error>(testing::HasSubstr("compute(sim)")));
}

TEST(SubstepDerivatives, OfParameters) {
  std::mt19937_64 random(32);
  Figures figures;
  for (int i = 0; i < 6; ++i) {
    RandomModelOptions options;
    options.bodies = 4;
    options.damping = true;
    const ModelPtr model = i % 2 == 0 ? random_model(random, options) : random_bound_model(random, options);
    State state = random_state(*model, random);
    state.v *= 0.3;
    Stepper stepper(model, state, in_parts(3));
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    compare_parameters(stepper, *model, figures, fmt::format("model {}", i), {1e-4, 1e-5});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.steps, 2);
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
}

class SubstepDerivativesOf : public testing::TestWithParam<Scene> {};

TEST_P(SubstepDerivativesOf, Contacts) {
  const Scene& scene = GetParam();
  const ModelPtr model = load_mjcf_string(scene.xml);
  Figures figures;
  std::optional<Simulator> sim;
  for (int k = 0; k < 6; ++k) {
    const SimulatorOptions options = in_parts(3, k < 3 ? Stabilisation::kBaumgarte : Stabilisation::kPosition);
    if (k % 3 == 0) sim.emplace(model, options);
    if (model->nu > 0) sim->input().control.setConstant(scene.push);
    sim->step(37);
    Stepper stepper(model, sim->state(), options);
    if (model->nu > 0) stepper.control().setConstant(scene.push);
    compare(stepper, *model, figures, fmt::format("{} {}", scene.name, k), {1e-3, 1e-4, 1e-5, 1e-6});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 3) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, 2);
}

INSTANTIATE_TEST_SUITE_P(Scenes, SubstepDerivativesOf, testing::ValuesIn(kScenes),
                         [](const auto& scene) { return std::string(scene.param.name); });

// Whoever asks for derivatives does not change the motion.
TEST(SubstepDerivatives, LeaveTheSimulatorAsItWas) {
  const ModelPtr model = load_mjcf_string(kScenes[10].xml);
  Simulator asked(model, in_parts(3, Stabilisation::kPosition)), other(model, in_parts(3, Stabilisation::kPosition));
  asked.keep_starts();  // the other does not
  StepDerivatives d(*model);
  for (int i = 0; i < 60; ++i) {
    asked.step();
    other.step();
    d.compute(asked);
    ASSERT_EQ(asked.state().q, other.state().q) << i;
    ASSERT_EQ(asked.state().v, other.state().v) << i;
    ASSERT_EQ(asked.report().time, other.report().time);
    ASSERT_EQ(asked.impulses(), other.impulses());
  }
}

// They are those of the step as it was made, with the controls of that time.
TEST(SubstepDerivatives, OfAStepWhoseControlsHaveChangedSince) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><worldbody><geom type="plane" size="5 5 1"/><body pos="0 0 0.1"><joint name="x" type="slide" axis="1 0 0"/>
         <joint type="slide" axis="0 0 1"/><joint type="hinge" axis="0 1 0" name="r"/><geom size="0.1" mass="1"/></body></worldbody>
         <actuator><general joint="r" gainprm="1 2" gaintype="affine" biastype="affine" biasprm="0 0 -0.1"/></actuator></mujoco>)");
  const SimulatorOptions options = in_parts(3);
  Simulator asked(model, options), other(model, options);
  for (Simulator* sim : {&asked, &other}) sim->keep_starts();
  StepDerivatives d(*model), e(*model);
  for (int i = 0; i < 20; ++i) {
    for (Simulator* sim : {&asked, &other}) {
      sim->input().control[0] = 3.0 * std::cos(0.7 * i);
      sim->step();
    }
    e.compute(other);
    asked.input().control[0] = -5.0;
    d.compute(asked);
    ASSERT_EQ(asked.input().control[0], -5.0);
    ASSERT_EQ(d.A, e.A) << i;
    ASSERT_EQ(d.B, e.B) << i;
    ASSERT_EQ(asked.state().q, other.state().q) << i;
    ASSERT_EQ(asked.state().v, other.state().v) << i;
    ASSERT_EQ(asked.impulses(), other.impulses()) << i;
  }
}

TEST(SubstepDerivatives, AllocateNothingWhenWarm) {
  if (!AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  const ModelPtr model = load_mjcf_string(kScenes[0].xml);
  Simulator sim(model, in_parts(3));
  sim.keep_starts();
  sim.step(100);
  StepDerivatives d(*model);
  for (int i = 0; i < 3; ++i) d.compute(sim);
  const AllocationGuard guard;
  d.compute(sim);
  EXPECT_EQ(guard.allocations(), 0u);
}

// A step keeps where it began only for those who ask.
TEST(SubstepDerivatives, NeedTheStartOfTheStep) {
  const ModelPtr model = load_mjcf_string(kSlider);
  Simulator sim(model, in_parts(3));
  StepDerivatives d(*model);
  const auto refusal = [&] {
    try {
      d.compute(sim);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  sim.step(2);
  EXPECT_THAT(refusal(), testing::HasSubstr("keep_starts()"));
  sim.keep_starts();
  EXPECT_THAT(refusal(), testing::HasSubstr("keep_starts()"));  // that step is over
  sim.step();
  EXPECT_EQ(refusal(), "");
  sim.keep_starts();  // already does: nothing is lost
  EXPECT_EQ(refusal(), "");
  sim.keep_starts(false);
  sim.step();
  EXPECT_THAT(refusal(), testing::HasSubstr("keep_starts()"));
}

TEST(SubstepDerivatives, Refuse) {
  const ModelPtr slider = load_mjcf_string(kSlider);
  Simulator sim(slider, in_parts(2));
  sim.keep_starts();
  StepDerivatives d(*slider);
  EXPECT_THROW(d.compute(sim), Error);  // no step yet
  sim.step();
  EXPECT_THROW(d.compute(sim.context()), Error);  // one of them alone is no step
  sim.reset();
  EXPECT_THROW(d.compute(sim), Error);
}

// No derivatives of a step that has no end: neither of its first substeps, nor of what was computed before.
TEST(SubstepDerivatives, RefuseStepsThatDiverge) {
  const ModelPtr model = load_mjcf_string(kSlider);
  for (const int substeps : {1, 2, 4}) {
    for (const double push : {1e300, 8e11}) {  // in the first substep, or later
      Simulator sim(model, in_parts(substeps));
      sim.keep_starts();
      sim.step();
      StepDerivatives d(*model);
      d.compute(sim);
      sim.input().control[0] = push;
      sim.step(100);
      ASSERT_EQ(sim.report().status, StepStatus::kDiverged) << push;
      EXPECT_THROW(d.compute(sim), Error) << substeps;
      EXPECT_THROW(d.linearise(sim), Error) << substeps;
      EXPECT_THROW(StepDerivatives(*model).compute(sim), Error) << substeps;
    }
  }
}

// --- sleep ---

const char* const kSleeper =
    R"(<mujoco><worldbody><geom type="plane" size="5 5 1"/>
       <body name="swing" pos="2 0 1"><joint type="hinge" axis="0 1 0" damping="0.1"/><joint type="hinge" axis="1 0 0"/>
       <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="0.5"/></body>
       <body name="box" pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body></worldbody></mujoco>)";

SimulatorOptions with_sleep(Integrator integrator, int substeps) {
  SimulatorOptions options = exact_options();
  options.integrator = integrator;
  options.substeps = substeps;
  options.sleep.mode = SleepMode::kOn;
  return options;
}

// What is awake has the derivatives that it has without the sleeper; that one stays.
TEST(SleepDerivatives, OfABoxBesideASwing) {
  const ModelPtr model = load_mjcf_string(kSleeper);
  for (const Integrator integrator : {Integrator::kSemiImplicitEuler, Integrator::kMoreauMidpoint}) {
    for (const int substeps : {1, 3}) {
      Simulator sim(model, with_sleep(integrator, substeps));
      sim.keep_starts();
      for (int i = 0; i < 4000 && !sim.is_asleep(model->body("box")); ++i) sim.step();
      ASSERT_TRUE(sim.is_asleep(model->body("box")));
      sim.step();
      ASSERT_FALSE(sim.is_asleep(model->body("swing")));
      const State before = substeps == 1 ? sim.context().before : State(*model);
      StepDerivatives d(*model);
      d.compute(sim);
      expect_products(d, "sleeper");
      const int nv = model->nv;
      MatrixX expected = MatrixX::Zero(2 * nv, 2 * nv);
      expected.block(2, 2, 6, 6).setIdentity();
      for (const int first : {2, nv + 2}) {
        EXPECT_EQ(d.A.middleRows(first, 6), expected.middleRows(first, 6));
        EXPECT_EQ(d.A.middleCols(first, 6), expected.middleCols(first, 6));
      }
      if (substeps > 1) continue;
      SimulatorOptions options = with_sleep(integrator, 1);
      options.sleep.mode = SleepMode::kOff;
      Simulator other(model, options);
      other.reset(before);
      other.step();
      StepDerivatives e(*model);
      e.compute(other);
      for (const int row : {0, 1, nv, nv + 1}) {
        for (const int column : {0, 1, nv, nv + 1}) EXPECT_NEAR(d.A(row, column), e.A(row, column), 1e-12);
      }
      EXPECT_LT(std::abs(d.A(nv, 0)), 1.0);
      EXPECT_GT(std::abs(d.A(nv, 0)), 1e-6);
    }
  }
}

// Compliant laws have a matrix of all dofs, in which sleepers are as well: what is left of their factors says nothing.
TEST(SleepDerivatives, WithCompliantLaws) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><worldbody><geom type="plane" size="5 5 1"/><body name="box" pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
         <body name="ball" pos="2 0 0.1"><freejoint/><geom size="0.1" mass="0.5"/></body></worldbody></mujoco>)");
  for (const char* solver : {"sap", "lagged"}) {
    SimulatorOptions options = with_sleep(Integrator::kSemiImplicitEuler, 1);
    options.solver = solver;
    Simulator sim(model, options);
    sim.put_to_sleep(model->body("box"));
    for (int i = 0; i < 4000 && !sim.is_asleep(model->body("box")); ++i) {
      sim.state().v.tail(6) << 0.3, 0.1, 0.0, 0.0, 2.0, 1.0;
      sim.step();
    }
    ASSERT_TRUE(sim.is_asleep(model->body("box"))) << solver;
    sim.step();
    ASSERT_FALSE(sim.is_asleep(model->body("ball"))) << solver;
    const State before = sim.context().before;
    // Whatever is in the factors of what sleeps.
    const int nv = model->nv;
    sim.context().data.D_inverse.head(6).setConstant(-1.0);
    StepDerivatives d(*model);
    d.compute(sim);
    expect_products(d, solver);
    for (const int first : {0, nv}) {
      MatrixX expected = MatrixX::Zero(6, 2 * nv);
      if (first < nv) expected.middleCols(first, 6).setIdentity();
      EXPECT_EQ(d.A.middleRows(first, 6), expected) << solver;
    }
    options.sleep.mode = SleepMode::kOff;
    Simulator other(model, options);
    other.reset(before);
    other.step();
    StepDerivatives e(*model);
    e.compute(other);
    for (const int row : {6, nv + 6}) {
      for (const int column : {6, nv + 6}) {
        // The other one solves its step without the impulses of the step before.
        const double size = std::max(1.0, e.A.block(row, column, 6, 6).cwiseAbs().maxCoeff());
        EXPECT_LT((d.A.block(row, column, 6, 6) - e.A.block(row, column, 6, 6)).cwiseAbs().maxCoeff(), 1e-6 * size)
            << solver;
      }
    }
  }
}

TEST(SleepDerivatives, OfAWorldAsleep) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><worldbody><geom type="plane" size="5 5 1"/><body name="box" pos="0 0 0.1"><joint type="slide" axis="0 0 1" name="z"/>
         <geom type="box" size="0.1 0.1 0.1"/></body></worldbody>
         <actuator><general joint="z" dyntype="filter" dynprm="0.1" gainprm="0.1"/></actuator></mujoco>)");
  Simulator sim(model, with_sleep(Integrator::kSemiImplicitEuler, 1));
  for (int i = 0; i < 4000 && !sim.is_asleep(1); ++i) sim.step();
  ASSERT_TRUE(sim.is_asleep(1));
  sim.step(2);
  StepDerivatives d(*model);
  d.compute(sim);
  MatrixX expected = MatrixX::Identity(3, 3);
  expected(1, 1) = 0.0;
  EXPECT_EQ(d.A, expected);
  EXPECT_TRUE(d.B.isZero(0.0));
  expect_products(d, "asleep");
}

}  // namespace
}  // namespace touchstone::test
