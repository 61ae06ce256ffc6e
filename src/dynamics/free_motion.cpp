// The free motion of a step, with what must be implicit to be stable at any gain (docs/dynamics.md).
#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/gyroscopic.hpp"
#include "touchstone/dynamics/long_trees.hpp"
#include "touchstone/dynamics/servos.hpp"
#include "touchstone/model/mass_rows.hpp"
#include "touchstone/model/transmission.hpp"

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
  over(data.scope.dofs, [&](int i, int n) {
    data.joint_gain.segment(i, n) = (model.options.dampers_enabled ? h : 0.0) * parameters.dof_damping.segment(i, n);
  });
  for (const IndexRange& range : data.scope.joints) {
    for (int j = range.begin; j < range.end; ++j) {
      const double k = parameters.joint_stiffness[j];
      if (k == 0.0 || !model.options.springs_enabled) continue;
      const int n = dof_count(model.joints[at(j)].type);
      const int dof = model.joint_dof[at(j)];
      for (int i = dof; i < dof + n; ++i) {
        data.joint_gain[i] += springs.gain * k;
        data.smooth_force[i] -= springs.rate * k * state.v[i];
      }
    }
  }
}

// A tendon that joins branches, which A has no entries for, is a block of the contact problem if there may be any: then
// nothing of its force is left here.
void begin_tendon_block(const Model& model, const Parameters& parameters, double h, double stretch, Data& data, int t) {
  const double k = stretch != 0.0 ? parameters.tendon_stiffness[t] : 0.0;
  const double d = model.options.dampers_enabled ? parameters.tendon_damping[t] : 0.0;
  if (!(h * d + h * h * k > 0.0)) return;
  data.tendon_block_gain[t] = h * d + h * h * k;
  data.tendon_block_force[t] = -k * stretch;
  const double force = -k * stretch - d * data.tendon_velocity[t];
  for (const Tendon::Term& term : model.tendons[at(t)].terms) {
    data.smooth_force[model.joint_dof[at(term.joint)]] -= term.coefficient * force;
  }
}

void begin_tendon_terms(const Model& model, const Parameters& parameters, double h, SpringRule rule, bool blocks,
                        Data& data) {
  const SpringTerms springs = spring_terms(rule, h);
  data.tendon_block_gain.setZero();
  data.tendon_block_force.setZero();
  for (const int t : data.scope.tendons) {
    data.tendon_gain[t] = 0.0;
    const double stretch = model.options.springs_enabled ? tendon_stretch(parameters, t, data.tendon_length[t]) : 0.0;
    if (data.tendon_on_path[at(t)] == 0) {
      // The variational rule solves for springs in its own way.
      if (blocks) begin_tendon_block(model, parameters, h, rule == SpringRule::kEnd ? stretch : 0.0, data, t);
      continue;
    }
    const double k = stretch != 0.0 ? parameters.tendon_stiffness[t] : 0.0;
    const double d = model.options.dampers_enabled ? parameters.tendon_damping[t] : 0.0;
    data.tendon_gain[t] = h * d + springs.gain * k;
    if (k == 0.0) continue;
    for (const Tendon::Term& term : model.tendons[at(t)].terms) {
      data.smooth_force[model.joint_dof[at(term.joint)]] -=
          springs.rate * k * term.coefficient * data.tendon_velocity[t];
    }
  }
}

}  // namespace

bool compute_free_motion(const Model& model, const Parameters& parameters, const State& state, const Input& input,
                         double h, Data& data, ServoMode near_limits, SpringRule springs, Kinematics kinematics) {
  compute_smooth_force(model, parameters, state, input, h, data, kinematics);
  if (springs == SpringRule::kEnd) conserve_spin(model, parameters, state, h, data);
  begin_joint_terms(model, parameters, state, h, spring_terms(springs, h), data);
  begin_tendon_terms(model, parameters, h, springs, near_limits == ServoMode::kBounded, data);
  begin_servos(model, parameters, h, near_limits, data);
  over(data.scope.dofs, [&](int i, int n) {
    data.passive_force.segment(i, n) = data.smooth_force.segment(i, n) - data.actuation.segment(i, n);
  });
  return repeat_free_motion(model, state, h, data);
}

namespace {

// The factor of A.
bool factorize_motion(const Model& model, Data& data) {
  if (data.long_trees.used) return factorize_long_trees(data);
  copy_rows(model, data.scope.dofs, data.M, data.L);
  for (const IndexRange& range : data.scope.dofs) {
    for (int i = range.begin; i < range.end; ++i) {
      data.L[model.row_start[at(i)] + model.row_length[at(i)] - 1] += data.joint_gain[i];
    }
  }
  add_tendon_armature(model, data.scope.tendons, data.tendon_gain, data.L);
  add_servo_gains(model, data, data.L);
  return factorize_rows(model, data.scope.dofs, data.L, data.D_inverse);
}

}  // namespace

bool repeat_free_motion(const Model& model, const State& state, double h, Data& data) {
  sum_servo_actuation(model, data);
  const bool ok = factorize_motion(model, data);
  over(data.scope.dofs, [&](int i, int n) {
    data.smooth_force.segment(i, n) = data.passive_force.segment(i, n) + data.servo_actuation.segment(i, n);
    data.v_free.segment(i, n) = h * data.smooth_force.segment(i, n);
  });
  solve(model, data, data.v_free);
  over(data.scope.dofs, [&](int i, int n) { data.v_free.segment(i, n) += state.v.segment(i, n); });
  return ok;
}

bool compute_explicit_motion(const Model& model, const Parameters& parameters, const State& state, const Input& input,
                             double h, Data& data, Kinematics kinematics) {
  compute_smooth_force(model, parameters, state, input, h, data, kinematics);
  data.joint_gain.setZero();
  data.tendon_gain.setZero();
  data.tendon_block_gain.setZero();
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
  copy_rows(model, data.scope.dofs, data.M, L);
  data.damped.D_inverse.resize(model.nv);
  const double scale = model.options.dampers_enabled ? h : 0.0;
  for (const IndexRange& range : data.scope.dofs) {
    for (int i = range.begin; i < range.end; ++i) {
      L[model.row_start[at(i)] + model.row_length[at(i)] - 1] += scale * parameters.dof_damping[i];
    }
  }
  if (!joints_alone) {
    for (const int t : data.scope.tendons) {
      data.tendon_gain[t] = data.tendon_on_path[at(t)] != 0 ? scale * parameters.tendon_damping[t] : 0.0;
    }
    add_tendon_armature(model, data.scope.tendons, data.tendon_gain, L);
    for (const int u : data.scope.actuators) {
      if (!model.options.actuation_enabled || !fits_tree(model, data, u) ||
          is_beyond(data.actuator_law[u], servo_range(model, data, u)))
        continue;
      data.servo_gain[u] = h * servo_gains(model, parameters, data, u).kd;
      if (data.servo_gain[u] > 0.0) data.servo_mode[at(u)] = ServoMode::kImplicit;
    }
    add_servo_gains(model, data, L);
  }
  return factorize_rows(model, data.scope.dofs, L, data.damped.D_inverse);
}

bool factorize_stiff(const Model& model, const Parameters& parameters, double time, const Data& data,
                     TreeFactor& factor) {
  VectorX& L = factor.L;
  bool any = false;
  copy_rows(model, data.scope.dofs, data.M, L);
  for (const IndexRange& range : data.scope.joints) {
    for (int j = range.begin; j < range.end && model.options.springs_enabled; ++j) {
      const double k = time * time * parameters.joint_stiffness[j];
      if (!(k > 0.0)) continue;
      any = true;
      const int dof = model.joint_dof[at(j)];
      for (int i = dof; i < dof + dof_count(model.joints[at(j)].type); ++i) {
        L[model.row_start[at(i)] + model.row_length[at(i)] - 1] += k;
      }
    }
  }
  for (const int t : data.scope.tendons) {
    if (!model.options.springs_enabled) break;
    const double k = time * time * parameters.tendon_stiffness[t];
    const bool is_slack = tendon_stretch(parameters, t, data.tendon_length[t]) == 0.0;
    if (!(k > 0.0) || is_slack || data.tendon_on_path[at(t)] == 0) continue;
    any = true;
    add_tendon(model, t, k, L);
  }
  for (const int u : data.scope.actuators) {
    if (!model.options.actuation_enabled || !fits_tree(model, data, u)) continue;
    const double k = time * time * servo_gains(model, parameters, data, u).kp;
    if (!(k > 0.0) || is_beyond(data.actuator_law[u], servo_range(model, data, u))) continue;
    any = true;
    add_servo_gain(model, data, u, k, L);
  }
  factor.D_inverse.resize(model.nv);
  return any && factorize_rows(model, data.scope.dofs, L, factor.D_inverse);
}

void damper_impulse(const Model& model, const Parameters& parameters, const Data& data, const ConstVectorRef& v_next,
                    double h, VectorRef impulse, bool with_blocks) {
  const double scale = model.options.dampers_enabled ? -h : 0.0;
  over(data.scope.dofs, [&](int i, int n) {
    impulse.segment(i, n) = scale * parameters.dof_damping.segment(i, n).cwiseProduct(v_next.segment(i, n));
  });
  if (!model.options.dampers_enabled) return;
  for (const int t : data.scope.tendons) {
    const double d = parameters.tendon_damping[t];
    if (d == 0.0 || (!with_blocks && data.tendon_block_gain[t] > 0.0)) continue;
    double rate = 0.0;
    for (const Tendon::Term& term : model.tendons[at(t)].terms) {
      rate += term.coefficient * v_next[model.joint_dof[at(term.joint)]];
    }
    if (data.tendon_on_path[at(t)] == 0 && data.tendon_block_gain[t] == 0.0) rate = data.tendon_velocity[t];
    for (const Tendon::Term& term : model.tendons[at(t)].terms) {
      impulse[model.joint_dof[at(term.joint)]] -= h * d * term.coefficient * rate;
    }
  }
}

}  // namespace touchstone
