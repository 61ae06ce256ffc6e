#include "touchstone/sim/model_arrays.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/collision/narrow/convex.hpp"
#include "touchstone/dynamics/gyroscopic.hpp"
#include "touchstone/gpu/convex_manifold.hpp"
#include "touchstone/model/impedance.hpp"
#include "touchstone/sim/backend_features.hpp"
#include "touchstone/sim/constraints/kind.hpp"
#include "touchstone/sim/constraints/loop.hpp"
#include "touchstone/sim/detection/material.hpp"
#include "touchstone/sim/reference_weights.hpp"
#include "touchstone/sim/sensor_arrays.hpp"

namespace touchstone {
namespace {

constexpr double kImmovable = 1e-9;       // see sim/constraints/contact.cpp
constexpr double kLoopCompliance = 1e-9;  // see sim/models/hard.cpp

void push(std::vector<double>& to, const Vector3& v) { to.insert(to.end(), {v.x(), v.y(), v.z()}); }
void push(std::vector<double>& to, const Vector2& v) { to.insert(to.end(), {v.x(), v.y()}); }
void push(std::vector<double>& to, const Matrix3& m) {
  for (int column = 0; column < 3; ++column) push(to, Vector3(m.col(column)));
}
void push(std::vector<double>& to, const Transform& X) {
  push(to, Matrix3(X.rotation.normalized().toRotationMatrix()));
  push(to, X.position);
}
void push(std::vector<double>& to, const VectorX& v) { to.insert(to.end(), v.data(), v.data() + v.size()); }

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

// What the actuator's own limits and that of the joint, which no other actuator moves, leave for its force.
Vector2 force_range(const Model& model, const Actuator& actuator) {
  const Joint& joint = model.joints[at(actuator.target)];
  Vector2 range = actuator.force_limited ? actuator.force_range : Vector2(-kInfinity, kInfinity);
  if (!joint.actuator_force_limited || actuator.gear[0] == 0.0)
    return actuator.force_limited ? range : actuator.force_range;
  const Vector2 shared = joint.actuator_force_range / actuator.gear[0];
  const double low = shared.minCoeff(), high = shared.maxCoeff();
  return {std::clamp(range[0], low, high), std::clamp(range[1], low, high)};
}

// What rotations of two bodies against each other are measured in.
double rotation_length(const Model& model, const ReferenceWeights& weights, int a, int b) {
  const bool moves_a = model.body_last_dof[at(a)] >= 0, moves_b = model.body_last_dof[at(b)] >= 0;
  const double of_a = weights.body_length[at(a)], of_b = weights.body_length[at(b)];
  if (moves_a && moves_b) return std::min(of_a, of_b);
  return moves_a ? of_a : of_b;
}

double equality_length(const Model& model, const ReferenceWeights& weights, const Equality& e, int row) {
  if (e.type == EqualityType::kJoint) return weights.dof_length[model.joint_dof[at(e.a)]];
  if (e.type == EqualityType::kConnect || row < 3) return 1.0;
  return rotation_length(model, weights, e.a, std::max(e.b, 0));
}

void fill_equalities(const Model& model, const ReferenceWeights& weights, gpu::ModelArrays& a) {
  int rows = 0;
  for (const Equality& e : model.equalities) {
    if (!e.active || !model.options.equalities_enabled) continue;
    const bool is_joint = e.type == EqualityType::kJoint;
    const int count = is_joint ? 1 : (e.type == EqualityType::kConnect ? 3 : 6);
    a.equality_type.push_back(is_joint ? gpu::kJointEquality
                                       : (count == 3 ? gpu::kConnectEquality : gpu::kWeldEquality));
    a.equality_a.push_back(e.a);
    a.equality_b.push_back(is_joint ? e.b : std::max(e.b, 0));
    a.equality_row.push_back(rows);
    push(a.equality_data, e.anchor_a);
    push(a.equality_data, e.anchor_b);
    push(a.equality_data, e.relative_pose);
    a.equality_data.push_back(e.torque_scale);
    a.equality_data.insert(a.equality_data.end(), e.polynomial.begin(), e.polynomial.end());
    for (int r = 0; r < count; ++r) {
      a.equality_of_row.push_back(static_cast<int>(a.equality_type.size()) - 1);
      a.equality_compliance.push_back(kLoopCompliance * equality_weight(model, weights, e, r));
      a.equality_length.push_back(equality_length(model, weights, e, r));
    }
    rows += count;
  }
  a.sizes.equalities = static_cast<int>(a.equality_type.size());
  a.sizes.equality_rows = rows;
}

void fill_actuators(const Model& model, const ReferenceWeights& weights, gpu::ModelArrays& a) {
  a.sizes.nu = model.nu;
  a.sizes.na = model.na;
  const Parameters& p = model.defaults;
  for (int u = 0; u < model.nu; ++u) {
    const Actuator& actuator = model.actuators[at(u)];
    const int dof = model.joint_dof[at(actuator.target)];
    const double gear = model.options.actuation_enabled ? actuator.gear[0] : 0.0;
    const bool shares = model.joints[at(actuator.target)].actuator_force_limited && actuator.gear[0] != 0.0;
    a.actuator_dof.push_back(dof);
    a.actuator_q.push_back(model.joint_q[at(actuator.target)]);
    a.actuator_activation.push_back(model.activation_index[at(u)]);
    a.actuator_dynamics.push_back(static_cast<int>(actuator.dynamics));
    a.actuator_flags.push_back((actuator.control_limited ? gpu::kControlLimited : 0) |
                               (actuator.force_limited || shares ? gpu::kForceLimited : 0) |
                               (actuator.activation_limited ? gpu::kActivationLimited : 0) |
                               (actuator.early_activation ? gpu::kEarlyActivation : 0) |
                               (actuator.gain_type == ActuatorGain::kAffine ? gpu::kAffineGain : 0) |
                               (actuator.bias_type == ActuatorBias::kAffine ? gpu::kAffineBias : 0));
    a.actuator_gear.push_back(gear);
    a.actuator_gain.insert(a.actuator_gain.end(), p.actuator_gain[at(u)].begin(), p.actuator_gain[at(u)].end());
    a.actuator_bias.insert(a.actuator_bias.end(), p.actuator_bias[at(u)].begin(), p.actuator_bias[at(u)].end());
    push(a.actuator_control_range, actuator.control_range);
    push(a.actuator_force_range, force_range(model, actuator));
    push(a.actuator_activation_range, actuator.activation_range);
    a.actuator_time_constant.push_back(actuator.time_constant);
    a.actuator_row_length.push_back(gear != 0.0 ? weights.dof_length[dof] / std::abs(gear) : 1.0);
  }
  a.dof_actuator_start.push_back(0);
  for (int i = 0; i < model.nv; ++i) {
    for (int u = 0; u < model.nu; ++u) {
      if (a.actuator_dof[at(u)] == i) a.dof_actuator.push_back(u);
    }
    a.dof_actuator_start.push_back(static_cast<int>(a.dof_actuator.size()));
  }
}

// The radius of a ball around the origin of a shape.
double ball_radius(const Shape& shape) {
  switch (shape.type) {
    case ShapeType::kSphere:
      return shape.size[0];
    case ShapeType::kCapsule:
      return shape.size[0] + shape.size[1];
    case ShapeType::kBox:
      return shape.size.norm();
    case ShapeType::kEllipsoid:
      return shape.size.maxCoeff();
    case ShapeType::kCylinder:
      return std::hypot(shape.size[0], shape.size[1]);
    case ShapeType::kMesh: {
      double radius = 0.0;
      for (const Vector3& v : shape.mesh->vertices) radius = std::max(radius, v.norm());
      return radius;
    }
    case ShapeType::kHeightField: {
      const HeightField& field = *shape.height_field;
      double height = field.base;
      for (const double value : field.values) height = std::max(height, std::abs(field.elevation * value));
      return Vector3(field.radius_x, field.radius_y, height).norm();
    }
    default:
      return 0.0;
  }
}

int most_points(int kind_a, int kind_b) {
  if (gpu::is_iterated(kind_a, kind_b)) return 4;
  if (kind_a > kind_b) std::swap(kind_a, kind_b);
  const bool flat = kind_a == gpu::kPlaneShape;
  if (kind_b == gpu::kBoxShape) return kind_a == gpu::kSphereShape ? 1 : (kind_a == gpu::kCapsuleShape ? 2 : 4);
  return kind_b == gpu::kCapsuleShape && (flat || kind_a == gpu::kCapsuleShape) ? 2 : 1;
}

// What a free joint at the root of a body's tree alone lets a point of it move, by the reference weights; 0 without
// one.
double free_mobility(const Model& model, const ReferenceWeights& weights, int body) {
  const int tree = model.body_kernels[at(body)].tree;
  if (tree < 0 || model.body_last_dof[at(body)] < 0) return 0.0;
  const int dof = model.row_dof[at(model.row_start[at(model.body_last_dof[at(body)])])];  // the first on its path
  return model.joints[at(model.dof_joint[at(dof)])].type == JointType::kFree ? weights.dof[dof] : 0.0;
}

void append(const std::vector<int>& from, int offset, std::vector<int>& to) {
  for (const int x : from) to.push_back(x + offset);
}

// Adds a hull, with indices into the arrays of all hulls where those are meant.
void fill_hull(const Polytope& hull, gpu::ModelArrays& a) {
  const int vertices = static_cast<int>(hull.vertices.size()), faces = static_cast<int>(hull.face_normals.size());
  if (a.hull_start.empty()) {
    for (std::vector<int>* start :
         {&a.hull_start, &a.hull_edge_start, &a.hull_face_start, &a.hull_loop_start, &a.hull_vertex_face_start})
      start->push_back(0);
  }
  const int first_face = a.hull_face_start.back(), first_edge = static_cast<int>(a.hull_edge.size()),
            first_loop = static_cast<int>(a.hull_loop.size()), first_at = static_cast<int>(a.hull_vertex_face.size());
  for (const Vec3& v : hull.vertices) push(a.hull_vertex, v.eigen());
  for (const Vec3& n : hull.face_normals) push(a.hull_face_normal, n.eigen());
  for (int v = 1; v <= vertices; ++v) {
    a.hull_edge_start.push_back(first_edge + (hull.neighbours.empty() ? 0 : hull.first_neighbour[at(v)]));
    a.hull_vertex_face_start.push_back(first_at + hull.first_vertex_face[at(v)]);
  }
  for (int f = 1; f <= faces; ++f) a.hull_loop_start.push_back(first_loop + hull.first_face_vertex[at(f)]);
  append(hull.neighbours, 0, a.hull_edge);
  append(hull.face_vertices, 0, a.hull_loop);
  append(hull.vertex_faces, first_face, a.hull_vertex_face);
  a.hull_start.push_back(a.hull_start.back() + vertices);
  a.hull_face_start.push_back(first_face + faces);
}

void fill_field(const HeightField& field, gpu::ModelArrays& a) {
  a.field_grid.insert(a.field_grid.end(), {field.rows, field.columns, static_cast<int>(a.field_height.size())});
  double lowest = -field.base, highest = -std::numeric_limits<double>::infinity();
  for (const double value : field.values) {
    const double height = field.elevation * value;
    a.field_height.push_back(height);
    lowest = std::min(lowest, height);
    highest = std::max(highest, height);
  }
  a.field_size.insert(a.field_size.end(), {field.radius_x, field.radius_y, lowest, highest});
  ++a.sizes.fields;
}

bool is_cone(const ContactMaterial& material) {
  return material.dimension > 3 || (material.dimension == 3 && material.friction[0] != material.friction[1]);
}

// Rows of rotation are measured in lengths of the smaller body that moves (sim/constraints/kind.cpp).
void fill_cone(const Model& model, const ReferenceWeights& weights, const BackendPair& pair, gpu::ModelArrays& a) {
  const int body_a = model.shapes[at(pair.shape_a)].body, body_b = model.shapes[at(pair.shape_b)].body;
  const auto& mu = pair.material.friction;
  a.pair_cone.push_back(mu[1] == mu[0] ? 1.0 : mu[1] / mu[0]);
  a.pair_cone.insert(a.pair_cone.end(), mu.begin() + 2, mu.end());
  a.pair_cone.push_back(rotation_length(model, weights, body_a, body_b));
}

void fill_pairs(const Model& model, const std::vector<BackendPair>& pairs, const ReferenceWeights& weights,
                gpu::ModelArrays& a) {
  std::vector<int> index(at(model.nshape), -1);
  std::map<const TriangleMesh*, int> hulls;  // shapes of one mesh share it
  const auto hull_of = [&](const Shape& shape) {
    const auto [place, is_new] = hulls.try_emplace(shape.mesh.get(), static_cast<int>(hulls.size()));
    if (is_new) fill_hull(*ConvexShape::make(shape).polytope(), a);
    return place->second;
  };
  std::map<const HeightField*, int> fields;
  const auto field_of = [&](const Shape& shape) {
    const auto [place, is_new] = fields.try_emplace(shape.height_field.get(), a.sizes.fields);
    if (is_new) fill_field(*shape.height_field, a);
    return place->second;
  };
  const auto shape_of = [&](int element) {
    int& known = index[at(element)];
    if (known >= 0) return known;
    const ShapeElement& shape = model.shapes[at(element)];
    known = a.sizes.shapes++;
    a.shape_type.push_back(backend_shape(shape.shape.type));
    a.shape_body.push_back(shape.body);
    a.shape_element.push_back(element);
    push(a.shape_pose, shape.pose);
    push(a.shape_size, shape.shape.size);
    a.shape_radius.push_back(ball_radius(shape.shape));
    a.shape_hull.push_back(shape.shape.type == ShapeType::kMesh ? hull_of(shape.shape) : -1);
    a.shape_field.push_back(shape.shape.type == ShapeType::kHeightField ? field_of(shape.shape) : -1);
    return known;
  };
  const auto mobility = [&](int element) {
    const int body = model.shapes[at(element)].body;
    const double length = weights.body_length[at(body)];
    return weights.body[at(body)][0] + length * length * weights.body[at(body)][1];
  };
  const bool cones = std::any_of(pairs.begin(), pairs.end(), [](const BackendPair& p) { return is_cone(p.material); });
  a.sizes.cones = cones ? 1 : 0;
  for (const BackendPair& pair : pairs) {
    a.pair_a.push_back(shape_of(pair.shape_a));
    a.pair_b.push_back(shape_of(pair.shape_b));
    a.pair_dimension.push_back(pair.material.dimension);
    a.pair_friction.push_back(pair.material.friction[0]);
    if (cones) fill_cone(model, weights, pair, a);
    a.sizes.contact_rows = std::max(a.sizes.contact_rows, pair.material.dimension);
    a.pair_restitution.push_back(pair.material.restitution);
    a.pair_margin.push_back(pair.margin);
    a.pair_gap.push_back(pair.gap);
    a.pair_mobility.push_back(kImmovable * (mobility(pair.shape_a) + mobility(pair.shape_b)));
    const int body_a = model.shapes[at(pair.shape_a)].body, body_b = model.shapes[at(pair.shape_b)].body;
    const bool one_tree = model.body_kernels[at(body_a)].tree == model.body_kernels[at(body_b)].tree;
    const double free = std::max(free_mobility(model, weights, body_a), free_mobility(model, weights, body_b));
    a.pair_may_lock.push_back(one_tree || free < a.pair_mobility.back() ? 1 : 0);
    if (gpu::is_iterated(a.shape_type[at(a.pair_a.back())], a.shape_type[at(a.pair_b.back())])) ++a.sizes.iterated;
    a.sizes.pair_points += most_points(a.shape_type[at(a.pair_a.back())], a.shape_type[at(a.pair_b.back())]);
  }
  a.sizes.pairs = static_cast<int>(pairs.size());
}

int count_friction_rows(const gpu::ModelArrays& a) {
  int rows = 0;
  for (const double friction : a.dof_friction) rows += friction > 0.0 ? 1 : 0;
  return rows;
}

int count_single_rows(const gpu::ModelArrays& a) {
  int rows = 2 * (a.sizes.limits + a.sizes.tendon_limits) + a.sizes.friction_rows;
  for (const int flags : a.actuator_flags) {
    const bool is_servo = (flags & (gpu::kAffineGain | gpu::kAffineBias)) != 0;
    rows += is_servo && (flags & gpu::kForceLimited) != 0 ? 1 : 0;
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
  fill_equalities(model, weights, a);
  fill_actuators(model, weights, a);
  fill_pairs(model, pairs, weights, a);
  fill_sensors(model, options, a);
  a.sizes.friction_rows = count_friction_rows(a);
  a.sizes.single_rows = count_single_rows(a);
  return a;
}

}  // namespace touchstone
