// The part of actuators in the derivatives of a step.
#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/diff/servo_limits.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/dynamics/servos.hpp"
#include "touchstone/model/transmission.hpp"

namespace touchstone {
namespace {

bool is_inside(double value, bool limited, const Vector2& range) {
  return !limited || (value >= range[0] && value <= range[1]);
}

// How the activation after a step and the signal that the force uses depend on activation and control.
struct SignalRates {
  double next_by_activation = 0.0, next_by_control = 0.0;
  double by_activation = 0.0, by_control = 0.0;
};

SignalRates signal_rates(const Model& model, const StepContext& step, int u) {
  const Actuator& actuator = model.actuators[at(u)];
  SignalRates rates;
  const bool limited = actuator.control_limited && model.options.clamp_controls;
  const double control = is_inside(step.input.control[u], limited, actuator.control_range) ? 1.0 : 0.0;
  const int k = model.activation_index[at(u)];
  if (k < 0) {
    rates.by_control = control;
    return rates;
  }
  constexpr double kShortest = 1e-15;
  const double tau = std::max(actuator.time_constant, kShortest);
  double change = step.h / tau;  // of a filter in the step, as a share of what is missing
  if (actuator.dynamics == ActuatorDynamics::kFilterExact) change = -std::expm1(-change);
  const bool integrates = actuator.dynamics == ActuatorDynamics::kIntegrator;
  double next = step.before.activation[k] + step.h * step.data.activation_rate[k];
  if (actuator.dynamics == ActuatorDynamics::kFilterExact) {
    next = step.before.activation[k] + step.data.activation_rate[k] * tau * change;
  }
  if (is_inside(next, actuator.activation_limited, actuator.activation_range)) {
    rates.next_by_activation = integrates ? 1.0 : 1.0 - change;
    rates.next_by_control = control * (integrates ? step.h : change);
  }
  rates.by_activation = actuator.early_activation ? rates.next_by_activation : 1.0;
  rates.by_control = actuator.early_activation ? rates.next_by_control : 0.0;
  return rates;
}

}  // namespace

// Forces of softened models are those of the start, whatever damps the velocity after it (step_soft.cpp).
ServoMode StepDerivatives::servo_mode(const StepContext& step, int u) const {
  return is_soft_ ? ServoMode::kExplicit : step.data.servo_mode[at(u)];
}

// A gain in the matrix of a softened model that follows a signal is taken to be constant.
bool StepDerivatives::is_damped_by_signal(const StepContext& step, int u) const {
  return is_soft_ && step.data.servo_gain[u] > 0.0 && model_.actuators[at(u)].gain_type == ActuatorGain::kAffine &&
         step.parameters.actuator_gain[at(u)][2] != 0.0;
}

int StepDerivatives::servo_row(const StepContext& step, int u) const {
  const Constraints& c = step.constraints;
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    if (constraint.kind == ConstraintKind::kServo && constraint.index == u) return c.blocks.row[at(block)];
  }
  return -1;
}

void StepDerivatives::add_actuators(const StepContext& step) {
  for (int u = 0; u < model_.nu; ++u) {
    add_activation(step, u);
    if (model_.options.actuation_enabled) add_actuator(step, u);
  }
  if (model_.options.actuation_enabled) held_.actuators += count_moving_limits(step, is_soft_);
}

void StepDerivatives::add_activation(const StepContext& step, int u) {
  const int k = model_.activation_index[at(u)];
  if (k < 0) return;
  if (!model_.options.actuation_enabled) {  // it stays, but within its range
    const Actuator& actuator = model_.actuators[at(u)];
    const bool stays = is_inside(step.before.activation[k], actuator.activation_limited, actuator.activation_range);
    activation_(k, 2 * model_.nv + k) = stays ? 1.0 : 0.0;
    return;
  }
  const SignalRates rates = signal_rates(model_, step, u);
  activation_(k, 2 * model_.nv + k) = rates.next_by_activation;
  activation_(k, nx_ + u) = rates.next_by_control;
}

// The force of an actuator is that of its law, less h kp times its velocity where gains are implicit (servos.hpp); then
// also A changes with the signal if gains do.
StepDerivatives::ForceSlopes StepDerivatives::force_slopes(const StepContext& step, int u) const {
  const Actuator& actuator = model_.actuators[at(u)];
  const Data& data = step.data;
  const double h = step.h;
  const bool affine = actuator.gain_type == ActuatorGain::kAffine, biased = actuator.bias_type == ActuatorBias::kAffine;
  const auto& gain = step.parameters.actuator_gain[at(u)];
  const auto& bias = step.parameters.actuator_bias[at(u)];
  const double signal = data.actuator_signal[u], velocity = data.actuator_velocity[u];
  ForceSlopes s;
  if (has_length(model_, actuator)) s.by_length = (affine ? gain[1] * signal : 0.0) + (biased ? bias[1] : 0.0);
  s.by_velocity = (affine ? gain[2] * signal : 0.0) + (biased ? bias[2] : 0.0);
  s.by_signal = gain[0] + (affine ? gain[1] * data.actuator_length[u] + gain[2] * velocity : 0.0);
  if (servo_mode(step, u) == ServoMode::kExplicit) return s;
  const ServoGains gains = servo_gains(model_, step.parameters, data, u);
  s.by_velocity -= h * gains.kp;
  if (affine && gains.kp > 0.0) {
    s.gain_by_signal -= h * h * gain[1];
    s.by_signal += h * gain[1] * velocity;
  }
  if (affine && gains.kd > 0.0) s.gain_by_signal -= h * gain[2];
  return s;
}

void StepDerivatives::add_actuator(const StepContext& step, int u) {
  const Actuator& actuator = model_.actuators[at(u)];
  const Data& data = step.data;
  const double h = step.h;
  const int nv = model_.nv, k = model_.activation_index[at(u)];
  const auto m = data.actuator_moment.col(u);
  const ServoMode mode = servo_mode(step, u);
  if (is_damped_by_signal(step, u)) ++held_.actuators;
  if (mode == ServoMode::kShared) {
    ++held_.actuators;
    return;
  }
  const bool at_limit = mode == ServoMode::kExplicit && data.actuator_force[u] != data.actuator_law[u];
  const ForceSlopes slopes = at_limit ? ForceSlopes() : force_slopes(step, u);
  if (has_curved_moment(model_, actuator)) add_curved_moment(step, u, slopes);
  if (at_limit) return;
  if (is_variational_ && slopes.gain_by_signal != 0.0) ++held_.actuators;  // in A, that impulses of rows see
  const SignalRates rates = signal_rates(model_, step, u);
  // Of the force, times a factor, and `direct` times the change of the signal.
  const auto add = [&](auto row, double factor, double direct) {
    row.head(nv) += (factor * slopes.by_length) * m.transpose();
    row.segment(nv, nv) += (factor * slopes.by_velocity) * m.transpose();
    row[nx_ + u] += (factor * slopes.by_signal + direct) * rates.by_control;
    if (k >= 0) row[2 * nv + k] += (factor * slopes.by_signal + direct) * rates.by_activation;
  };
  if (mode == ServoMode::kBounded) {
    const int row = servo_row(step, u);
    const double total = data.servo_block[at(u)].gain;
    // b = -(h force / gain + m v), R = 1 / gain.
    add(main_.rows().row(row), -h / total,
        slopes.gain_by_signal * (h * data.servo_block[at(u)].force - step.lambda[row]) / (total * total));
    main_.rows().row(row).segment(nv, nv) -= m.transpose();
    return;
  }
  double moved = 0.0;
  for (int i = 0; i < nv; ++i) moved += m[i] * (end_velocity_[i] - step.before.v[i]);
  for (int i = 0; i < nv; ++i) {
    if (m[i] == 0.0) continue;
    const bool limited = mode == ServoMode::kExplicit && is_cut(step, is_soft_, i);
    if (!limited) add(main_.force().row(i), h * m[i], -m[i] * slopes.gain_by_signal * moved);
  }
}

// What a moment does as it changes; add_actuator has what is at constant ones. Impulses of bounded servos come with
// their rows.
void StepDerivatives::add_curved_moment(const StepContext& step, int u, const ForceSlopes& slopes) {
  const Data& data = step.data;
  const auto m = data.actuator_moment.col(u);
  TransmissionRates& t = transmission_;
  t.compute(model_, data_, here_, model_.actuators[at(u)]);
  const bool is_bounded = servo_mode(step, u) == ServoMode::kBounded;
  const int row = is_bounded ? servo_row(step, u) : -1;
  for (int k = 0; k < t.count; ++k) {
    const int dof = t.dofs[at(k)];
    double rate = 0.0;  // of the transmission, at constant v
    for (int i = 0; i < t.count; ++i) rate += t.moment(i, k) * step.before.v[t.dofs[at(i)]];
    const double change = slopes.by_length * (t.length[k] - m[dof]) + slopes.by_velocity * rate;  // of the force
    if (is_bounded) {
      main_.rows()(row, dof) -= step.h / data.servo_block[at(u)].gain * change + rate;  // b = -(h force / gain + m v)
      continue;
    }
    for (int i = 0; i < t.count; ++i) {
      const int pulled = t.dofs[at(i)];
      if (is_cut(step, is_soft_, pulled)) continue;
      main_.force()(pulled, dof) += step.h * (data.actuator_force[u] * t.moment(i, k) + m[pulled] * change);
    }
  }
}

// The row of a bounded servo with the new velocity, and what its impulse does, as the moment changes.
void StepDerivatives::add_servo_rates(const StepContext& step, int u, int row) {
  if (!has_curved_moment(model_, model_.actuators[at(u)])) return add_motor_rates(u, row);
  TransmissionRates& t = transmission_;
  t.compute(model_, data_, here_, model_.actuators[at(u)]);
  for (int k = 0; k < t.count; ++k) {
    for (int i = 0; i < t.count; ++i) {
      main_.rows()(row, t.dofs[at(k)]) += t.moment(i, k) * velocity_[t.dofs[at(i)]];
      main_.force()(t.dofs[at(i)], t.dofs[at(k)]) += t.moment(i, k) * step.lambda[row];
    }
  }
}

}  // namespace touchstone
