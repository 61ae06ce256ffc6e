// The free motion of a step, with what must be implicit to be stable at any gain (docs/dynamics.md).
#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/model/mass_rows.hpp"

namespace touchstone {
namespace {

// --- joints and tendons ---

// A spring of stiffness k that is taken at the end of the step, or at its middle, adds gain k to A and -rate k v to the
// force (forces.hpp).
struct SpringTerms {
  double gain, rate;
};

SpringTerms spring_terms(SpringRule rule, double h) {
  return rule == SpringRule::kEnd ? SpringTerms{h * h, h} : SpringTerms{0.25 * h * h, 0.0};
}

void begin_joint_terms(const Model& model, const Parameters& parameters, const State& state, double h,
                       const SpringTerms& springs, Data& data) {
  data.joint_gain.setZero();
  if (model.options.dampers_enabled) data.joint_gain = h * parameters.dof_damping;
  for (int j = 0; j < model.njoint; ++j) {
    const double k = parameters.joint_stiffness[j];
    if (k == 0.0 || !model.options.springs_enabled) continue;
    const int n = dof_count(model.joints[at(j)].type);
    const int dof = model.joint_dof[at(j)];
    data.joint_gain.segment(dof, n).array() += springs.gain * k;
    data.smooth_force.segment(dof, n) -= springs.rate * k * state.v.segment(dof, n);
  }
}

void begin_tendon_terms(const Model& model, const Parameters& parameters, double h, const SpringTerms& springs,
                        Data& data) {
  for (int t = 0; t < model.ntendon; ++t) {
    data.tendon_gain[t] = 0.0;
    if (data.tendon_on_path[at(t)] == 0) continue;
    const double length = data.tendon_length[t];
    const Vector2& band = parameters.tendon_spring_length[at(t)];
    const bool stretched = model.options.springs_enabled && (length < band[0] || length > band[1]);
    const double k = stretched ? parameters.tendon_stiffness[t] : 0.0;
    const double d = model.options.dampers_enabled ? parameters.tendon_damping[t] : 0.0;
    data.tendon_gain[t] = h * d + springs.gain * k;
    if (k == 0.0) continue;
    for (const Tendon::Term& term : model.tendons[at(t)].terms) {
      data.smooth_force[model.joint_dof[at(term.joint)]] -=
          springs.rate * k * term.coefficient * data.tendon_velocity[t];
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

int actuators_of_joint(const Model& model, int joint) {
  const auto acts = [joint](const Actuator& a) {
    return a.transmission == TransmissionType::kJoint && a.target == joint;
  };
  return static_cast<int>(std::count_if(model.actuators.begin(), model.actuators.end(), acts));
}

// Whether A has entries for the actuator, and its limits are its own or those of a joint that it has for itself.
bool can_be_implicit(const Model& model, const Data& data, const Actuator& actuator) {
  if (actuator.gear[0] == 0.0) return false;
  if (actuator.transmission == TransmissionType::kJoint) {
    const Joint& joint = model.joints[at(actuator.target)];
    if (dof_count(joint.type) != 1) return false;
    return !joint.actuator_force_limited || actuators_of_joint(model, actuator.target) == 1;
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

// The part of the limits' half width within which a servo is not expected to reach them in the next step.
constexpr double kFarFromLimits = 0.9;

bool is_near_limits(double force, const Vector2& range) {
  return std::abs(force - 0.5 * (range[0] + range[1])) > kFarFromLimits * 0.5 * (range[1] - range[0]);
}

bool is_beyond(double force, const Vector2& range) {
  constexpr double kSlack = 1e-9;  // rounding is no reason to repeat a step
  const double slack = kSlack * (1.0 + std::max(std::abs(range[0]), std::abs(range[1])));
  return force < range[0] - slack || force > range[1] + slack;
}

// Gains and forces of the servos at the start of a step, and who takes care of them.
void begin_servos(const Model& model, const Parameters& parameters, double h, ServoMode near_limits, Data& data) {
  data.servo_force = data.actuator_force;
  data.servo_gain.setZero();
  std::fill(data.servo_mode.begin(), data.servo_mode.end(), ServoMode::kExplicit);
  if (!model.options.actuation_enabled) return;
  for (int u = 0; u < model.nu; ++u) {
    const Actuator& actuator = model.actuators[at(u)];
    if (!can_be_implicit(model, data, actuator)) continue;
    const Gains gains = gains_of(actuator, parameters, data, u);
    data.servo_gain[u] = h * gains.kd + h * h * gains.kp;
    if (data.servo_gain[u] == 0.0) continue;
    const bool near = is_near_limits(data.actuator_law[u], servo_range(model, data, u));
    data.servo_mode[at(u)] = near ? near_limits : ServoMode::kImplicit;
    if (data.servo_mode[at(u)] == ServoMode::kExplicit) {
      data.servo_gain[u] = 0.0;
    } else {
      data.servo_force[u] = data.actuator_law[u] - h * gains.kp * data.actuator_velocity[u];
    }
  }
}

// Forces that are constant in the step, and the part of implicit servos at the velocity of the start. What is bounded
// is left to the contact problem.
void sum_actuation(const Model& model, Data& data) {
  data.servo_actuation = data.actuation;
  for (int u = 0; u < model.nu; ++u) {
    if (data.servo_mode[at(u)] == ServoMode::kExplicit) continue;
    const double force = data.servo_mode[at(u)] == ServoMode::kImplicit ? data.servo_force[u] : 0.0;
    for_dofs(model, model.actuators[at(u)], [&](int i) {
      // The joint's own limit, if any, was applied to the explicit force; a servo has its joint to itself then.
      const bool limited = model.joints[at(model.dof_joint[at(i)])].actuator_force_limited;
      const double before = data.actuation_unlimited[i] - data.actuator_moment(i, u) * data.actuator_force[u];
      if (limited) data.servo_actuation[i] = before + data.actuator_moment(i, u) * data.actuator_force[u];
      data.servo_actuation[i] += data.actuator_moment(i, u) * (force - data.actuator_force[u]);
    });
  }
}

void add_servo_gains(const Model& model, const Data& data, VectorX& rows) {
  for (int u = 0; u < model.nu; ++u) {
    if (data.servo_mode[at(u)] != ServoMode::kImplicit) continue;
    for_dofs(model, model.actuators[at(u)], [&](int i) {
      for_dofs(model, model.actuators[at(u)], [&](int j) {
        if (j > i) return;  // the lower triangle
        rows[model.row_start[at(i)] + model.row_length[at(j)] - 1] +=
            data.servo_gain[u] * data.actuator_moment(i, u) * data.actuator_moment(j, u);
      });
    });
  }
}

double servo_rate(const Model& model, const Data& data, int u, const ConstVectorRef& v) {
  double rate = 0.0;
  for_dofs(model, model.actuators[at(u)], [&](int i) { rate += data.actuator_moment(i, u) * v[i]; });
  return rate;
}

}  // namespace

Vector2 servo_range(const Model& model, const Data& data, int u) {
  const Actuator& actuator = model.actuators[at(u)];
  Vector2 range = actuator.force_limited ? actuator.force_range : Vector2(-kInfinity, kInfinity);
  if (actuator.transmission != TransmissionType::kJoint) return range;
  const Joint& joint = model.joints[at(actuator.target)];
  const double moment = data.actuator_moment(model.joint_dof[at(actuator.target)], u);
  if (!joint.actuator_force_limited || moment == 0.0) return range;
  const double a = joint.actuator_force_range[0] / moment, b = joint.actuator_force_range[1] / moment;
  return {std::max(range[0], std::min(a, b)), std::min(range[1], std::max(a, b))};
}

bool compute_free_motion(const Model& model, const Parameters& parameters, const State& state, const Input& input,
                         double h, Data& data, ServoMode near_limits, SpringRule springs, Kinematics kinematics) {
  compute_smooth_force(model, parameters, state, input, h, data, kinematics);
  begin_joint_terms(model, parameters, state, h, spring_terms(springs, h), data);
  begin_tendon_terms(model, parameters, h, spring_terms(springs, h), data);
  begin_servos(model, parameters, h, near_limits, data);
  data.passive_force = data.smooth_force - data.actuation;
  return repeat_free_motion(model, state, h, data);
}

bool repeat_free_motion(const Model& model, const State& state, double h, Data& data) {
  sum_actuation(model, data);
  data.L = data.M;
  for (int i = 0; i < model.nv; ++i) {
    data.L[model.row_start[at(i)] + model.row_length[at(i)] - 1] += data.joint_gain[i];
  }
  add_tendon_armature(model, data.tendon_gain, data.L);
  add_servo_gains(model, data, data.L);
  const bool ok = factorize_rows(model, data.L, data.D_inverse);
  data.smooth_force = data.passive_force + data.servo_actuation;
  data.v_free = h * data.smooth_force;
  solve(model, data, data.v_free);
  data.v_free += state.v;
  return ok;
}

bool compute_explicit_motion(const Model& model, const Parameters& parameters, const State& state, const Input& input,
                             double h, Data& data, Kinematics kinematics) {
  compute_smooth_force(model, parameters, state, input, h, data, kinematics);
  data.joint_gain.setZero();
  data.tendon_gain.setZero();
  data.servo_gain.setZero();
  data.servo_force = data.actuator_force;
  std::fill(data.servo_mode.begin(), data.servo_mode.end(), ServoMode::kExplicit);
  data.servo_actuation = data.actuation;
  data.passive_force = data.smooth_force - data.actuation;
  const bool ok = factorize(model, data);
  data.v_free = h * data.smooth_force;
  solve(model, data, data.v_free);
  data.v_free += state.v;
  return ok;
}

bool factorize_damped(const Model& model, const Parameters& parameters, bool joints_alone, double h, Data& data) {
  VectorX& L = data.damped.L;
  L = data.M;
  data.damped.D_inverse.resize(model.nv);
  const double scale = model.options.dampers_enabled ? h : 0.0;
  for (int i = 0; i < model.nv; ++i) {
    L[model.row_start[at(i)] + model.row_length[at(i)] - 1] += scale * parameters.dof_damping[i];
  }
  if (!joints_alone) {
    for (int t = 0; t < model.ntendon; ++t) {
      data.tendon_gain[t] = data.tendon_on_path[at(t)] != 0 ? scale * parameters.tendon_damping[t] : 0.0;
    }
    add_tendon_armature(model, data.tendon_gain, L);
    for (int u = 0; u < model.nu && model.options.actuation_enabled; ++u) {
      const Actuator& actuator = model.actuators[at(u)];
      if (!can_be_implicit(model, data, actuator) || is_beyond(data.actuator_law[u], servo_range(model, data, u))) {
        continue;
      }
      data.servo_gain[u] = h * gains_of(actuator, parameters, data, u).kd;
      if (data.servo_gain[u] > 0.0) data.servo_mode[at(u)] = ServoMode::kImplicit;
    }
    add_servo_gains(model, data, L);
  }
  return factorize_rows(model, L, data.damped.D_inverse);
}

bool factorize_stiff(const Model& model, const Parameters& parameters, double time, const Data& data,
                     TreeFactor& factor) {
  VectorX& L = factor.L;
  bool any = false;
  const auto entry = [&](int i, int j) -> double& { return L[model.row_start[at(i)] + model.row_length[at(j)] - 1]; };
  L = data.M;
  for (int j = 0; j < model.njoint && model.options.springs_enabled; ++j) {
    const double k = time * time * parameters.joint_stiffness[j];
    if (!(k > 0.0)) continue;
    any = true;
    const int dof = model.joint_dof[at(j)];
    for (int i = dof; i < dof + dof_count(model.joints[at(j)].type); ++i) entry(i, i) += k;
  }
  for (int t = 0; t < model.ntendon && model.options.springs_enabled; ++t) {
    const double k = time * time * parameters.tendon_stiffness[t];
    if (!(k > 0.0) || data.tendon_on_path[at(t)] == 0) continue;
    any = true;
    for (const Tendon::Term& a : model.tendons[at(t)].terms) {
      for (const Tendon::Term& b : model.tendons[at(t)].terms) {
        const int i = model.joint_dof[at(a.joint)], j = model.joint_dof[at(b.joint)];
        if (j <= i) entry(i, j) += k * a.coefficient * b.coefficient;
      }
    }
  }
  for (int u = 0; u < model.nu && model.options.actuation_enabled; ++u) {
    const Actuator& actuator = model.actuators[at(u)];
    if (!can_be_implicit(model, data, actuator)) continue;
    const double k = time * time * gains_of(actuator, parameters, data, u).kp;
    if (!(k > 0.0) || is_beyond(data.actuator_law[u], servo_range(model, data, u))) continue;
    any = true;
    for_dofs(model, actuator, [&](int i) {
      for_dofs(model, actuator, [&](int j) {
        if (j <= i) entry(i, j) += k * data.actuator_moment(i, u) * data.actuator_moment(j, u);
      });
    });
  }
  factor.D_inverse.resize(model.nv);
  return any && factorize_rows(model, L, factor.D_inverse);
}

bool bound_exceeding_servos(const Model& model, const ConstVectorRef& v, const ConstVectorRef& v_next, double h,
                            Data& data) {
  bool any = false;
  for (int u = 0; u < model.nu; ++u) {
    if (data.servo_mode[at(u)] != ServoMode::kImplicit) continue;
    const double change = servo_rate(model, data, u, v_next) - servo_rate(model, data, u, v);
    if (!is_beyond(data.servo_force[u] - data.servo_gain[u] / h * change, servo_range(model, data, u))) continue;
    data.servo_mode[at(u)] = ServoMode::kBounded;
    any = true;
  }
  return any;
}

void actuator_impulse(const Model& model, const Data& data, const ConstVectorRef& v, const ConstVectorRef& v_next,
                      double h, VectorRef impulse) {
  impulse = h * data.servo_actuation;
  for (int u = 0; u < model.nu; ++u) {
    if (data.servo_mode[at(u)] != ServoMode::kImplicit) continue;
    const double change = servo_rate(model, data, u, v_next) - servo_rate(model, data, u, v);
    for_dofs(model, model.actuators[at(u)],
             [&](int i) { impulse[i] -= data.servo_gain[u] * data.actuator_moment(i, u) * change; });
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
    if (data.servo_mode[at(u)] == ServoMode::kExplicit) continue;
    const double change = servo_rate(model, data, u, v_next) - servo_rate(model, data, u, v);
    force[u] -= data.servo_gain[u] / h * change;
    if (data.servo_mode[at(u)] != ServoMode::kBounded) continue;
    const Vector2 range = servo_range(model, data, u);
    force[u] = std::clamp(force[u], range[0], range[1]);
  }
}

}  // namespace touchstone
