// Derivatives of steps on surfaces that move on their own.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "diff/step_compare.hpp"
#include "touchstone/io/mjcf.hpp"

namespace touchstone::test {
namespace {

// A ball and a box on a table that hangs in springs and tilts, and whose top runs and turns about a point beside it;
// the ball's own skin turns too.
constexpr const char* kTable = R"(<mujoco><option timestep="0.002"/><worldbody>
  <body><joint type="slide" axis="0 0 1" stiffness="2000" damping="20"/><joint type="hinge" axis="1 0.2 0" stiffness="200" damping="2"/>
    <joint type="hinge" axis="0 1 0" stiffness="200" damping="2"/>
    <geom type="box" size="2 2 0.1" pos="0.3 0.1 0" mass="20" friction="0.4" surfacevel="0.3 -0.1 0 0 0 1.5"/></body>
  <body pos="0.2 0.3 0.199"><freejoint/><geom type="sphere" size="0.1" mass="1" friction="0.4" condim="4" surfacevel="0 0 0 0.2 2 0.3"/></body>
  <body pos="-0.4 -0.2 0.179" euler="1 -1 20"><freejoint/><geom type="box" size="0.1 0.08 0.08" mass="1" friction="0.1"/></body>
</worldbody></mujoco>)";

struct Law {
  const char* name;
  Integrator integrator;
  const char* solver;
  bool softened;
  double tolerance;
};

class StepSurfaces : public testing::TestWithParam<Law> {};

TEST_P(StepSurfaces, AgreeWithDifferences) {
  const Law& law = GetParam();
  const ModelPtr model = load_mjcf_string(kTable);
  SimulatorOptions options = exact_options(Stabilisation::kBaumgarte);
  options.integrator = law.integrator;
  options.solver = law.solver;
  options.tolerance = law.tolerance;
  if (law.softened) options.constraints = ConstraintModel::kMujoco;
  Simulator sim(model, options);
  Figures figures;
  for (int k = 0; k < 8; ++k) {
    sim.step(11);
    Stepper stepper(model, sim.state(), options);
    compare(stepper, *model, figures, std::string(law.name) + " " + std::to_string(k), {1e-5, 1e-6, 1e-7});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.steps, 3);
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
}

INSTANTIATE_TEST_SUITE_P(Laws, StepSurfaces,
                         testing::Values(Law{"euler", Integrator::kSemiImplicitEuler, "auto", false, 1e-14},
                                         Law{"midpoint", Integrator::kMoreauMidpoint, "auto", false, 1e-14},
                                         Law{"variational", Integrator::kVariational, "auto", false, 1e-14},
                                         Law{"sap", Integrator::kSemiImplicitEuler, "sap", false, 1e-14},
                                         Law{"softened", Integrator::kSemiImplicitEuler, "auto", true, 1e-14}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace touchstone::test
