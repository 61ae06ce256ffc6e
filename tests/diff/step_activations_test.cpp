// Derivatives of steps with actuators that have a state of their own.
#include <string>

#include <gtest/gtest.h>

#include "diff/step_compare.hpp"
#include "touchstone/io/mjcf.hpp"

namespace touchstone::test {
namespace {

// A double pendulum over a floor with every kind of activation: behind its force and ahead of it, free, within a range
// and at its end; motors, servos, and one whose gain follows the signal.
std::string driven_arm(const std::string& option) {
  return R"(<mujoco><option timestep="0.002">)" + option + R"(</option><worldbody>
    <geom type="plane" size="5 5 1" friction="0.5"/>
    <body pos="0 0 0.45"><joint name="a" axis="0 1 0" damping="0.1"/><joint name="b" axis="0 0 1" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="0.5" contype="0"/>
      <body pos="0.3 0 0"><joint name="c" axis="0 1 0.2" damping="0.05"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="0.3" friction="0.5"/></body></body></worldbody>
    <actuator>
      <general joint="a" dyntype="filter" dynprm="0.02" gainprm="2"/>
      <general joint="b" dyntype="filterexact" dynprm="0.005" gainprm="3" actearly="true"/>
      <general joint="c" dyntype="integrator" gainprm="1.5" actrange="-0.8 0.8"/>
      <general joint="a" dyntype="integrator" gainprm="30" biastype="affine" biasprm="0 -30 -1" actearly="true"/>
      <general joint="b" dyntype="filterexact" dynprm="0.01" gainprm="20" biastype="affine" biasprm="0.1 -20 -0.5"
        forcerange="-3 3"/>
      <general joint="c" dyntype="filter" dynprm="0.01" gaintype="affine" gainprm="1 -0.3 -0.2" biastype="affine"
        biasprm="0 -0.1 -0.05" actearly="true"/>
      <general joint="a" dyntype="filter" dynprm="0.01" gainprm="1" actrange="-0.2 0.2"/>
      <general joint="b" dyntype="filter" dynprm="0.01" gainprm="1" ctrlrange="-0.3 0.3"/>
    </actuator></mujoco>)";
}

State driven_state(const Model& model) {
  State state(model);
  state.q << 0.3, -0.2, 0.9;
  state.v << 0.5, -1.0, 0.7;
  state.activation << 0.3, -0.4, 0.2, 0.5, -0.3, 0.6, 0.2, 0.1;
  return state;
}

VectorX driven_control() {
  VectorX control(8);
  control << 0.7, 0.2, -0.6, 0.4, 0.8, -0.5, 0.9, 0.6;  // the last two end at their ranges
  return control;
}

class StepActivations : public testing::TestWithParam<Integrator> {};

TEST_P(StepActivations, AgreeWithDifferences) {
  // A step of this rule that begins in contact has derivatives along what stays closed alone.
  const bool is_apart = GetParam() == Integrator::kEvent;
  const ModelPtr model = load_mjcf_string(driven_arm(is_apart ? R"(<flag contact="disable"/>)" : ""));
  ASSERT_EQ(model->na, 8);
  SimulatorOptions options = exact_options(Stabilisation::kBaumgarte);
  options.integrator = GetParam();
  Simulator sim(model, options);
  sim.reset(driven_state(*model));
  sim.input().control = driven_control();
  Figures figures;
  for (int k = 0; k < 6; ++k) {
    Stepper stepper(model, sim.state(), options);
    stepper.control() = driven_control();
    compare(stepper, *model, figures, fmt::format("step {}", 13 * k), {1e-5, 1e-4});
    if (HasFailure()) return;
    sim.step(13);
  }
  EXPECT_GE(figures.steps, 4);
  EXPECT_GE(figures.kept, figures.columns * 3 / 4) << figures.kept << " of " << figures.columns;
}

// What stands still follows neither its control nor its time constant; what was put beyond its range comes back to it.
TEST_P(StepActivations, StayWhereActuationIsOff) {
  const ModelPtr model = load_mjcf_string(driven_arm(R"(<flag actuation="disable" contact="disable"/>)"));
  SimulatorOptions options = exact_options(Stabilisation::kBaumgarte);
  options.integrator = GetParam();
  State state = driven_state(*model);
  state.activation[2] = 0.9;
  state.activation[6] = 0.1;
  Stepper stepper(model, state, options);
  stepper.control() = driven_control();
  Figures figures;
  compare(stepper, *model, figures, "off", {1e-5, 1e-4});
  EXPECT_EQ(figures.steps, 1);
  StepDerivatives d(*model);
  stepper.step();
  d.compute(stepper.sim());
  EXPECT_EQ(d.B.cwiseAbs().maxCoeff(), 0.0);
  MatrixX stays = MatrixX::Identity(8, 8);
  stays(2, 2) = 0.0;
  EXPECT_EQ((d.A.bottomRightCorner(8, 8) - stays).cwiseAbs().maxCoeff(), 0.0);
}

std::string name_of(const testing::TestParamInfo<Integrator>& test) {
  switch (test.param) {
    case Integrator::kSemiImplicitEuler:
      return "euler";
    case Integrator::kMoreauMidpoint:
      return "midpoint";
    case Integrator::kVariational:
      return "variational";
    case Integrator::kEvent:
      return "event";
    default:
      return "knots";
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, StepActivations,
                         testing::Values(Integrator::kSemiImplicitEuler, Integrator::kMoreauMidpoint,
                                         Integrator::kVariational, Integrator::kEvent, Integrator::kContactImplicit),
                         name_of);

}  // namespace
}  // namespace touchstone::test
