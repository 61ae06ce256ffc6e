#include "touchstone/dynamics/servos.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/model/mass_rows.hpp"
#include "touchstone/model/transmission.hpp"

namespace touchstone {

bool is_beyond(double force, const Vector2& range) {
  constexpr double kSlack = 1e-9;  // rounding is no reason to repeat a step
  const double slack = kSlack * (1.0 + std::max(std::abs(range[0]), std::abs(range[1])));
  return force < range[0] - slack || force > range[1] + slack;
}

namespace {

// The part of the limits' half width within which a force is not expected to reach them in the next step.
constexpr double kFarFromLimits = 0.9;

const Vector2 kUnlimited(-kInfinity, kInfinity);

bool is_near_limits(double force, const Vector2& range) {
  return std::abs(force - 0.5 * (range[0] + range[1])) > kFarFromLimits * 0.5 * (range[1] - range[0]);
}

const Joint& joint_of_dof(const Model& model, int dof) { return model.joints[at(model.dof_joint[at(dof)])]; }

// --- limits that actuators share ---

bool shares_limit(const Data& data, int u) { return !data.sharing[at(u)].empty(); }

// What the force of another actuator is in units of that of one which shares its limit. The limit of a joint is one of
// the joint's force, that of a tendon one of the sum of what actuators say.
double ratio_of(const Actuator& other, const Actuator& actuator) {
  return actuator.transmission == TransmissionType::kTendon ? 1.0 : other.gear[0] / actuator.gear[0];
}

// What the actuators of the joint or tendon of `u` pull with, without its limit, and the limits, less what else acts on
// that joint. Both in units of the force of u.
struct SharedForce {
  double force = 0.0;
  Vector2 range;
};

template <typename ForceOf>
SharedForce shared_force(const Model& model, const Data& data, int u, const ForceOf& force_of) {
  const Actuator& actuator = model.actuators[at(u)];
  SharedForce shared;
  double now = 0.0;  // at the start, of the same actuators
  for (int k : data.sharing[at(u)]) {
    const Actuator& other = model.actuators[at(k)];
    shared.force += ratio_of(other, actuator) * force_of(k);
    now += other.gear[0] * data.actuator_force[k];
  }
  if (actuator.transmission == TransmissionType::kTendon) {
    shared.range = model.tendons[at(actuator.target)].actuator_force_range;
    return shared;
  }
  const Vector2& range = model.joints[at(actuator.target)].actuator_force_range;
  const double rest = data.actuation_unlimited[model.joint_dof[at(actuator.target)]] - now;
  const double a = (range[0] - rest) / actuator.gear[0], b = (range[1] - rest) / actuator.gear[0];
  shared.range = {std::min(a, b), std::max(a, b)};
  return shared;
}

// Whether an actuator moves nothing.
bool is_idle(const Model& model, const Data& data, int u) {
  const Actuator& actuator = model.actuators[at(u)];
  return data.actuator_dof[at(u)] >= 0 ? actuator.gear[0] == 0.0 : data.actuator_moment.col(u).isZero(0.0);
}

// Whether a joint is near its force limit that the actuator pulls at by way of a tendon or site.
bool is_near_joint_limits(const Model& model, const Data& data, int u) {
  if (data.actuator_dof[at(u)] >= 0) return false;
  bool is_near = false;
  for_dofs(model, data, u, [&](int i) {
    const Joint& joint = joint_of_dof(model, i);
    if (!joint.actuator_force_limited) return;
    is_near = is_near || is_near_limits(data.actuation_unlimited[i], joint.actuator_force_range);
  });
  return is_near;
}

// What such joints leave for the force of the actuator.
Vector2 joint_range(const Model& model, const Data& data, int u) {
  Vector2 range = kUnlimited;
  if (data.actuator_dof[at(u)] >= 0) return range;
  for_dofs(model, data, u, [&](int i) {
    const Joint& joint = joint_of_dof(model, i);
    const double moment = data.actuator_moment(i, u);
    if (!joint.actuator_force_limited || moment == 0.0) return;
    const Vector2 rest = (joint.actuator_force_range - Vector2::Constant(data.servo_actuation[i])) / moment;
    range = {std::max(range[0], rest.minCoeff()), std::min(range[1], rest.maxCoeff())};
  });
  return range;
}

// The part of a range that another leaves; where nothing is left, the point of the other that is nearest.
Vector2 within(const Vector2& range, const Vector2& other) {
  const double high = std::max(other[0], other[1]);
  return {std::clamp(range[0], other[0], high), std::clamp(range[1], other[0], high)};
}

void make_explicit(int u, Data& data) {
  data.servo_mode[at(u)] = ServoMode::kExplicit;
  data.servo_gain[u] = 0.0;
  data.servo_force[u] = data.actuator_force[u];
}

// Actuators with different gears on one tendon have no common force.
bool can_share_block(const Model& model, const Data& data, int u) {
  const Actuator& actuator = model.actuators[at(u)];
  const std::vector<int>& sharing = data.sharing[at(u)];
  if (actuator.transmission != TransmissionType::kTendon) return true;
  return std::all_of(sharing.begin(), sharing.end(),
                     [&](int k) { return model.actuators[at(k)].gear[0] == actuator.gear[0]; });
}

// Makes one block of the actuators at the joint or tendon of u: that of the first which is not explicit. Those beyond
// limits of their own stay there in this step, and so do all where there can be no such block.
void bound_together(const Model& model, int u, Data& data) {
  const bool is_common = can_share_block(model, data, u);
  bool first = true;
  for (int k : data.sharing[at(u)]) {
    if (!is_common || is_beyond(data.actuator_law[k], data.actuator_range[at(k)])) make_explicit(k, data);
    if (data.servo_mode[at(k)] == ServoMode::kExplicit) continue;
    data.servo_mode[at(k)] = first ? ServoMode::kBounded : ServoMode::kShared;
    first = false;
  }
}

// Whether the limit that u shares is kept by its block.
bool is_bounded_together(const Data& data, int u) {
  if (data.servo_mode[at(u)] != ServoMode::kBounded) return data.servo_mode[at(u)] == ServoMode::kShared;
  const std::vector<int>& sharing = data.sharing[at(u)];
  return std::none_of(sharing.begin(), sharing.end(), [&](int k) {
    const ServoMode mode = data.servo_mode[at(k)];
    return k != u && (mode == ServoMode::kImplicit || mode == ServoMode::kBounded);
  });
}

}  // namespace

// --- gains ---

ServoGains servo_gains(const Model& model, const Parameters& parameters, const Data& data, int u) {
  const Actuator& actuator = model.actuators[at(u)];
  ServoGains gains;
  if (actuator.gain_type == ActuatorGain::kAffine) {
    gains.kp -= parameters.actuator_gain[at(u)][1] * data.actuator_signal[u];
    gains.kd -= parameters.actuator_gain[at(u)][2] * data.actuator_signal[u];
  }
  if (actuator.bias_type == ActuatorBias::kAffine) {
    gains.kp -= parameters.actuator_bias[at(u)][1];
    gains.kd -= parameters.actuator_bias[at(u)][2];
  }
  if (!has_length(model, actuator)) gains.kp = 0.0;
  return {std::max(gains.kp, 0.0), std::max(gains.kd, 0.0)};
}

Vector2 servo_range(const Model& model, const Data& data, int u) {
  const Actuator& actuator = model.actuators[at(u)];
  Vector2 range = data.actuator_range[at(u)];
  if (data.actuator_dof[at(u)] < 0 || !shares_limit(data, u) || actuator.gear[0] == 0.0) return range;
  const Vector2 joint = model.joints[at(actuator.target)].actuator_force_range / actuator.gear[0];
  return {std::max(range[0], joint.minCoeff()), std::min(range[1], joint.maxCoeff())};
}

bool fits_tree(const Model& model, const Data& data, int u) {
  const Actuator& actuator = model.actuators[at(u)];
  if (data.actuator_dof[at(u)] >= 0) return true;
  return actuator.transmission == TransmissionType::kTendon && data.tendon_on_path[at(actuator.target)] != 0;
}

// --- a step ---

void begin_servos(const Model& model, const Parameters& parameters, double h, ServoMode near_limits, Data& data) {
  data.servo_force = data.actuator_force;
  data.servo_gain.setZero();
  std::fill(data.servo_mode.begin(), data.servo_mode.end(), ServoMode::kExplicit);
  if (!model.options.actuation_enabled) return;
  for (const int u : data.scope.actuators) {
    const ServoGains gains = servo_gains(model, parameters, data, u);
    const double gain = h * gains.kd + h * h * gains.kp;
    if (gain == 0.0 || is_idle(model, data, u)) continue;
    const bool near =
        is_near_limits(data.actuator_law[u], data.actuator_range[at(u)]) || is_near_joint_limits(model, data, u);
    const bool needs_block = near || !fits_tree(model, data, u);
    data.servo_mode[at(u)] = needs_block ? near_limits : ServoMode::kImplicit;
    if (data.servo_mode[at(u)] == ServoMode::kExplicit) continue;
    data.servo_gain[u] = gain;
    data.servo_force[u] = data.actuator_law[u] - h * gains.kp * data.actuator_velocity[u];
  }
  for (const int u : data.scope.actuators) {
    if (data.servo_mode[at(u)] == ServoMode::kExplicit || !shares_limit(data, u)) continue;
    if (is_bounded_together(data, u)) continue;
    const auto force_now = [&](int k) {
      const Vector2 range = data.actuator_range[at(k)];
      return std::clamp(data.actuator_law[k], range[0], range[1]);
    };
    const SharedForce shared = shared_force(model, data, u, force_now);
    if (!is_near_limits(shared.force, shared.range)) continue;
    near_limits == ServoMode::kBounded ? bound_together(model, u, data) : make_explicit(u, data);
  }
}

namespace {

// Of a servo with the mode kBounded. Needs data.servo_actuation.
ServoBlock find_block(const Model& model, const Data& data, int u) {
  const Actuator& actuator = model.actuators[at(u)];
  ServoBlock block{data.actuator_range[at(u)], data.servo_gain[u], data.servo_force[u]};
  if (!shares_limit(data, u)) {
    block.range = within(block.range, joint_range(model, data, u));
    return block;
  }
  double constant = 0.0;  // of actuators that are not in the block
  int members = 0;
  block.gain = block.force = 0.0;
  for (int k : data.sharing[at(u)]) {
    const double ratio = ratio_of(model.actuators[at(k)], actuator);
    if (k != u && data.servo_mode[at(k)] != ServoMode::kShared) {
      constant +=
          ratio * (data.servo_mode[at(k)] == ServoMode::kExplicit ? data.actuator_force[k] : data.servo_force[k]);
      continue;
    }
    ++members;
    block.gain += ratio * ratio * data.servo_gain[k];
    block.force += ratio * data.servo_force[k];
  }
  const SharedForce shared = shared_force(model, data, u, [](int) { return 0.0; });
  const Vector2 range = shared.range - Vector2(constant, constant);
  block.range = members > 1 ? range : within(block.range, range);
  if (actuator.transmission == TransmissionType::kTendon) {
    block.range = within(block.range, joint_range(model, data, u));
  }
  return block;
}

}  // namespace

void sum_servo_actuation(const Model& model, Data& data) {
  copy_ranges(data.scope.dofs, data.actuation, data.servo_actuation);
  // The limit of a joint was applied to forces of the start; what is not explicit keeps it by itself.
  for (const int u : data.scope.actuators) {
    if (data.servo_mode[at(u)] == ServoMode::kExplicit) continue;
    for_dofs(model, data, u, [&](int i) {
      if (joint_of_dof(model, i).actuator_force_limited) data.servo_actuation[i] = data.actuation_unlimited[i];
    });
  }
  for (const int u : data.scope.actuators) {
    if (data.servo_mode[at(u)] == ServoMode::kExplicit) continue;
    const double force = data.servo_mode[at(u)] == ServoMode::kImplicit ? data.servo_force[u] : 0.0;
    const double change = force - data.actuator_force[u];
    for_dofs(model, data, u, [&](int i) { data.servo_actuation[i] += data.actuator_moment(i, u) * change; });
  }
  for (const int u : data.scope.actuators) {
    if (data.servo_mode[at(u)] == ServoMode::kBounded) data.servo_block[at(u)] = find_block(model, data, u);
  }
}

void add_servo_gain(const Model& model, const Data& data, int u, double gain, VectorX& rows) {
  const auto for_moments = [&](auto&& use) {
    for_dofs(model, data, u, [&](int i) { use(i, data.actuator_moment(i, u)); });
  };
  add_rank_one(model, gain, for_moments, rows);
}

void add_servo_gains(const Model& model, const Data& data, VectorX& rows) {
  for (const int u : data.scope.actuators) {
    if (data.servo_mode[at(u)] == ServoMode::kImplicit) add_servo_gain(model, data, u, data.servo_gain[u], rows);
  }
}

namespace {

// Of the rate of a transmission in the step.
double change_of_rate(const Model& model, const Data& data, int u, const ConstVectorRef& v,
                      const ConstVectorRef& v_next) {
  if (const int dof = data.actuator_dof[at(u)]; dof >= 0) return data.actuator_moment(dof, u) * (v_next[dof] - v[dof]);
  double change = 0.0;
  for_dofs(model, data, u, [&](int i) { change += data.actuator_moment(i, u) * (v_next[i] - v[i]); });
  return change;
}

// The force of a servo that ends the step with v_next, without limits.
double end_force(const Model& model, const Data& data, int u, const ConstVectorRef& v, const ConstVectorRef& v_next,
                 double h) {
  const double change = change_of_rate(model, data, u, v, v_next);
  return data.servo_force[u] - data.servo_gain[u] / h * change;
}

// Whether the block of u is that of u alone.
bool is_alone(const Data& data, int u) {
  const std::vector<int>& sharing = data.sharing[at(u)];
  return std::none_of(sharing.begin(), sharing.end(),
                      [&](int k) { return data.servo_mode[at(k)] == ServoMode::kShared; });
}

// The forces of a block with several actuators, each by itself, so that they add up to what the limit allows.
void scale_shared(const Model& model, const Data& data, int u, VectorRef force) {
  const ServoBlock& block = data.servo_block[at(u)];
  const auto is_member = [&](int k) { return k == u || data.servo_mode[at(k)] == ServoMode::kShared; };
  double total = 0.0;
  for (int k : data.sharing[at(u)]) {
    if (is_member(k)) total += ratio_of(model.actuators[at(k)], model.actuators[at(u)]) * force[k];
  }
  const double allowed = std::clamp(total, block.range[0], block.range[1]);
  if (allowed == total) return;
  for (int k : data.sharing[at(u)]) {
    if (is_member(k)) force[k] *= allowed / total;
  }
}

}  // namespace

bool bound_exceeding_servos(const Model& model, const ConstVectorRef& v, const ConstVectorRef& v_next, double h,
                            Data& data) {
  bool any = false;
  for (const int u : data.scope.actuators) {
    const ServoMode mode = data.servo_mode[at(u)];
    if (mode == ServoMode::kExplicit || mode == ServoMode::kShared) continue;
    if (mode == ServoMode::kImplicit) {
      const double force = end_force(model, data, u, v, v_next, h);
      // Its own part of servo_actuation is not the rest that joint_range is about.
      const auto joints = [&]() -> Vector2 {
        return joint_range(model, data, u) + Vector2::Constant(data.servo_force[u]);
      };
      if (is_beyond(force, data.actuator_range[at(u)]) ||
          (data.actuator_dof[at(u)] < 0 && is_beyond(force, joints()))) {
        data.servo_mode[at(u)] = ServoMode::kBounded;
        any = true;
      }
    }
    if (!shares_limit(data, u) || is_bounded_together(data, u)) continue;
    const auto force_then = [&](int k) {
      if (data.servo_mode[at(k)] == ServoMode::kExplicit) return data.actuator_force[k];
      const Vector2 range = data.actuator_range[at(k)];
      return std::clamp(end_force(model, data, k, v, v_next, h), range[0], range[1]);
    };
    const SharedForce shared = shared_force(model, data, u, force_then);
    if (!is_beyond(shared.force, shared.range)) continue;
    bound_together(model, u, data);
    any = true;
  }
  return any;
}

void actuator_impulse(const Model& model, const Data& data, const ConstVectorRef& v, const ConstVectorRef& v_next,
                      double h, VectorRef impulse) {
  over(data.scope.dofs, [&](int i, int n) { impulse.segment(i, n) = h * data.servo_actuation.segment(i, n); });
  for (const int u : data.scope.actuators) {
    if (data.servo_mode[at(u)] != ServoMode::kImplicit) continue;
    const double change = change_of_rate(model, data, u, v, v_next);
    for_dofs(model, data, u, [&](int i) { impulse[i] -= data.servo_gain[u] * data.actuator_moment(i, u) * change; });
  }
}

void applied_actuator_forces(const Model& model, const Data& data, const ConstVectorRef& v,
                             const ConstVectorRef& v_next, double h, VectorRef force) {
  for (const int u : data.scope.actuators) {
    force[u] = data.servo_force[u];
    const ServoMode mode = data.servo_mode[at(u)];
    if (mode == ServoMode::kExplicit) continue;
    force[u] = end_force(model, data, u, v, v_next, h);
    if (mode == ServoMode::kImplicit) continue;
    const Vector2 range =
        mode == ServoMode::kBounded && is_alone(data, u) ? data.servo_block[at(u)].range : data.actuator_range[at(u)];
    force[u] = std::clamp(force[u], range[0], range[1]);
  }
  for (const int u : data.scope.actuators) {
    if (data.servo_mode[at(u)] == ServoMode::kBounded && !is_alone(data, u)) scale_shared(model, data, u, force);
  }
}

}  // namespace touchstone
