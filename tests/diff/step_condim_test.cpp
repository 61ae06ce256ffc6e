// Derivatives of steps with contacts of other dimensions than three: without friction, with torsional friction, and
// with rolling friction.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diff/step_compare.hpp"
#include "touchstone/io/mjcf.hpp"

namespace touchstone::test {
namespace {

struct Case {
  const char* name;
  const char* bodies;
  const char* plane;
  BlockMode mode;  // that is seen
};

const Case kCases[] = {
    {"SlidesWithoutFriction", R"(<body pos="0 0 0.101" euler="0 10 20"><freejoint/>
       <geom type="sphere" size="0.05" pos="0.1 0 -0.05" condim="1"/><geom type="sphere" size="0.05" pos="-0.1 0.1 -0.05" condim="1"/>
       <geom type="sphere" size="0.05" pos="-0.1 -0.08 -0.05" condim="1"/></body>)",
     R"(condim="1" euler="0 10 0")", BlockMode::kClosed},
    {"SpinsAgainstTorsion",
     R"(<body pos="0 0 0.0999"><freejoint/><geom type="sphere" size="0.1" condim="4" friction="0.6 0.01 0.0001"/></body>)",
     R"(condim="4" friction="0.3 0.005 0.0001")", BlockMode::kSliding},
    {"BoxSpins",
     R"(<body pos="0 0 0.0399"><freejoint/><geom type="box" size="0.1 0.08 0.04" condim="4" friction="0.9 0.05 0.0001"/></body>)",
     R"(condim="4" friction="0.3 0.005 0.0001")", BlockMode::kSticking},
    {"RollsAgainstItsFriction",
     R"(<body pos="0 0 0.0999"><freejoint/><geom type="sphere" size="0.1" condim="6" friction="0.8 0.01 0.004"/></body>)",
     R"(condim="6" euler="0 4 0" friction="0.3 0.005 0.0001")", BlockMode::kSliding},
};

struct Law {
  const char* name;
  Integrator integrator;
  const char* solver;
};

const Law kLaws[] = {{"Euler", Integrator::kSemiImplicitEuler, "auto"},
                     {"Midpoint", Integrator::kMoreauMidpoint, "auto"},
                     {"Variational", Integrator::kVariational, "auto"},
                     {"Sap", Integrator::kSemiImplicitEuler, "sap"}};

class StepCondim : public testing::TestWithParam<std::tuple<Case, Law>> {};

TEST_P(StepCondim, AgreesWithDifferences) {
  const auto& [scene, law] = GetParam();
  const ModelPtr model = load_mjcf_string(std::string(R"(<mujoco><option timestep="0.002"/><worldbody>
    <geom type="plane" size="5 5 1" )") + scene.plane +
                                          "/>" + scene.bodies + "</worldbody></mujoco>");
  SimulatorOptions options = exact_options(Stabilisation::kBaumgarte);
  options.integrator = law.integrator;
  options.solver = law.solver;
  Simulator sim(model, options);
  State state = sim.state();
  if (std::string(scene.name) == "BoxSpins") {
    state.v[5] = 0.5;
  } else {
    state.v << 0.4, 0.1, 0.0, 0.5, 3.0, 4.0;
  }
  sim.reset(state);
  Figures figures;
  for (int k = 0; k < 6; ++k) {
    sim.step(k == 0 ? 3 : 9);
    Stepper stepper(model, sim.state(), options);
    compare(stepper, *model, figures, fmt::format("step {}", k), {1e-5, 1e-6, 1e-7});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.steps, 1);
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  if (std::string(law.solver) == "auto") {
    EXPECT_GE(figures.modes[scene.mode], 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Scenes, StepCondim, testing::Combine(testing::ValuesIn(kCases), testing::ValuesIn(kLaws)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + std::get<1>(test.param).name;
                         });

}  // namespace
}  // namespace touchstone::test
