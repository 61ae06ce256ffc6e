#include "touchstone/dynamics/forces.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/recursion.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/transmission.hpp"

namespace touchstone {

namespace {

KinematicsView view(const Data& data) { return {data.X_WB, data.S, data.reference_point, {}}; }

double clamped(double value, bool limited, const Vector2& range) {
  return limited ? std::clamp(value, range[0], range[1]) : value;
}

}  // namespace

void compute_tendons(const Model& model, const ConstVectorRef& q, const ConstVectorRef& v, Data& data) {
  require_size("q", q.size(), model.nq);
  require_size("v", v.size(), model.nv);
  for (const int t : data.scope.tendons) {
    data.tendon_length[t] = tendon_length(model, model.tendons[t], q);
    double rate = 0.0;
    for (const Tendon::Term& term : model.tendons[t].terms) rate += term.coefficient * v[model.joint_dof[term.joint]];
    data.tendon_velocity[t] = rate;
  }
}

// --- passive forces ---

void detail::add_joint_spring(const Model& model, const Parameters& parameters, const ConstVectorRef& q, int j,
                              VectorRef tau) {
  const VectorX& rest = parameters.spring_reference;
  const double k = parameters.joint_stiffness[j];
  if (k == 0.0) return;
  int i = model.joint_q[j];
  int dof = model.joint_dof[j];
  switch (model.joints[j].type) {
    case JointType::kFree:
      tau.segment<3>(dof) -= k * (q.segment<3>(i) - rest.segment<3>(i));
      i += 3;
      dof += 3;
      [[fallthrough]];
    case JointType::kBall:
      tau.segment<3>(dof) -=
          k * so3_log(quaternion_at(rest, i).normalized().conjugate() * quaternion_at(q, i).normalized());
      break;
    default:
      tau[dof] -= k * (q[i] - rest[i]);
      break;
  }
}

namespace {

// As in MuJoCo, without springs and dampers there is no gravity compensation either.
bool passive_forces_enabled(const Model& model) {
  return model.options.springs_enabled || model.options.dampers_enabled;
}

void add_tendon_forces(const Model& model, const Parameters& parameters, const Data& data, VectorRef tau) {
  for (const int t : data.scope.tendons) {
    double force = 0.0;
    if (model.options.springs_enabled)
      force -= parameters.tendon_stiffness[t] * tendon_stretch(parameters, t, data.tendon_length[t]);
    if (model.options.dampers_enabled) force -= parameters.tendon_damping[t] * data.tendon_velocity[t];
    if (force == 0.0) continue;
    for (const Tendon::Term& term : model.tendons[t].terms) {
      tau[model.joint_dof[term.joint]] += term.coefficient * force;
    }
  }
}

// The compensating forces; false, and nothing written, if no body asks for any.
bool gravity_compensation(const Model& model, const Parameters& parameters, const Data& data, VectorRef tau) {
  bool any = false;
  for (const IndexRange& range : data.scope.bodies) {
    for (int b = range.begin; b < range.end; ++b) {
      const double share = parameters.body_gravity_compensation[b];
      if (share == 0.0 || model.body_kernels[b].tree < 0) continue;
      if (!any) over(data.scope.dofs, [&](int i, int n) { tau.segment(i, n).setZero(); });
      any = true;
      const Vec3 force = -share * parameters.body_inertia[b].mass * Vec3(parameters.gravity);
      const Vec3 com = data.body_com[b] + data.reference_point[model.body_kernels[b].tree];
      add_wrench(model, view(data), b, com, force, Vec3(), tau);
    }
  }
  return any;
}

// Adds the compensation of the joints that leave it to the actuators, or of the others.
void add_gravity_compensation(const Model& model, const Parameters& parameters, bool by_actuators, Data& data,
                              VectorRef tau) {
  if (!gravity_compensation(model, parameters, data, data.scratch)) return;
  for (const IndexRange& range : data.scope.dofs) {
    for (int i = range.begin; i < range.end; ++i) {
      if (model.joints[model.dof_joint[i]].actuator_gravity_compensation == by_actuators) tau[i] += data.scratch[i];
    }
  }
}

}  // namespace

bool passive_compensation(const Model& model, const Parameters& parameters, const Data& data, VectorRef force) {
  if (!passive_forces_enabled(model) || !gravity_compensation(model, parameters, data, force)) return false;
  for (const IndexRange& range : data.scope.dofs) {
    for (int i = range.begin; i < range.end; ++i) {
      if (model.joints[model.dof_joint[i]].actuator_gravity_compensation) force[i] = 0.0;
    }
  }
  return true;
}

void compute_passive(const Model& model, const Parameters& parameters, const ConstVectorRef& q, const ConstVectorRef& v,
                     Data& data) {
  require_size("q", q.size(), model.nq);
  require_size("v", v.size(), model.nv);
  const double damping = model.options.dampers_enabled ? -1.0 : 0.0;
  over(data.scope.dofs, [&](int i, int n) {
    data.passive.segment(i, n) = damping * parameters.dof_damping.segment(i, n).cwiseProduct(v.segment(i, n));
  });
  if (!passive_forces_enabled(model)) return;
  for (const IndexRange& range : data.scope.joints) {
    if (!model.options.springs_enabled) break;
    for (int j = range.begin; j < range.end; ++j) detail::add_joint_spring(model, parameters, q, j, data.passive);
  }
  add_tendon_forces(model, parameters, data, data.passive);
  add_gravity_compensation(model, parameters, false, data, data.passive);
}

// --- actuators ---

namespace {

double affine(const std::array<double, 3>& c, double length, double velocity) {
  return c[0] + c[1] * length + c[2] * velocity;
}

double activation_rate(const Actuator& actuator, double control, double activation) {
  constexpr double kShortest = 1e-15;  // a filter without a time constant follows at once
  if (actuator.dynamics == ActuatorDynamics::kIntegrator) return control;
  return (control - activation) / std::max(actuator.time_constant, kShortest);
}

// Where several actuators pull one tendon, the tendon's force limit scales them all.
void limit_tendon_forces(const Model& model, Data& data) {
  for (const int t : data.scope.tendons) {
    if (!model.tendons[t].actuator_force_limited) continue;
    double total = 0.0;
    const auto pulls = [&](int u) {
      return model.actuators[u].transmission == TransmissionType::kTendon && model.actuators[u].target == t;
    };
    for (const int u : data.scope.actuators) {
      if (pulls(u)) total += data.actuator_force[u];
    }
    const double allowed = clamped(total, true, model.tendons[t].actuator_force_range);
    if (allowed == total) continue;
    for (const int u : data.scope.actuators) {
      if (pulls(u)) data.actuator_force[u] *= allowed / total;
    }
  }
}

}  // namespace

double next_activation(const Actuator& actuator, double activation, double rate, double h) {
  double next = activation + h * rate;
  if (actuator.dynamics == ActuatorDynamics::kFilterExact) {
    const double tau = std::max(actuator.time_constant, 1e-15);
    next = activation + rate * tau * -std::expm1(-h / tau);
  }
  return clamped(next, actuator.activation_limited, actuator.activation_range);
}

namespace {

// The dof of an actuator that drives one hinge or slide, else -1. Its column of the moments has that entry alone, so
// that many actuators cost no more than their number.
int only_dof(const Model& model, const Actuator& actuator) {
  const bool at_joint = actuator.transmission == TransmissionType::kJoint;
  if (!at_joint || dof_count(model.joints[actuator.target].type) != 1) return -1;
  return model.joint_dof[actuator.target];
}

void update_transmission(const Model& model, const State& state, int u, Data& data) {
  const Actuator& actuator = model.actuators[u];
  const int dof = only_dof(model, actuator);
  auto moment = data.actuator_moment.col(u);
  if (dof < 0) {
    const KinematicsView kinematics{data.X_WB, data.S, data.reference_point, state.loop_memory()};
    data.actuator_length[u] = transmission_length(model, kinematics, actuator, state.q, moment);
    data.actuator_velocity[u] = moment.dot(state.v);
    return;
  }
  moment[dof] = actuator.gear[0];
  data.actuator_length[u] = actuator.gear[0] * state.q[model.joint_q[actuator.target]];
  data.actuator_velocity[u] = actuator.gear[0] * state.v[dof];
}

double actuator_force(const Model& model, const Parameters& parameters, const State& state, const Input& input, int u,
                      double h, Data& data) {
  const Actuator& actuator = model.actuators[u];
  update_transmission(model, state, u, data);
  double signal =
      clamped(input.control[u], actuator.control_limited && model.options.clamp_controls, actuator.control_range);
  const int k = model.activation_index[u];
  if (k >= 0) {
    data.activation_rate[k] = activation_rate(actuator, signal, state.activation[k]);
    signal = actuator.early_activation ? next_activation(actuator, state.activation[k], data.activation_rate[k], h)
                                       : state.activation[k];
  }
  const double length = data.actuator_length[u], velocity = data.actuator_velocity[u];
  const auto& g = parameters.actuator_gain[u];
  const double gain = actuator.gain_type == ActuatorGain::kFixed ? g[0] : affine(g, length, velocity);
  double force = gain * signal;
  if (actuator.bias_type == ActuatorBias::kAffine) force += affine(parameters.actuator_bias[u], length, velocity);
  data.actuator_signal[u] = signal;
  data.actuator_law[u] = force;
  return force;
}

}  // namespace

void compute_actuation(const Model& model, const Parameters& parameters, const State& state, const Input& input,
                       double h, Data& data) {
  require_size("state.activation", state.activation.size(), model.na);
  require_size("input.control", input.control.size(), model.nu);
  over(data.scope.dofs, [&](int i, int n) { data.actuation.segment(i, n).setZero(); });
  if (!model.options.actuation_enabled) {
    data.actuator_force.setZero();
    data.actuator_law.setZero();
    data.actuation_unlimited.setZero();
    data.activation_rate.setZero();
    return;
  }
  for (const int u : data.scope.actuators)
    data.actuator_force[u] = actuator_force(model, parameters, state, input, u, h, data);
  limit_tendon_forces(model, data);
  for (const int u : data.scope.actuators) {
    const Actuator& actuator = model.actuators[u];
    data.actuator_force[u] = clamped(data.actuator_force[u], actuator.force_limited, actuator.force_range);
  }
  for (const int u : data.scope.actuators) {
    const int dof = only_dof(model, model.actuators[u]);
    if (dof >= 0) {
      data.actuation[dof] += data.actuator_moment(dof, u) * data.actuator_force[u];
    } else {
      data.actuation += data.actuator_moment.col(u) * data.actuator_force[u];
    }
  }
  if (passive_forces_enabled(model)) add_gravity_compensation(model, parameters, true, data, data.actuation);
  copy_ranges(data.scope.dofs, data.actuation, data.actuation_unlimited);
  for (const IndexRange& range : data.scope.joints) {
    for (int j = range.begin; j < range.end; ++j) {
      const Joint& joint = model.joints[j];
      double& force = data.actuation[model.joint_dof[j]];
      if (joint.actuator_force_limited) force = clamped(force, true, joint.actuator_force_range);
    }
  }
}

// --- everything ---

void add_applied_wrenches(const Model& model, const Parameters& parameters, const std::vector<Vector6>& wrenches,
                          const Data& data, VectorRef tau) {
  require_size("wrenches", std::ssize(wrenches), model.nbody);
  require_size("tau", tau.size(), model.nv);
  for (const IndexRange& range : data.scope.bodies) {
    for (int b = range.begin; b < range.end; ++b) {
      const Vector6& wrench = wrenches[b];
      if (model.body_kernels[b].tree < 0 || wrench.isZero(0.0)) continue;
      const Vec3 com = data.X_WB[b] * parameters.body_inertia[b].com;
      add_wrench(model, view(data), b, com, Vec3(wrench.head<3>()), Vec3(wrench.tail<3>()), tau);
    }
  }
}

void compute_smooth_force(const Model& model, const Parameters& parameters, const State& state, const Input& input,
                          double h, Data& data, Kinematics kinematics) {
  require_size("input.applied_force", input.applied_force.size(), model.nv);
  if (kinematics == Kinematics::kNew) forward_kinematics(model, parameters, state, data);
  crba(model, parameters, data);
  compute_bias(model, parameters, state.v, data);
  compute_tendons(model, state.q, state.v, data);
  compute_passive(model, parameters, state.q, state.v, data);
  compute_actuation(model, parameters, state, input, h, data);
  over(data.scope.dofs, [&](int i, int n) {
    data.smooth_force.segment(i, n).noalias() = data.passive.segment(i, n) + data.actuation.segment(i, n) +
                                                input.applied_force.segment(i, n) - data.bias.segment(i, n);
  });
  add_applied_wrenches(model, parameters, input.applied_wrench, data, data.smooth_force);
}

bool forward_dynamics(const Model& model, const Parameters& parameters, const State& state, const Input& input,
                      Data& data, VectorRef a) {
  require_size("a", a.size(), model.nv);
  compute_smooth_force(model, parameters, state, input, model.options.time_step, data);
  const bool ok = factorize(model, data);
  a = data.smooth_force;
  solve(model, data, a);
  return ok;
}

}  // namespace touchstone
