// The free motion of a step, with what must be implicit to be stable at any gain (docs/dynamics.md).
#include <algorithm>

#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/model/mass_rows.hpp"

namespace touchstone {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// --- joints and tendons ---

void begin_joint_terms(const Model& model, const Parameters& parameters, const State& state, double h, Data& data) {
  data.joint_gain.setZero();
  if (model.options.dampers_enabled) data.joint_gain = h * parameters.dof_damping;
  for (int j = 0; j < model.njoint; ++j) {
    const double k = parameters.joint_stiffness[j];
    if (k == 0.0 || !model.options.springs_enabled) continue;
    const int n = dof_count(model.joints[at(j)].type);
    const int dof = model.joint_dof[at(j)];
    data.joint_gain.segment(dof, n).array() += h * h * k;
    data.smooth_force.segment(dof, n) -= h * k * state.v.segment(dof, n);
  }
}

void begin_tendon_terms(const Model& model, const Parameters& parameters, double h, Data& data) {
  for (int t = 0; t < model.ntendon; ++t) {
    data.tendon_gain[t] = 0.0;
    if (data.tendon_on_path[at(t)] == 0) continue;
    const double length = data.tendon_length[t];
    const Vector2& band = parameters.tendon_spring_length[at(t)];
    const bool stretched = model.options.springs_enabled && (length < band[0] || length > band[1]);
    const double k = stretched ? parameters.tendon_stiffness[t] : 0.0;
    const double d = model.options.dampers_enabled ? parameters.tendon_damping[t] : 0.0;
    data.tendon_gain[t] = h * d + h * h * k;
    if (k == 0.0) continue;
    for (const Tendon::Term& term : model.tendons[at(t)].terms) {
      data.smooth_force[model.joint_dof[at(term.joint)]] -= h * k * term.coefficient * data.tendon_velocity[t];
    }
  }
}

// --- servos ---

// Calls use(dof) for the dofs that an implicit actuator moves.
template <typename Use>
void for_dofs(const Model& model, const Actuator& actuator, Use use) {
  if (actuator.transmission == TransmissionType::kJoint) {
    use(model.joint_dof[at(actuator.target)]);
    return;
  }
  for (const Tendon::Term& term : model.tendons[at(actuator.target)].terms) use(model.joint_dof[at(term.joint)]);
}

// Whether A has entries for the actuator, and its limits are its own or those of its joint.
bool can_be_implicit(const Model& model, const Data& data, const Actuator& actuator) {
  if (actuator.transmission == TransmissionType::kJoint) {
    return dof_count(model.joints[at(actuator.target)].type) == 1;
  }
  if (actuator.transmission != TransmissionType::kTendon || data.tendon_on_path[at(actuator.target)] == 0) return false;
  const Tendon& tendon = model.tendons[at(actuator.target)];
  return !tendon.actuator_force_limited &&
         std::none_of(tendon.terms.begin(), tendon.terms.end(),
                      [&](const Tendon::Term& term) { return model.joints[at(term.joint)].actuator_force_limited; });
}

// How fast the force falls with length (kp) and velocity (kd); a force that grows is left explicit.
struct Gains {
  double kp = 0.0, kd = 0.0;
};

Gains gains_of(const Actuator& actuator, const Parameters& parameters, const Data& data, int u) {
  Gains gains;
  if (actuator.gain_type == ActuatorGain::kAffine) {
    gains.kp -= parameters.actuator_gain[at(u)][1] * data.actuator_signal[u];
    gains.kd -= parameters.actuator_gain[at(u)][2] * data.actuator_signal[u];
  }
  if (actuator.bias_type == ActuatorBias::kAffine) {
    gains.kp -= parameters.actuator_bias[at(u)][1];
    gains.kd -= parameters.actuator_bias[at(u)][2];
  }
  return {std::max(gains.kp, 0.0), std::max(gains.kd, 0.0)};
}

std::int8_t side_of(double force, bool limited, const Vector2& range) {
  if (!limited) return 0;
  return static_cast<std::int8_t>(force > range[1] ? 1 : (force < range[0] ? -1 : 0));
}

// The servos of a step. Their gains, forces and limits are in data.servo_*.
class Servos {
 public:
  Servos(const Model& model, const Parameters& parameters, double h, Data& data)
      : model_(model), h_(h), data_(data), any_(false) {
    data.servo_force = data.actuator_force;
    data.servo_gain.setZero();
    std::fill(data.servo_limit.begin(), data.servo_limit.end(), std::int8_t{0});
    std::fill(data.joint_limit.begin(), data.joint_limit.end(), std::int8_t{0});
    if (!model.options.actuation_enabled) return;
    for (int u = 0; u < model.nu; ++u) {
      const Actuator& actuator = model.actuators[at(u)];
      if (!can_be_implicit(model, data, actuator)) continue;
      const Gains gains = gains_of(actuator, parameters, data, u);
      data.servo_gain[u] = h * gains.kd + h * h * gains.kp;
      if (data.servo_gain[u] == 0.0) continue;
      any_ = true;
      data.servo_force[u] = data.actuator_law[u] - h * gains.kp * data.actuator_velocity[u];
      data.servo_limit[at(u)] = side_of(data.actuator_law[u], actuator.force_limited, actuator.force_range);
    }
    for (int j = 0; j < model.njoint; ++j) {
      const Joint& joint = model.joints[at(j)];
      data.joint_limit[at(j)] = side_of(data.actuation_unlimited[model.joint_dof[at(j)]], joint.actuator_force_limited,
                                        joint.actuator_force_range);
    }
  }

  bool any() const { return any_; }

  // The generalised force at the velocity of the start; clears nothing but data.servo_actuation.
  void sum_forces() {
    data_.servo_actuation = data_.actuation_unlimited;
    for (int u = 0; u < model_.nu; ++u) {
      const double change = force_in_use(u) - data_.actuator_force[u];
      if (change != 0.0) data_.servo_actuation += change * data_.actuator_moment.col(u);
    }
    for (int j = 0; j < model_.njoint; ++j) {
      const Joint& joint = model_.joints[at(j)];
      if (!joint.actuator_force_limited) continue;
      const std::int8_t side = data_.joint_limit[at(j)];
      if (side != 0) data_.servo_actuation[model_.joint_dof[at(j)]] = joint.actuator_force_range[side > 0 ? 1 : 0];
    }
  }

  void add_gains(VectorX& rows) const {
    for (int u = 0; u < model_.nu; ++u) {
      if (!in_use(u)) continue;
      for_dofs(model_, model_.actuators[at(u)], [&](int i) {
        for_dofs(model_, model_.actuators[at(u)], [&](int j) {
          if (j > i) return;  // the lower triangle
          rows[model_.row_start[at(i)] + model_.row_length[at(j)] - 1] +=
              data_.servo_gain[u] * data_.actuator_moment(i, u) * data_.actuator_moment(j, u);
        });
      });
    }
  }

  // Which limits are reached at the end of the step, if the velocity changes by dv. False if that is as assumed.
  bool update_limits(const VectorX& dv) {
    bool changed = false;
    const auto set = [&](std::int8_t side, std::int8_t& known) {
      changed = changed || side != known;
      known = side;
    };
    for (int u = 0; u < model_.nu; ++u) {
      const Actuator& actuator = model_.actuators[at(u)];
      if (data_.servo_gain[u] == 0.0 || !actuator.force_limited) continue;
      set(side_of(end_force(u, dv), true, actuator.force_range), data_.servo_limit[at(u)]);
    }
    for (int j = 0; j < model_.njoint; ++j) {
      const Joint& joint = model_.joints[at(j)];
      if (!joint.actuator_force_limited) continue;
      const int dof = model_.joint_dof[at(j)];
      double force = data_.actuation_unlimited[dof];
      for (int u = 0; u < model_.nu; ++u) {
        if (data_.actuator_moment(dof, u) == 0.0) continue;
        double end = force_in_use(u);
        if (data_.servo_gain[u] != 0.0 && data_.servo_limit[at(u)] == 0) end = end_force(u, dv);
        force += data_.actuator_moment(dof, u) * (end - data_.actuator_force[u]);
      }
      set(side_of(force, true, joint.actuator_force_range), data_.joint_limit[at(j)]);
    }
    return changed;
  }

  // From now on the gain of a servo at a limit is zero, and its force is the limit.
  void settle() {
    for (int u = 0; u < model_.nu; ++u) {
      if (data_.servo_gain[u] == 0.0 || in_use(u)) continue;
      data_.servo_force[u] = force_in_use(u);
      data_.servo_gain[u] = 0.0;
    }
  }

 private:
  bool in_use(int u) const {
    if (data_.servo_gain[u] == 0.0 || data_.servo_limit[at(u)] != 0) return false;
    const Actuator& actuator = model_.actuators[at(u)];
    return actuator.transmission != TransmissionType::kJoint || data_.joint_limit[at(actuator.target)] == 0;
  }
  double force_in_use(int u) const {
    const std::int8_t side = data_.servo_limit[at(u)];
    return side == 0 ? data_.servo_force[u] : model_.actuators[at(u)].force_range[side > 0 ? 1 : 0];
  }
  double end_force(int u, const VectorX& dv) const {
    double rate = 0.0;
    for_dofs(model_, model_.actuators[at(u)], [&](int i) { rate += data_.actuator_moment(i, u) * dv[i]; });
    return data_.servo_force[u] - data_.servo_gain[u] / h_ * rate;
  }

  const Model& model_;
  const double h_;
  Data& data_;
  bool any_;
};

}  // namespace

bool compute_free_motion(const Model& model, const Parameters& parameters, const State& state, const Input& input,
                         double h, Data& data) {
  compute_smooth_force(model, parameters, state, input, h, data);
  begin_joint_terms(model, parameters, state, h, data);
  begin_tendon_terms(model, parameters, h, data);
  Servos servos(model, parameters, h, data);
  data.smooth_force -= data.actuation;
  bool ok = false;
  for (int round = 1;; ++round) {
    servos.sum_forces();
    data.L = data.M;
    for (int i = 0; i < model.nv; ++i) {
      data.L[model.row_start[at(i)] + model.row_length[at(i)] - 1] += data.joint_gain[i];
    }
    add_tendon_armature(model, data.tendon_gain, data.L);
    servos.add_gains(data.L);
    ok = factorize_rows(model, data.L, data.D_inverse);
    data.v_free = h * (data.smooth_force + data.servo_actuation);
    solve(model, data, data.v_free);
    if (!servos.any() || round == kServoRounds || !servos.update_limits(data.v_free)) break;
  }
  servos.settle();
  data.smooth_force += data.servo_actuation;
  data.v_free += state.v;
  return ok;
}

void actuator_impulse(const Model& model, const Data& data, const ConstVectorRef& v, const ConstVectorRef& v_next,
                      double h, VectorRef impulse) {
  impulse = h * data.servo_actuation;
  for (int u = 0; u < model.nu; ++u) {
    if (data.servo_gain[u] == 0.0) continue;
    const Actuator& actuator = model.actuators[at(u)];
    double rate = 0.0;
    for_dofs(model, actuator, [&](int i) { rate += data.actuator_moment(i, u) * (v_next[i] - v[i]); });
    for_dofs(model, actuator, [&](int i) { impulse[i] -= data.servo_gain[u] * data.actuator_moment(i, u) * rate; });
  }
}

void damper_impulse(const Model& model, const Parameters& parameters, const Data& data, const ConstVectorRef& v_next,
                    double h, VectorRef impulse) {
  impulse.setZero();
  if (!model.options.dampers_enabled) return;
  impulse = -h * parameters.dof_damping.cwiseProduct(v_next);
  for (int t = 0; t < model.ntendon; ++t) {
    const double d = parameters.tendon_damping[t];
    if (d == 0.0) continue;
    double rate = 0.0;
    for (const Tendon::Term& term : model.tendons[at(t)].terms) {
      rate += term.coefficient * v_next[model.joint_dof[at(term.joint)]];
    }
    if (data.tendon_on_path[at(t)] == 0) rate = data.tendon_velocity[t];
    for (const Tendon::Term& term : model.tendons[at(t)].terms) {
      impulse[model.joint_dof[at(term.joint)]] -= h * d * term.coefficient * rate;
    }
  }
}

void applied_actuator_forces(const Model& model, const Data& data, const ConstVectorRef& v,
                             const ConstVectorRef& v_next, double h, VectorRef force) {
  for (int u = 0; u < model.nu; ++u) {
    force[u] = data.servo_force[u];
    if (data.servo_gain[u] == 0.0) continue;
    for_dofs(model, model.actuators[at(u)],
             [&](int i) { force[u] -= data.servo_gain[u] / h * data.actuator_moment(i, u) * (v_next[i] - v[i]); });
  }
}

}  // namespace touchstone
