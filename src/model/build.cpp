// ModelBuilder::build: orders, resolves and freezes a draft.
#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/printable.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/model/element_trees.hpp"
#include "touchstone/model/reference.hpp"
#include "touchstone/model/validate.hpp"
#include "touchstone/model/warnings.hpp"

namespace touchstone {

namespace {

using Permutation = std::vector<int>;  // old index -> new index

// Bodies depth first, children in the order they were added.
Permutation depth_first_order(const std::vector<Body>& bodies) {
  const int n = static_cast<int>(bodies.size());
  std::vector<int> next_sibling(n, -1), first_child(n, -1);
  for (int i = n - 1; i > 0; --i) {
    next_sibling[i] = first_child[bodies[i].parent];
    first_child[bodies[i].parent] = i;
  }
  Permutation order(n, -1);
  std::vector<int> stack{0};
  int next = 0;
  while (!stack.empty()) {
    const int body = stack.back();
    stack.pop_back();
    order[body] = next++;
    if (body != 0 && next_sibling[body] >= 0) stack.push_back(next_sibling[body]);
    if (first_child[body] >= 0) stack.push_back(first_child[body]);
  }
  return order;
}

// Sorts elements by their body's new number, keeping their order within a body, and renumbers `body`.
template <typename Element>
Permutation sort_by_body(std::vector<Element>& elements, const Permutation& body_order) {
  const int n = static_cast<int>(elements.size());
  std::vector<int> by_body(n);
  for (int i = 0; i < n; ++i) by_body[i] = i;
  for (Element& element : elements) element.body = body_order[element.body];
  std::stable_sort(by_body.begin(), by_body.end(), [&](int a, int b) { return elements[a].body < elements[b].body; });
  Permutation order(n);
  std::vector<Element> sorted;
  sorted.reserve(n);
  for (int i = 0; i < n; ++i) {
    order[by_body[i]] = i;
    sorted.push_back(std::move(elements[by_body[i]]));
  }
  elements = std::move(sorted);
  return order;
}

struct Renumbering {
  Permutation body, joint, shape, site;

  static void apply(const Permutation& order, int& index) {
    if (index >= 0) index = order[index];
  }
  void apply(FrameType type, int& index) const {
    switch (type) {
      case FrameType::kBody:
      case FrameType::kBodyInertial:
        apply(body, index);
        break;
      case FrameType::kShape:
        apply(shape, index);
        break;
      case FrameType::kSite:
        apply(site, index);
        break;
      case FrameType::kJoint:
        apply(joint, index);
        break;
      default:
        break;
    }
  }
};

void reorder_bodies(Model& m, const Permutation& order) {
  std::vector<Body> sorted(m.bodies.size());
  for (std::size_t i = 0; i < m.bodies.size(); ++i) sorted[order[i]] = std::move(m.bodies[i]);
  m.bodies = std::move(sorted);
  for (Body& body : m.bodies) Renumbering::apply(order, body.parent);
}

void renumber(Model& m) {
  Renumbering to;
  to.body = depth_first_order(m.bodies);
  reorder_bodies(m, to.body);
  to.joint = sort_by_body(m.joints, to.body);
  to.shape = sort_by_body(m.shapes, to.body);
  to.site = sort_by_body(m.sites, to.body);
  for (Tendon& tendon : m.tendons) {
    for (Tendon::Term& term : tendon.terms) Renumbering::apply(to.joint, term.joint);
  }
  for (Actuator& actuator : m.actuators) {
    const bool on_joint =
        actuator.transmission == TransmissionType::kJoint || actuator.transmission == TransmissionType::kJointInParent;
    const bool on_site =
        actuator.transmission == TransmissionType::kSite || actuator.transmission == TransmissionType::kSliderCrank;
    if (on_joint)
      Renumbering::apply(to.joint, actuator.target);
    else if (on_site)
      Renumbering::apply(to.site, actuator.target);
    Renumbering::apply(to.site, actuator.reference_site);
  }
  for (Equality& equality : m.equalities) {
    const EqualitySides sides = sides_of(equality.type);
    if (sides == EqualitySides::kTendons) continue;
    const Permutation& order = sides == EqualitySides::kJoints ? to.joint : to.body;
    if (equality.coordinate_a < 0) Renumbering::apply(order, equality.a);
    if (equality.coordinate_b < 0) Renumbering::apply(order, equality.b);
  }
  for (LoopJoint& joint : m.loop_joints) {
    Renumbering::apply(to.body, joint.body_a);
    Renumbering::apply(to.body, joint.body_b);
  }
  for (ContactPair& pair : m.contact_pairs) {
    Renumbering::apply(to.shape, pair.shape_a);
    Renumbering::apply(to.shape, pair.shape_b);
  }
  for (ContactExclusion& exclusion : m.contact_exclusions) {
    Renumbering::apply(to.body, exclusion.body_a);
    Renumbering::apply(to.body, exclusion.body_b);
  }
  for (Sensor& sensor : m.sensors) {
    to.apply(sensor.object_type, sensor.object);
    to.apply(sensor.reference_type, sensor.reference);
  }
}

template <typename Element>
void name_elements(Model& m, ElementKind kind, std::vector<Element>& elements) {
  auto& index = m.names[static_cast<std::size_t>(kind)];
  for (Element& element : elements) element.name = valid_utf8(element.name);  // files may hold any bytes
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!elements[i].name.empty()) index.emplace(elements[i].name, static_cast<int>(i));
  }
  for (std::size_t i = 0; i < elements.size(); ++i) {  // unnamed ones get a name that is free
    if (!elements[i].name.empty()) continue;
    std::string name = fmt::format("{}{}", to_string(kind), i);
    while (index.count(name) != 0) name += '_';
    elements[i].name = name;
    index.emplace(name, static_cast<int>(i));
  }
}

void name_all(Model& m) {
  m.name = valid_utf8(m.name);
  m.names.assign(static_cast<std::size_t>(ElementKind::kLoopJoint) + 1, {});
  name_elements(m, ElementKind::kBody, m.bodies);
  name_elements(m, ElementKind::kJoint, m.joints);
  name_elements(m, ElementKind::kShape, m.shapes);
  name_elements(m, ElementKind::kSite, m.sites);
  name_elements(m, ElementKind::kTendon, m.tendons);
  name_elements(m, ElementKind::kActuator, m.actuators);
  name_elements(m, ElementKind::kSensor, m.sensors);
  name_elements(m, ElementKind::kEquality, m.equalities);
  name_elements(m, ElementKind::kKeyframe, m.keyframes);
  name_elements(m, ElementKind::kLoopJoint, m.loop_joints);
}

void count_elements(Model& m) {
  m.nbody = static_cast<int>(m.bodies.size());
  m.njoint = static_cast<int>(m.joints.size());
  m.nshape = static_cast<int>(m.shapes.size());
  m.nsite = static_cast<int>(m.sites.size());
  m.ntendon = static_cast<int>(m.tendons.size());
  m.nu = static_cast<int>(m.actuators.size());
  m.nq = m.nv = m.na = m.nmocap = 0;
  for (const Joint& joint : m.joints) {
    m.joint_q.push_back(m.nq);
    m.joint_dof.push_back(m.nv);
    m.nq += configuration_size(joint.type);
    m.nv += dof_count(joint.type);
  }
  for (const Actuator& actuator : m.actuators) {
    m.activation_index.push_back(actuator.dynamics == ActuatorDynamics::kNone ? -1 : m.na++);
  }
  m.nloop = 0;
  m.loop_coordinate.assign(1, 0);
  for (LoopJoint& joint : m.loop_joints) {
    joint.coordinates.resize(static_cast<std::size_t>(coordinate_count(joint.type)));
    m.nloop += coordinate_count(joint.type);
    m.loop_coordinate.push_back(m.nloop);
  }
}

AxisCode axis_code(const Vector3& axis) {
  if (axis == Vector3::UnitX()) return AxisCode::kX;
  if (axis == Vector3::UnitY()) return AxisCode::kY;
  if (axis == Vector3::UnitZ()) return AxisCode::kZ;
  return AxisCode::kGeneral;
}

JointKernel make_joint_kernel(Model& m, int index) {
  Joint& joint = m.joints[index];
  const bool turns = joint.type == JointType::kHinge || joint.type == JointType::kScrew;
  // A free joint's pose is the body frame itself and a slide has no anchor.
  if (joint.type == JointType::kFree) joint.anchor.setZero();
  // What is a unit vector stays as it is, so that building a built model again changes nothing.
  if (std::abs(joint.axis.squaredNorm() - 1.0) > 4.0 * std::numeric_limits<double>::epsilon()) joint.axis.normalize();
  JointKernel kernel;
  kernel.axis = Vec3(joint.axis);
  kernel.anchor = Vec3(joint.anchor);
  kernel.type = joint.type;
  kernel.axis_code = axis_code(joint.axis);
  kernel.anchored = !joint.anchor.isZero(0.0);
  kernel.q = m.joint_q[index];
  kernel.dof = m.joint_dof[index];
  kernel.reference = joint.reference;
  kernel.pitch = joint.pitch;
  if (turns) {
    kernel.angle = static_cast<int>(m.angle_q.size());
    m.angle_q.push_back(kernel.q);
    m.angle_reference.push_back(joint.reference);
  }
  return kernel;
}

// Body and joint records, dof numbering, trees.
void connect(Model& m) {
  m.body_last_dof.assign(m.nbody, -1);
  m.body_weld.assign(m.nbody, 0);
  m.body_kernels.resize(m.nbody);
  int joint = 0;
  for (int b = 1; b < m.nbody; ++b) {
    const Body& body = m.bodies[b];
    BodyKernel& kernel = m.body_kernels[b];
    kernel.X_PB = Pose(body.pose);
    kernel.rotated = !body.pose.rotation.toRotationMatrix().isIdentity(0.0);
    kernel.parent = body.parent;
    kernel.first_joint = joint;
    kernel.first_dof = joint < m.njoint ? m.joint_dof[joint] : m.nv;
    if (body.mocap) {
      kernel.mocap = m.nmocap++;
      m.mocap_body.push_back(b);
    }
    int last = m.body_last_dof[body.parent];
    kernel.tree = last < 0 ? -1 : m.dof_tree[last];
    for (; joint < m.njoint && m.joints[joint].body == b; ++joint) {
      m.joint_kernels.push_back(make_joint_kernel(m, joint));
      ++kernel.joint_count;
      if (kernel.tree < 0) {
        kernel.tree = m.ntree++;
        m.tree_root.push_back(b);
        m.tree_first_dof.push_back(m.joint_dof[joint]);
      }
      for (int k = 0; k < dof_count(m.joints[joint].type); ++k) {
        const int dof = m.joint_dof[joint] + k;
        m.dof_body.push_back(b);
        m.dof_joint.push_back(joint);
        m.dof_parent.push_back(last);
        m.dof_tree.push_back(kernel.tree);
        last = dof;
        ++kernel.dof_count;
      }
    }
    m.body_last_dof[b] = last;
    m.body_weld[b] = kernel.joint_count > 0 ? b : m.body_weld[body.parent];
  }
  m.tree_first_dof.push_back(m.nv);
}

// Needs the topology, equalities and loop joints.
void find_free_bodies(Model& m) {
  std::vector<char> is_held(static_cast<std::size_t>(m.ntree), 0);
  const auto hold = [&](const auto& element) {
    for (const int tree : trees_of(m, element)) is_held[static_cast<std::size_t>(tree)] = 1;
  };
  for (const Equality& equality : m.equalities) hold(equality);
  for (const LoopJoint& joint : m.loop_joints) hold(joint);
  for (int tree = 0; tree < m.ntree; ++tree) {
    const int first = m.tree_first_dof[tree], joint = m.dof_joint[first];
    const bool is_alone = m.joints[joint].type == JointType::kFree && m.tree_first_dof[tree + 1] - first == 6;
    if (is_alone && is_held[static_cast<std::size_t>(tree)] == 0) m.free_joints.push_back(joint);
  }
}

void lay_out_rows(Model& m) {
  constexpr int kPad = 4;
  constexpr std::int64_t kMostEntries = 100'000'000;  // a chain of 14,000 joints; M and its factor then take 1.6 GB
  m.row_length.resize(m.nv);
  m.row_start.assign(m.nv + 1, 0);
  std::int64_t total = 0;
  for (int i = 0; i < m.nv; ++i) {
    m.row_length[i] = m.dof_parent[i] < 0 ? 1 : m.row_length[m.dof_parent[i]] + 1;
    m.row_start[i] = static_cast<int>(total);
    total += (m.row_length[i] + kPad - 1) / kPad * kPad;
    if (total > kMostEntries) {
      throw InputError({.where = {m.file, 0, m.name},
                        .message = fmt::format("its mass matrix needs more than {} entries", kMostEntries),
                        .remedy = "split the chain: more than 14,000 joints in a row are not supported"});
    }
  }
  m.row_start[m.nv] = static_cast<int>(total);
  m.row_dof.resize(total);
  for (int i = 0; i < m.nv; ++i) {
    int* row = m.row_dof.data() + m.row_start[i];
    const int length = m.row_length[i];
    if (m.dof_parent[i] >= 0) {
      const int* parent_row = m.row_dof.data() + m.row_start[m.dof_parent[i]];
      std::copy(parent_row, parent_row + length - 1, row);
    }
    std::fill(row + length - 1, m.row_dof.data() + m.row_start[i + 1], i);
  }
}

void fill_reference(Model& m) {
  m.reference_q.setZero(m.nq);
  for (int j = 0; j < m.njoint; ++j) {
    const int q = m.joint_q[j];
    switch (m.joints[j].type) {
      case JointType::kFree: {
        const Transform& X = m.bodies[m.joints[j].body].pose;
        m.reference_q.segment<3>(q) = X.position;
        m.reference_q.segment<4>(q + 3) << X.rotation.w(), X.rotation.vec();
        break;
      }
      case JointType::kBall:
        m.reference_q[q] = 1.0;
        break;
      default:
        m.reference_q[q] = m.joints[j].reference;
        break;
    }
  }
}

void fill_body_and_joint_parameters(Model& m) {
  Parameters& p = m.defaults;
  p.body_inertia.resize(m.nbody);
  p.body_gravity_compensation.setZero(m.nbody);
  for (int b = 0; b < m.nbody; ++b) {
    p.set_mass_properties(b, m.bodies[b].inertia);
    p.body_gravity_compensation[b] = m.bodies[b].gravity_compensation;
  }
  p.joint_stiffness.resize(m.njoint);
  p.spring_reference = m.reference_q;
  p.dof_armature.resize(m.nv);
  p.dof_damping.resize(m.nv);
  p.dof_friction.resize(m.nv);
  for (int j = 0; j < m.njoint; ++j) {
    const Joint& joint = m.joints[j];
    const int n = dof_count(joint.type);
    p.joint_stiffness[j] = joint.stiffness;
    if (n == 1) p.spring_reference[m.joint_q[j]] = joint.spring_reference;
    p.dof_armature.segment(m.joint_dof[j], n).setConstant(joint.armature);
    p.dof_damping.segment(m.joint_dof[j], n).setConstant(joint.damping);
    p.dof_friction.segment(m.joint_dof[j], n).setConstant(joint.friction);
  }
}

void fill_tendon_and_shape_parameters(Model& m) {
  Parameters& p = m.defaults;
  p.tendon_stiffness.resize(m.ntendon);
  p.tendon_damping.resize(m.ntendon);
  p.tendon_armature.resize(m.ntendon);
  p.tendon_friction.resize(m.ntendon);
  p.tendon_spring_length.clear();
  for (int t = 0; t < m.ntendon; ++t) {
    const Tendon& tendon = m.tendons[t];
    p.tendon_stiffness[t] = tendon.stiffness;
    p.tendon_damping[t] = tendon.damping;
    p.tendon_armature[t] = tendon.armature;
    p.tendon_friction[t] = tendon.friction;
    const double rest = tendon_length(m, tendon, m.reference_q);
    const bool from_reference = tendon.spring_length == Vector2(-1.0, -1.0);
    p.tendon_spring_length.push_back(from_reference ? Vector2(rest, rest) : tendon.spring_length);
  }
  p.shape_material.clear();
  p.shape_surface_velocity.clear();
  for (const ShapeElement& shape : m.shapes) {
    p.shape_material.push_back(shape.material);
    p.shape_surface_velocity.push_back(shape.surface_velocity);
  }
}

// Armature of a tendon couples its joints in M, whose sparse layout has room only for dofs on one path to the root.
void check_tendon_armature(const Model& m) {
  for (int t = 0; t < m.ntendon; ++t) {
    if (m.tendons[t].armature == 0.0) continue;
    int deepest = 0;
    for (const Tendon::Term& term : m.tendons[t].terms) deepest = std::max(deepest, m.joint_dof[term.joint]);
    const auto path = m.row_dof.begin() + m.row_start[deepest];
    for (const Tendon::Term& term : m.tendons[t].terms) {
      if (std::binary_search(path, path + m.row_length[deepest], m.joint_dof[term.joint])) continue;
      throw InputError({.where = origin_of(m, ElementKind::kTendon, t),
                        .message = fmt::format("its armature couples joints of different branches ('{}')",
                                               m.joints[term.joint].name),
                        .remedy = "give the armature to the joints instead"});
    }
  }
}

void complete_keyframe(const Model& m, Keyframe& key, int index) {
  const auto complete = [&](const char* what, VectorX& given, const VectorX& fallback) {
    if (given.size() == 0) given = fallback;
    const Origin where = origin_of(m, ElementKind::kKeyframe, index);
    if (given.size() != fallback.size()) {
      throw InputError(
          {.where = where,
           .message = fmt::format("{} has {} numbers, the model needs {}", what, given.size(), fallback.size()),
           .remedy = "give all of them or none"});
    }
    if (!given.allFinite()) {
      throw InputError(
          {.where = where, .message = fmt::format("{} is not finite", what), .remedy = "give finite numbers"});
    }
  };
  complete("q", key.q, m.reference_q);
  complete("v", key.v, VectorX::Zero(m.nv));
  complete("activation", key.activation, VectorX::Zero(m.na));
  complete("control", key.control, VectorX::Zero(m.nu));
  complete("loop_q", key.loop_q, m.reference_loop);
  for (std::size_t i = key.mocap.size(); i < static_cast<std::size_t>(m.nmocap); ++i) {
    key.mocap.push_back(m.bodies[m.mocap_body[i]].pose);
  }
}

}  // namespace

Origin origin_of(const Model& model, ElementKind kind, int index) {
  const auto make = [&](const auto& element) {
    Origin origin = element.origin;
    if (origin.element.empty()) origin.element = fmt::format("{} '{}'", to_string(kind), element.name);
    return origin;
  };
  switch (kind) {
    case ElementKind::kBody:
      return make(model.bodies[index]);
    case ElementKind::kJoint:
      return make(model.joints[index]);
    case ElementKind::kShape:
      return make(model.shapes[index]);
    case ElementKind::kSite:
      return make(model.sites[index]);
    case ElementKind::kTendon:
      return make(model.tendons[index]);
    case ElementKind::kActuator:
      return make(model.actuators[index]);
    case ElementKind::kSensor:
      return make(model.sensors[index]);
    case ElementKind::kEquality:
      return make(model.equalities[index]);
    case ElementKind::kKeyframe:
      return make(model.keyframes[index]);
    case ElementKind::kLoopJoint:
      return make(model.loop_joints[index]);
  }
  return {};
}

ModelPtr ModelBuilder::build() const {
  validate_elements(draft_);
  auto model = std::make_shared<Model>(draft_);
  Model& m = *model;
  renumber(m);
  name_all(m);
  count_elements(m);
  connect(m);
  find_free_bodies(m);
  lay_out_rows(m);
  check_tendon_armature(m);
  fill_reference(m);
  if (!m.options.gravity_enabled) m.defaults.gravity.setZero();
  fill_body_and_joint_parameters(m);
  fill_tendon_and_shape_parameters(m);
  finish_with_reference_inertia(m, allow_massless_, massless_option_);
  for (std::size_t k = 0; k < m.keyframes.size(); ++k) complete_keyframe(m, m.keyframes[k], static_cast<int>(k));
  warn_of_gains(m);
  return model;
}

}  // namespace touchstone
