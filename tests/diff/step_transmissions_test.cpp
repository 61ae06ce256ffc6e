// Derivatives of steps with actuators whose moments change with the configuration.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "diff/step_compare.hpp"
#include "support/allocation_guard.hpp"
#include "touchstone/diff/transmission_rates.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/transmission.hpp"

namespace touchstone::test {
namespace {

double uniform(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

// Motors, position servos, and dampers that hold little; some saturate. No gain is where its sign would matter.
Actuator random_law(int kind, std::mt19937_64& random) {
  Actuator actuator;
  for (double& gear : actuator.gear) gear = uniform(random, -1.0, 1.0);
  if (kind % 3 != 0) {
    actuator.bias_type = ActuatorBias::kAffine;
    actuator.bias = {0.0, kind % 3 == 1 ? -20.0 : -0.5, -2.0};
    actuator.gain[0] = 20.0;
  }
  if (kind % 4 == 3) {
    actuator.force_limited = true;
    actuator.force_range = Vector2(-0.3, 0.3);
  }
  return actuator;
}

// A random robot with actuators at its ball and free joints, at sites (against nothing, or another site) and by
// slider-cranks, of which some are out of reach.
ModelPtr random_driven_model(std::mt19937_64& random) {
  RandomModelOptions options;
  options.bodies = 7;
  options.damping = true;
  ModelBuilder builder(*random_model(random, options));
  const int bodies = static_cast<int>(builder.bodies().size());
  const int sites = 6;
  for (int i = 0; i < sites; ++i) {
    const int body = i == 0 ? 0 : std::uniform_int_distribution<int>(1, bodies - 1)(random);
    builder.add_site({.body = body, .pose = {0.2 * random_vector3(random), so3_exp(random_vector3(random))}});
  }
  int kind = std::uniform_int_distribution<int>(0, 11)(random);
  const auto add = [&](TransmissionType type, int target, int reference, double rod) {
    Actuator actuator = random_law(kind++, random);
    actuator.transmission = type;
    actuator.target = target;
    actuator.reference_site = reference;
    actuator.crank_length = rod;
    builder.add_actuator(actuator);
  };
  for (int j = 0; j < static_cast<int>(builder.joints().size()); ++j) {
    if (dof_count(builder.joint(j).type) == 1) continue;
    add(TransmissionType::kJoint, j, -1, 0.0);
    add(TransmissionType::kJointInParent, j, -1, 0.0);
  }
  for (int i = 1; i < sites; ++i) {
    add(TransmissionType::kSite, i, -1, 0.0);
    add(TransmissionType::kSite, i, i - 1, 0.0);
    add(TransmissionType::kSliderCrank, i, i - 1, uniform(random, 0.3, 3.0));
  }
  return builder.build();
}

// Moments and lengths against differences, on models of every kind of transmission.
TEST(TransmissionRates, AgreeWithDifferences) {
  std::mt19937_64 random(3);
  int compared = 0;
  for (int i = 0; i < 60; ++i) {
    const ModelPtr model = random_driven_model(random);
    const Parameters& parameters = model->defaults;
    const State state = random_state(*model, random);
    Data data(*model);
    TransmissionRates rates(*model);
    for (const Actuator& actuator : model->actuators) {
      if (!has_curved_moment(*model, actuator)) continue;
      // [length, moment] where one dof has moved.
      const auto measured = [&](int dof, double way) -> MatrixX {
        State there = state;
        there.q = moved(*model, state.q, dof, way);
        forward_kinematics(*model, parameters, there, data);
        VectorX moment = VectorX::Zero(model->nv), all(model->nv + 1);
        const KinematicsView view{data.X_WB, data.S, data.reference_point, there.loop_memory()};
        const double length = transmission_length(*model, view, actuator, there.q, moment);
        all << length, moment;
        return all;
      };
      MatrixX expected(model->nv + 1, model->nv);
      for (int dof = 0; dof < model->nv; ++dof) {
        expected.col(dof) = derivative([&](double t) { return measured(dof, t); }, 1e-4);
      }
      forward_kinematics(*model, parameters, state, data);
      rates.compute(*model, data, state, actuator);
      MatrixX actual = MatrixX::Zero(model->nv + 1, model->nv);
      for (int k = 0; k < rates.count; ++k) {
        const int dof = rates.dofs[static_cast<std::size_t>(k)];
        if (has_length(*model, actuator)) actual(0, dof) = rates.length[k];
        for (int n = 0; n < rates.count; ++n) {
          actual(1 + rates.dofs[static_cast<std::size_t>(n)], dof) = rates.moment(n, k);
        }
      }
      ASSERT_LT((actual - expected).cwiseAbs().maxCoeff(), 1e-7 * std::max(1.0, expected.cwiseAbs().maxCoeff()))
          << "model " << i << ", transmission " << static_cast<int>(actuator.transmission) << " with reference "
          << actuator.reference_site << "\nactual\n"
          << actual << "\nexpected\n"
          << expected;
      ++compared;
    }
  }
  EXPECT_GE(compared, 800);
}

struct Rule {
  const char* name;
  Integrator integrator;
  bool softened;
};

class StepTransmissions : public testing::TestWithParam<Rule> {};

TEST_P(StepTransmissions, OfRandomRobots) {
  const Rule& rule = GetParam();
  std::mt19937_64 random(7);
  Figures figures, by_theta;
  for (int i = 0; i < 24; ++i) {
    const ModelPtr model = random_driven_model(random);
    State state = random_state(*model, random);
    state.v *= 0.5;
    SimulatorOptions options = exact_options();
    options.integrator = rule.integrator;
    if (rule.softened) options.constraints = ConstraintModel::kMujoco;
    Stepper stepper(model, state, options);
    stepper.control() = random_vector(model->nu, random);
    const std::string what = std::string(rule.name) + ", model " + std::to_string(i);
    compare(stepper, *model, figures, what, {1e-2, 1e-3, 1e-4, 1e-5});
    if (HasFailure()) return;
    if (i % 4 != 0) continue;
    StepParameters theta;
    for (int u = 0; u < model->nu; ++u) theta.gains.push_back(u);
    compare_theta(stepper, *model, theta, by_theta, what, {1e-2, 1e-3});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns * 8 / 10) << figures.kept << " of " << figures.columns;
  EXPECT_GE(by_theta.kept, by_theta.columns * 8 / 10) << by_theta.kept << " of " << by_theta.columns;
}

INSTANTIATE_TEST_SUITE_P(Rules, StepTransmissions,
                         testing::Values(Rule{"euler", Integrator::kSemiImplicitEuler, false},
                                         Rule{"midpoint", Integrator::kMoreauMidpoint, false},
                                         Rule{"variational", Integrator::kVariational, false},
                                         Rule{"contact_implicit", Integrator::kContactImplicit, false},
                                         Rule{"softened", Integrator::kSemiImplicitEuler, true}),
                         [](const auto& test) { return std::string(test.param.name); });

// A drone that hovers: its thrust T = m g tilts with it, so that dv_x'/d(pitch) = h g, dv_y'/d(roll) = -h g.
TEST(StepTransmissions, ThrustTiltsWithADrone) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><option timestep="0.01"/><worldbody><body><freejoint/><geom type="box" size="0.1 0.1 0.02" mass="2"/>
         <site name="a" pos="0.1 0 0"/><site name="b" pos="-0.1 0 0"/></body></worldbody>
         <actuator><motor site="a" gear="0 0 1 0 0 0"/><motor site="b" gear="0 0 1 0 0 0"/></actuator></mujoco>)");
  Simulator sim(model);
  sim.input().control.setConstant(9.81);
  sim.step();
  StepDerivatives d(*model);
  d.compute(sim.context());
  EXPECT_EQ(d.held().actuators, 0);
  EXPECT_NEAR(d.A(6 + 0, 4), 0.01 * 9.81, 1e-12);
  EXPECT_NEAR(d.A(6 + 1, 3), -0.01 * 9.81, 1e-12);
  EXPECT_NEAR(d.A(6 + 2, 3), 0.0, 1e-12);
  if (!AllocationGuard::available()) return;
  const AllocationGuard guard;
  d.compute(sim.context());
  EXPECT_EQ(guard.allocations(), 0U);
}

}  // namespace
}  // namespace touchstone::test
