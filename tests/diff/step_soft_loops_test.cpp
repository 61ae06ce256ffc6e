// Loops that give way by their impedance in rigid models (loop_softening), and softened models by midpoint rules, by
// states, controls and parameters against central differences.
#include <limits>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diff/random_loops.hpp"
#include "diff/step_instants.hpp"
#include "diff/step_scenes.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/integrators/integrator.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {
namespace {

constexpr int kLoopJointTypes = static_cast<int>(LoopJointType::kPointOnPlane) + 1;
const std::vector<double> kWays = {1e-3, 1e-4, 1e-5, 1e-6};

// A past of one step or of four, or none.
void set_past(Stepper& stepper, const State& state, int kind, std::mt19937_64& random) {
  const Eigen::Index nv = state.v.size();
  VectorX past = VectorX::Constant(3 * nv, std::numeric_limits<double>::quiet_NaN());
  if (kind == 1) past << state.v + 0.01 * random_vector(nv, random), state.v, 0.9 * state.v;
  if (kind < 2) stepper.set_past(past);
}

std::string name_of(Integrator rule, const std::string& solver) {
  std::string name = fmt::format("{}_{}", entry_of(rule).name, solver);
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

// --- loops that give way in rigid models ---

class LoopsThatGiveWay : public testing::TestWithParam<std::tuple<Integrator, const char*>> {
 protected:
  static SimulatorOptions options() {
    const auto [rule, solver] = GetParam();
    SimulatorOptions options = exact_options(Stabilisation::kBaumgarte);
    options.tolerance = 1e-13;
    options.integrator = rule;
    options.solver = solver;
    options.stabilisation.loop_softening = LoopSoftening::kImpedance;
    return options;
  }
};

// Apart by less and by more than what the impedance grows over.
TEST_P(LoopsThatGiveWay, OfLoopJoints) {
  std::mt19937_64 random(83);
  Figures figures, by_parameters;
  for (int i = 0; i < 2 * kLoopJointTypes; ++i) {
    const auto type = static_cast<LoopJointType>(i % kLoopJointTypes);
    const auto [model, state] = looped(type, random, i % 4 < 2, i < kLoopJointTypes ? 2e-4 : 0.01);
    Stepper stepper(model, state, options());
    set_past(stepper, state, i % 3, random);
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    const std::string what = fmt::format("{} {}", to_string(type), i);
    compare(stepper, *model, figures, what, kWays);
    if (i % 6 == 0)
      compare_theta(stepper, *model, some_parameters(*model, random), by_parameters, what, {1e-2, 1e-3, 1e-4, 1e-5});
    if (HasFailure()) return;
  }
  RecordProperty("worst", std::to_string(std::max(figures.worst, by_parameters.worst) * 1e9));
  EXPECT_GE(figures.steps, kLoopJointTypes);
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(by_parameters.steps, 3);
  EXPECT_GE(by_parameters.kept, by_parameters.columns / 3) << by_parameters.kept << " of " << by_parameters.columns;
}

// Connects, welds and couplings, with limits, dry friction and tendons that stay hard.
TEST_P(LoopsThatGiveWay, OfRandomRobots) {
  std::mt19937_64 random(89);
  Figures figures, by_parameters;
  for (int i = 0; i < 20; ++i) {
    RandomModelOptions small;
    small.bodies = 4;
    const ModelPtr model = random_bound_model(random, small);
    State state = random_state(*model, random);
    state.v *= 0.3;
    Stepper stepper(model, state, options());
    set_past(stepper, state, i % 3, random);
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    const std::string what = fmt::format("model {}", i);
    compare(stepper, *model, figures, what, kWays);
    if (i % 4 == 0)
      compare_theta(stepper, *model, some_parameters(*model, random), by_parameters, what, {1e-2, 1e-3, 1e-4, 1e-5});
    if (HasFailure()) return;
  }
  RecordProperty("worst", std::to_string(std::max(figures.worst, by_parameters.worst) * 1e9));
  EXPECT_GE(figures.steps, 10);
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(by_parameters.steps, 3);
  EXPECT_GE(by_parameters.kept, by_parameters.columns / 3) << by_parameters.kept << " of " << by_parameters.columns;
}

INSTANTIATE_TEST_SUITE_P(Rules, LoopsThatGiveWay,
                         testing::Combine(testing::Values(Integrator::kSemiImplicitEuler, Integrator::kMoreauMidpoint,
                                                          Integrator::kVariational),
                                          testing::Values("auto", "sap", "ccp-newton")),
                         [](const auto& test) { return name_of(std::get<0>(test.param), std::get<1>(test.param)); });

// The substeps of a step: nothing of older velocities is in what gives way.
TEST(LoopsThatGiveWay, InSubsteps) {
  std::mt19937_64 random(97);
  Figures figures;
  for (const Integrator rule : {Integrator::kMoreauMidpoint, Integrator::kVariational}) {
    for (int i = 0; i < 4; ++i) {
      const auto [model, state] = looped(LoopJointType::kSpherical, random, i % 2 == 0, 0.005);
      SimulatorOptions options = exact_options(Stabilisation::kBaumgarte);
      options.tolerance = 1e-13;
      options.integrator = rule;
      options.substeps = 6;
      options.time_step = 6e-3;
      options.stabilisation.loop_softening = LoopSoftening::kImpedance;
      Stepper stepper(model, state, options);
      if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
      compare(stepper, *model, figures, fmt::format("loop {}", i), {1e-3, 1e-4, 1e-5});
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(figures.steps, 6);
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
}

// --- softened models by midpoint rules ---

class SoftMidpoint : public testing::TestWithParam<Integrator> {
 protected:
  static SimulatorOptions options() {
    SimulatorOptions options = exact_options();
    options.constraints = ConstraintModel::kMujoco;
    options.tolerance = 1e-13;
    options.integrator = GetParam();
    return options;
  }
};

TEST_P(SoftMidpoint, OfContacts) {
  std::mt19937_64 random(103);
  Figures figures, by_parameters;
  for (const char* name :
       {"RollingSphere", "TwoBalls", "BoxSticks", "TripodSlides", "CapsuleRolls", "ArmPushesABall"}) {
    const Scene& scene = scene_named(name);
    for (const char* option : {R"(<option cone="elliptic"/>)", R"(<option integrator="implicitfast"/>)"}) {
      std::string xml = scene.xml;
      const std::string start = "<mujoco>";
      const ModelPtr model = load_mjcf_string(xml.insert(xml.find(start) + start.size(), option));
      const auto prepare = [&](Simulator& sim) {
        sim.parameters().shape_material[0].friction[0] += 1e-3;  // no tie: the first surface decides
        for (auto& bias : sim.parameters().actuator_bias) bias[1] -= 0.1;
      };
      Simulator sim(model, options());
      prepare(sim);
      if (model->nu > 0) sim.input().control.setConstant(scene.push);
      for (int k = 0; k < 4; ++k) {
        sim.step(47);
        Stepper stepper(model, sim.state(), options());
        prepare(stepper.sim());
        if (model->nu > 0) stepper.control().setConstant(scene.push);
        const std::string what = fmt::format("{} {}", name, k);
        compare(stepper, *model, figures, what, {1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7});
        if (k % 2 == 0) {
          compare_theta(stepper, *model, some_parameters(*model, random), by_parameters, what,
                        {1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7});
        }
        if (HasFailure()) return;
      }
    }
  }
  RecordProperty("worst", std::to_string(std::max(figures.worst, by_parameters.worst) * 1e9));
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(by_parameters.steps, 3);
  EXPECT_GE(by_parameters.kept, by_parameters.columns / 3) << by_parameters.kept << " of " << by_parameters.columns;
}

// Half of them with connects, welds and couplings: no softened row remembers older velocities.
TEST_P(SoftMidpoint, OfRandomRobots) {
  std::mt19937_64 random(101);
  Figures figures, by_parameters;
  for (int i = 0; i < 24; ++i) {
    RandomModelOptions small;
    small.bodies = 4;
    ModelBuilder builder(*random_bound_model(random, small));
    builder.options().equalities_enabled = i % 2 == 0;
    const ModelPtr model = builder.build();
    State state = random_state(*model, random);
    state.v *= 0.3;
    Stepper stepper(model, state, options());
    set_past(stepper, state, i % 3, random);
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    const std::string what = fmt::format("model {}", i);
    compare(stepper, *model, figures, what, kWays);
    if (i % 4 < 2)
      compare_theta(stepper, *model, some_parameters(*model, random), by_parameters, what, {1e-2, 1e-3, 1e-4, 1e-5});
    if (HasFailure()) return;
  }
  RecordProperty("worst", std::to_string(std::max(figures.worst, by_parameters.worst) * 1e9));
  EXPECT_GE(figures.steps, 12);
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(by_parameters.steps, 3);
  EXPECT_GE(by_parameters.kept, by_parameters.columns / 3) << by_parameters.kept << " of " << by_parameters.columns;
}

INSTANTIATE_TEST_SUITE_P(Rules, SoftMidpoint, testing::Values(Integrator::kMoreauMidpoint, Integrator::kVariational),
                         [](const auto& test) { return name_of(test.param, "mujoco"); });

}  // namespace
}  // namespace touchstone::test
