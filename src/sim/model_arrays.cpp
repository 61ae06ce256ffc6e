#include "touchstone/sim/model_arrays.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/gyroscopic.hpp"
#include "touchstone/dynamics/tendon_path.hpp"
#include "touchstone/model/impedance.hpp"
#include "touchstone/model/loop_joint.hpp"
#include "touchstone/sim/array_parts.hpp"
#include "touchstone/sim/backend_features.hpp"
#include "touchstone/sim/constraints/kind.hpp"
#include "touchstone/sim/integrators/loop_velocity.hpp"
#include "touchstone/sim/loop_arrays.hpp"
#include "touchstone/sim/pair_arrays.hpp"
#include "touchstone/sim/reference_weights.hpp"
#include "touchstone/sim/sensor_arrays.hpp"

namespace touchstone {
namespace {

void fill_settings(const Model& model, const SimulatorOptions& options, gpu::ModelSettings& settings) {
  settings.time_step = options.time_step > 0.0 ? options.time_step : model.options.time_step;
  for (int k = 0; k < 3; ++k) settings.gravity[k] = model.defaults.gravity[k];
  const StabilisationOptions& stabilisation = options.stabilisation;
  settings.erp = stabilisation.share_of(StabilisedKind::kContact);
  settings.time_constant = stabilisation.time_constant;
  settings.remaining =
      options.integrator == Integrator::kMoreauMidpoint ? 0.5 * settings.time_step : settings.time_step;
  // As in stage::recover: short steps need no pass each, but every step lets equalities drift.
  if (stabilisation.any_passes())
    settings.pass_interval = model.equalities.empty() && model.loop_joints.empty()
                                 ? std::max(settings.time_step, 0.5 * stabilisation.time_constant)
                                 : settings.time_step;
  settings.slop = options.stabilisation.slop;
  settings.recovery_speed = options.stabilisation.recovery_speed;
  settings.restitution_threshold = options.stabilisation.restitution_threshold;
  settings.contact_margin = options.collision.margin;
  settings.swept_margin = options.swept_margin ? 1 : 0;
  settings.clamp_controls = model.options.clamp_controls ? 1 : 0;
}

// Lists one after another: where each starts, and all of them.
void flatten(const std::vector<std::vector<int>>& lists, std::vector<int>& start, std::vector<int>& all) {
  start.push_back(0);
  for (const std::vector<int>& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
    start.push_back(static_cast<int>(all.size()));
  }
}

// Bodies by their depth in the tree, their children, and their ancestors 1, 2, 4 ... levels up.
void fill_levels(const Model& model, gpu::ModelArrays& a) {
  std::vector<std::vector<int>> levels, children(at(model.nbody));
  std::vector<int> depth(at(model.nbody), -1);
  for (int b = 1; b < model.nbody; ++b) {
    const int parent = model.bodies[at(b)].parent;
    depth[at(b)] = depth[at(parent)] + 1;
    if (levels.size() <= at(depth[at(b)])) levels.emplace_back();
    levels[at(depth[at(b)])].push_back(b);
    children[at(parent)].push_back(b);
  }
  flatten(levels, a.level_start, a.level_body);
  flatten(children, a.child_start, a.child_body);
  a.sizes.levels = static_cast<int>(levels.size());
  std::vector<int> jump(at(model.nbody), 0);
  for (int b = 1; b < model.nbody; ++b) jump[at(b)] = model.bodies[at(b)].parent;
  while (std::any_of(jump.begin(), jump.end(), [](int ancestor) { return ancestor > 0; })) {
    a.body_jump.insert(a.body_jump.end(), jump.begin(), jump.end());
    const std::vector<int> last = jump;
    for (int& ancestor : jump) ancestor = last[at(ancestor)];
    ++a.sizes.jumps;
  }
}

void fill_bodies(const Model& model, gpu::ModelArrays& a) {
  a.sizes.bodies = model.nbody;
  for (int b = 0; b < model.nbody; ++b) {
    const BodyKernel& kernel = model.body_kernels[at(b)];
    const BodyInertia& inertia = model.defaults.body_inertia[at(b)];
    a.body_parent.push_back(kernel.parent);
    a.body_root.push_back(kernel.tree < 0 ? 0 : model.tree_root[at(kernel.tree)]);
    a.body_first_joint.push_back(kernel.first_joint);
    a.body_last_dof.push_back(model.body_last_dof[at(b)]);
    push(a.body_pose, model.bodies[at(b)].pose);
    a.body_mass.push_back(inertia.mass);
    push(a.body_com, inertia.com.eigen());
    push(a.body_inertia, inertia.inertia.eigen());
  }
  // Bodies without joints may hold any number: the joints of a body end where those of the next begin.
  a.body_first_joint.assign(at(model.nbody + 1), model.njoint);
  for (int j = model.njoint - 1; j >= 0; --j) a.body_first_joint[at(model.joints[at(j)].body)] = j;
  for (int b = model.nbody - 1; b >= 0; --b) {
    const bool has_joint = model.body_kernels[at(b)].joint_count > 0;
    if (!has_joint) a.body_first_joint[at(b)] = a.body_first_joint[at(b + 1)];
  }
  fill_levels(model, a);
}

// As in MuJoCo, without springs and dampers there is no gravity compensation either.
void fill_compensation(const Model& model, gpu::ModelArrays& a) {
  const bool enabled = model.options.springs_enabled || model.options.dampers_enabled;
  a.body_compensation.assign(at(model.nbody), 0.0);
  for (int b = 1; b < model.nbody && enabled; ++b)
    a.body_compensation[at(b)] = model.defaults.body_gravity_compensation[b];
  const bool any =
      std::any_of(a.body_compensation.begin(), a.body_compensation.end(), [](double x) { return x != 0.0; });
  a.zero_wrench.assign(any ? at(6 * model.nbody) : 0, 0.0);
}

void fill_mocap(const Model& model, gpu::ModelArrays& a) {
  a.sizes.mocaps = model.nmocap;
  a.mocap_body = model.mocap_body;
  for (const int body : model.mocap_body) {
    const Transform& X = model.bodies[at(body)].pose;
    push(a.mocap_pose, X.position);
    a.mocap_pose.insert(a.mocap_pose.end(), {X.rotation.w(), X.rotation.x(), X.rotation.y(), X.rotation.z()});
  }
}

void fill_joints(const Model& model, const ReferenceWeights& weights, gpu::ModelArrays& a) {
  const bool springs = model.options.springs_enabled;
  a.sizes.joints = model.njoint;
  a.sizes.nq = model.nq;
  for (int j = 0; j < model.njoint; ++j) {
    const Joint& joint = model.joints[at(j)];
    const JointKernel& kernel = model.joint_kernels[at(j)];
    a.joint_type.push_back(static_cast<int>(joint.type));
    a.joint_q.push_back(model.joint_q[at(j)]);
    a.joint_dof.push_back(model.joint_dof[at(j)]);
    const bool is_free_body =
        std::find(model.free_joints.begin(), model.free_joints.end(), j) != model.free_joints.end();
    a.joint_spins.push_back(is_free_body && conserves_spin(model, model.defaults, j) ? 1 : 0);
    push(a.joint_axis, kernel.axis.eigen());
    push(a.joint_anchor, kernel.anchor.eigen());
    a.joint_reference.push_back(kernel.reference);
    a.joint_pitch.push_back(joint.type == JointType::kScrew ? kernel.pitch : 0.0);
    a.joint_stiffness.push_back(springs ? model.defaults.joint_stiffness[j] : 0.0);
    if (!joint.limited || !model.options.limits_enabled || joint.type == JointType::kFree) continue;
    a.limit_joint.push_back(j);
    push(a.limit_range, joint.range);
    a.limit_margin.push_back(joint.limit_margin);
  }
  a.sizes.limits = static_cast<int>(a.limit_joint.size());
  for (int b = 0; b <= model.nbody; ++b) {
    const int j = a.body_first_joint[at(b)];
    a.body_first_dof.push_back(j < model.njoint ? model.joint_dof[at(j)] : model.nv);
  }
  push(a.spring_reference, model.defaults.spring_reference);
  push(a.reference_q, model.reference_q);
  push(a.dof_length, weights.dof_length);
  push(a.dof_weight, weights.dof);
}

// In which order the entries of the mass matrix are computed when it is factored (gpu/inertia.hpp).
void fill_factor_order(const Model& model, gpu::ModelArrays& a) {
  for (int i = 0; i < model.nv; ++i) a.dof_end.push_back(i + 1);
  for (int i = model.nv - 1; i >= 0; --i) {
    const int parent = model.dof_parent[at(i)];
    if (parent >= 0) a.dof_end[at(parent)] = std::max(a.dof_end[at(parent)], a.dof_end[at(i)]);
  }
  a.dof_near_end = a.dof_end;
  for (int i = 0; i < model.nv; ++i) {
    const int joint = model.dof_joint[at(i)], first = model.joint_dof[at(joint)];
    if (model.joints[at(joint)].type != JointType::kFree || model.dof_parent[at(first)] >= 0) continue;
    a.dof_near_end[at(i)] = first + gpu::kFreeDofs;
    a.base_dof.push_back(i);
    for (int k = a.row_start[at(i)]; k < a.row_start[at(i + 1)]; ++k) {
      a.base_entry.push_back(k);
      a.base_entry_dof.push_back(i);
    }
  }
  a.sizes.base_dofs = static_cast<int>(a.base_dof.size());
  a.sizes.base_entries = static_cast<int>(a.base_entry.size());
  for (int depth = 0; depth < a.sizes.depths; ++depth) {
    a.order_start.push_back(static_cast<int>(a.order_entry.size()));
    for (int k = a.depth_start[at(depth)]; k < a.depth_start[at(depth + 1)]; ++k) {
      const int i = a.depth_dof[at(k)];
      for (int entry = a.row_start[at(i)]; entry < a.row_start[at(i + 1)]; ++entry) {
        a.order_entry.push_back(entry);
        a.order_dof.push_back(i);
      }
    }
  }
  a.order_start.push_back(static_cast<int>(a.order_entry.size()));
}

void fill_dofs(const Model& model, gpu::ModelArrays& a) {
  a.sizes.nv = model.nv;
  a.dof_joint = model.dof_joint;
  a.dof_body = model.dof_body;
  a.dof_parent = model.dof_parent;
  const Parameters& p = model.defaults;
  push(a.dof_armature, p.dof_armature);
  push(a.dof_damping, model.options.dampers_enabled ? p.dof_damping : VectorX(VectorX::Zero(model.nv)));
  push(a.dof_friction, model.options.friction_loss_enabled ? p.dof_friction : VectorX(VectorX::Zero(model.nv)));
  a.row_start.push_back(0);
  for (int i = 0; i < model.nv; ++i) {
    const int* row = model.row_dof.data() + model.row_start[at(i)];
    a.row_dof.insert(a.row_dof.end(), row, row + model.row_length[at(i)]);
    a.row_start.push_back(static_cast<int>(a.row_dof.size()));
  }
  a.sizes.mass_entries = a.row_start.back();
  std::vector<std::vector<int>> depths;
  for (int i = 0; i < model.nv; ++i) {
    const std::size_t ancestors = at(model.row_length[at(i)] - 1);
    if (depths.size() <= ancestors) depths.resize(ancestors + 1);
    depths[ancestors].push_back(i);
  }
  flatten(depths, a.depth_start, a.depth_dof);
  a.sizes.depths = static_cast<int>(depths.size());
  fill_factor_order(model, a);
}

void fill_tendons(const Model& model, const ReferenceWeights& weights, gpu::ModelArrays& a) {
  a.tendon_start.push_back(0);
  for (int t = 0; t < model.ntendon; ++t) {
    const Tendon& tendon = model.tendons[at(t)];
    if (!tendon.limited || !model.options.limits_enabled) continue;
    for (const Tendon::Term& term : tendon.terms) {
      a.tendon_dof.push_back(model.joint_dof[at(term.joint)]);
      a.tendon_q.push_back(model.joint_q[at(term.joint)]);
      a.tendon_coefficient.push_back(term.coefficient);
    }
    a.tendon_start.push_back(static_cast<int>(a.tendon_dof.size()));
    push(a.tendon_range, tendon.range);
    a.tendon_margin.push_back(tendon.limit_margin);
    a.tendon_length.push_back(weights.tendon_length[t]);
  }
  a.sizes.tendon_limits = static_cast<int>(a.tendon_margin.size());
}

void fill_tendon_springs(const Model& model, gpu::ModelArrays& a) {
  const Parameters& p = model.defaults;
  a.spring_start.push_back(0);
  for (int t = 0; t < model.ntendon; ++t) {
    const double stiffness = model.options.springs_enabled ? p.tendon_stiffness[t] : 0.0;
    const double damping = model.options.dampers_enabled ? p.tendon_damping[t] : 0.0;
    if (stiffness == 0.0 && damping == 0.0) continue;
    for (const Tendon::Term& term : model.tendons[at(t)].terms) {
      a.spring_dof.push_back(model.joint_dof[at(term.joint)]);
      a.spring_q.push_back(model.joint_q[at(term.joint)]);
      a.spring_coefficient.push_back(term.coefficient);
    }
    a.spring_start.push_back(static_cast<int>(a.spring_dof.size()));
    a.spring_numbers.insert(a.spring_numbers.end(), {stiffness, damping});
    push(a.spring_numbers, p.tendon_spring_length[at(t)]);
    ++a.sizes.tendon_springs;
  }
}

bool is_at_tendon(const Actuator& actuator) { return actuator.transmission == TransmissionType::kTendon; }
bool is_at_loop(const Actuator& actuator) { return actuator.transmission == TransmissionType::kLoopJoint; }

// What the actuator's own limits and that of the joint, which no other actuator moves, leave for its force.
Vector2 force_range(const Model& model, const Actuator& actuator) {
  if (is_at_tendon(actuator) || is_at_loop(actuator))
    return actuator.force_limited ? actuator.force_range : Vector2(-kInfinity, kInfinity);
  const Joint& joint = model.joints[at(actuator.target)];
  Vector2 range = actuator.force_limited ? actuator.force_range : Vector2(-kInfinity, kInfinity);
  if (!joint.actuator_force_limited || actuator.gear[0] == 0.0)
    return actuator.force_limited ? range : actuator.force_range;
  const Vector2 shared = joint.actuator_force_range / actuator.gear[0];
  const double low = shared.minCoeff(), high = shared.maxCoeff();
  return {std::clamp(range[0], low, high), std::clamp(range[1], low, high)};
}

// What an actuator moves, and the length of the row that its block would have.
void fill_transmission(const Model& model, const ReferenceWeights& weights, int u, double gear, gpu::ModelArrays& a) {
  const Actuator& actuator = model.actuators[at(u)];
  if (is_at_loop(actuator)) {
    a.actuator_dof.push_back(-2);
    a.actuator_q.push_back(add_loop_actuator(model, u, a));
    a.actuator_row_length.push_back(1.0);  // it follows from the moments of a step
    return;
  }
  if (!is_at_tendon(actuator)) {
    const int dof = model.joint_dof[at(actuator.target)];
    a.actuator_dof.push_back(dof);
    a.actuator_q.push_back(model.joint_q[at(actuator.target)]);
    a.actuator_row_length.push_back(gear != 0.0 ? weights.dof_length[dof] / std::abs(gear) : 1.0);
    return;
  }
  ++a.sizes.tendon_actuators;
  a.actuator_dof.push_back(-1);
  a.actuator_q.push_back(-1);
  VectorX moment = VectorX::Zero(model.nv);
  for (const Tendon::Term& term : model.tendons[at(actuator.target)].terms) {
    const int dof = model.joint_dof[at(term.joint)];
    a.pull_dof.push_back(dof);
    a.pull_q.push_back(model.joint_q[at(term.joint)]);
    a.pull_coefficient.push_back(term.coefficient);
    moment[dof] += gear * term.coefficient / weights.dof_length[dof];
  }
  a.actuator_row_length.push_back(moment.isZero(0.0) ? 1.0 : 1.0 / moment.norm());
}

// At a loop joint: 0 where no gear moves anything, else 1.
double gear_of(const Model& model, const Actuator& actuator) {
  if (!is_at_loop(actuator)) return actuator.gear[0];
  const int count = coordinate_count(model.loop_joints[at(actuator.target)].type);
  return std::any_of(actuator.gear.begin(), actuator.gear.begin() + count, [](double gear) { return gear != 0.0; })
             ? 1.0
             : 0.0;
}

int flags_of(const Model& model, const Actuator& actuator) {
  const bool joins =
      is_at_loop(actuator) || (is_at_tendon(actuator) && !is_on_path(model, model.tendons[at(actuator.target)]));
  const bool shares = !is_at_tendon(actuator) && !is_at_loop(actuator) &&
                      model.joints[at(actuator.target)].actuator_force_limited && actuator.gear[0] != 0.0;
  return (actuator.control_limited ? gpu::kControlLimited : 0) |
         (actuator.force_limited || shares ? gpu::kForceLimited : 0) |
         (actuator.activation_limited ? gpu::kActivationLimited : 0) |
         (actuator.early_activation ? gpu::kEarlyActivation : 0) |
         (actuator.gain_type == ActuatorGain::kAffine ? gpu::kAffineGain : 0) |
         (actuator.bias_type == ActuatorBias::kAffine ? gpu::kAffineBias : 0) | (joins ? gpu::kJoinsBranches : 0);
}

void fill_actuators(const Model& model, const ReferenceWeights& weights, gpu::ModelArrays& a) {
  a.sizes.nu = model.nu;
  a.sizes.na = model.na;
  const Parameters& p = model.defaults;
  for (int u = 0; u < model.nu; ++u) {
    const Actuator& actuator = model.actuators[at(u)];
    const double gear = model.options.actuation_enabled ? gear_of(model, actuator) : 0.0;
    a.pull_start.push_back(static_cast<int>(a.pull_dof.size()));
    fill_transmission(model, weights, u, gear, a);
    a.actuator_activation.push_back(model.activation_index[at(u)]);
    a.actuator_dynamics.push_back(static_cast<int>(actuator.dynamics));
    a.actuator_flags.push_back(flags_of(model, actuator));
    a.actuator_gear.push_back(gear);
    a.actuator_gain.insert(a.actuator_gain.end(), p.actuator_gain[at(u)].begin(), p.actuator_gain[at(u)].end());
    a.actuator_bias.insert(a.actuator_bias.end(), p.actuator_bias[at(u)].begin(), p.actuator_bias[at(u)].end());
    push(a.actuator_control_range, actuator.control_range);
    push(a.actuator_force_range, force_range(model, actuator));
    push(a.actuator_activation_range, actuator.activation_range);
    a.actuator_time_constant.push_back(actuator.time_constant);
  }
  a.pull_start.push_back(static_cast<int>(a.pull_dof.size()));
  if (a.sizes.tendon_actuators == 0) a.pull_start.clear();
  a.dof_actuator_start.push_back(0);
  for (int i = 0; i < model.nv; ++i) {
    for (int u = 0; u < model.nu; ++u) {
      if (a.actuator_dof[at(u)] == i) a.dof_actuator.push_back(u);
    }
    a.dof_actuator_start.push_back(static_cast<int>(a.dof_actuator.size()));
  }
}

int count_friction_rows(const gpu::ModelArrays& a) {
  int rows = 0;
  for (const double friction : a.dof_friction) rows += friction > 0.0 ? 1 : 0;
  return rows;
}

int count_single_rows(const gpu::ModelArrays& a) {
  int rows = 2 * (a.sizes.limits + a.sizes.tendon_limits + a.sizes.loop_limits) + a.sizes.friction_rows;
  for (const int flags : a.actuator_flags) {
    const bool is_servo = (flags & (gpu::kAffineGain | gpu::kAffineBias)) != 0;
    rows += is_servo && (flags & (gpu::kForceLimited | gpu::kJoinsBranches)) != 0 ? 1 : 0;
  }
  return rows;
}

}  // namespace

std::vector<std::string> unsupported_features(const Model& model, const SimulatorOptions& options) {
  return complaints_of(model, options, find_backend_pairs(model));
}

gpu::ModelArrays make_model_arrays(const Model& model, const SimulatorOptions& options) {
  const std::vector<BackendPair> pairs = find_backend_pairs(model);
  const std::vector<std::string> complaints = complaints_of(model, options, pairs);
  if (!complaints.empty()) {
    constexpr std::size_t kNamed = 5;
    std::string names;
    for (std::size_t k = 0; k < std::min(kNamed, complaints.size()); ++k) names += (k == 0 ? "" : "; ") + complaints[k];
    if (complaints.size() > kNamed) names += fmt::format("; and {} more", complaints.size() - kNamed);
    throw Error(
        "model '{}' has what the batched backend does not support: {}; step it with Simulator or Batch on the "
        "processor (docs/gpu.md)",
        model.name, names);
  }
  const ReferenceWeights weights(model);
  gpu::ModelArrays a;
  fill_settings(model, options, a.settings);
  fill_bodies(model, a);
  fill_compensation(model, a);
  fill_mocap(model, a);
  fill_joints(model, weights, a);
  fill_dofs(model, a);
  fill_tendons(model, weights, a);
  fill_tendon_springs(model, a);
  fill_coordinates(model, weights, a);
  fill_loops(model, weights, a);
  fill_actuators(model, weights, a);
  fill_pairs(model, pairs, weights, a);
  fill_sensors(model, options, a);
  a.sizes.friction_rows = count_friction_rows(a) + a.sizes.loop_frictions;
  a.sizes.single_rows = count_single_rows(a);
  // As in stage::begin: beside mocap bodies no velocity is taken to be what the step before has left.
  const bool is_midpoint = options.integrator == Integrator::kMoreauMidpoint;
  if (is_midpoint && may_have_loops(model) && model.nmocap == 0) a.sizes.old_velocity = 4 * model.nv;
  return a;
}

}  // namespace touchstone
