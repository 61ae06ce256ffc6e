// Derivatives of steps with motors beside servos under the force limits of joints. Where a limit moves with what others
// do it is held, and counted.
#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diff/step_compare.hpp"
#include "touchstone/diff/servo_limits.hpp"
#include "touchstone/model/builder.hpp"

namespace touchstone::test {
namespace {

double uniform(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

// A random robot with a motor and, for most joints, a stiff servo at each joint, whose limit both share.
ModelPtr shared_limits(std::mt19937_64& random) {
  RandomModelOptions options;
  options.bodies = 2;
  options.damping = true;
  ModelBuilder builder(*random_model(random, options));
  for (int j = 0; j < static_cast<int>(builder.joints().size()); ++j) {
    Joint& joint = builder.joint(j);
    if (!is_scalar(joint)) continue;
    joint.actuator_force_limited = true;
    joint.actuator_force_range = Vector2(-uniform(random, 0.5, 8.0), uniform(random, 0.5, 8.0));
    Actuator motor;
    motor.transmission = TransmissionType::kJoint;
    motor.target = j;
    motor.gear[0] = uniform(random, 0.5, 1.5);
    builder.add_actuator(motor);
    if (uniform(random, 0.0, 1.0) < 0.3) continue;
    Actuator servo = motor;
    servo.bias_type = ActuatorBias::kAffine;
    servo.gain[0] = uniform(random, 5.0, 50.0);
    servo.bias = {0.0, -servo.gain[0], -uniform(random, 20.0, 400.0)};
    builder.add_actuator(servo);
  }
  return builder.build();
}

struct Seen {
  int held = 0, cut = 0, beside_servos = 0;
};

// Those that hold something constant are left out, and counted.
void compare_if_exact(Stepper& stepper, const ModelPtr& model, const std::string& what, Seen& seen, Figures& states,
                      Figures& parameters) {
  stepper.step();
  if (!stepper.is_solved()) return;
  StepDerivatives d(*model);
  d.compute(stepper.sim());
  if (d.held().actuators > 0) {
    ++seen.held;
    return;
  }
  const StepContext& step = stepper.sim().context();
  for (int i = 0; i < model->nv; ++i) {
    if (step.data.actuation[i] == step.data.actuation_unlimited[i]) continue;
    (is_cut(step, !step.rules.is_exact, i) ? seen.cut : seen.beside_servos) += 1;
  }
  compare(stepper, *model, states, what, {1e-3, 1e-4, 1e-5, 1e-6});
  if (testing::Test::HasFailure()) return;
  compare_parameters(stepper, *model, parameters, what, {1e-2, 1e-3, 1e-4, 1e-5, 1e-6});
}

TEST(StepServoLimits, OfRandomRobots) {
  std::mt19937_64 random(71);
  Figures states, parameters;
  Seen seen;
  for (int i = 0; i < 300; ++i) {
    const ModelPtr model = shared_limits(random);
    if (model->nu == 0) continue;
    State state = random_state(*model, random);
    state.v *= 0.3;
    SimulatorOptions options = exact_options(Stabilisation::kBaumgarte);
    if (i % 4 == 1) options.integrator = Integrator::kMoreauMidpoint;
    if (i % 4 == 3) options.constraints = ConstraintModel::kMujoco;
    Stepper stepper(model, state, options);
    stepper.control() = 0.5 * random_vector(model->nu, random);
    compare_if_exact(stepper, model, fmt::format("model {}", i), seen, states, parameters);
    if (HasFailure()) return;
  }
  RecordProperty("worst", fmt::format("{:.1e}", std::max(states.worst, parameters.worst)));
  EXPECT_GE(seen.held, 5);
  EXPECT_GE(seen.cut, 5) << seen.held << " held";
  EXPECT_GE(seen.beside_servos, 5);
  EXPECT_GE(states.steps, 20);
  EXPECT_GE(states.kept, states.columns / 2) << states.kept << " of " << states.columns;
  EXPECT_GE(parameters.kept, parameters.columns / 2) << parameters.kept << " of " << parameters.columns;
}

}  // namespace
}  // namespace touchstone::test
