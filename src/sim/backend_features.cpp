#include "touchstone/sim/backend_features.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "touchstone/base/check.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/collision/narrow/convex.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/dynamics/tendon_path.hpp"
#include "touchstone/gpu/boxes.hpp"
#include "touchstone/gpu/convex.hpp"
#include "touchstone/gpu/loop_rows.hpp"
#include "touchstone/model/impedance.hpp"
#include "touchstone/model/loop_joint.hpp"
#include "touchstone/sim/detection/collision_model.hpp"

namespace touchstone {
namespace {

constexpr int kMostDofs = 128;
constexpr int kMostEqualityRows = 64;

class Complaints {
 public:
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    list_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

bool is_at_joint(const Actuator& actuator) {
  return actuator.transmission == TransmissionType::kJoint || actuator.transmission == TransmissionType::kJointInParent;
}

bool bounces(const Impedance& impedance) { return reference_spring(impedance.solref).is_underdamped(); }

void check_options(const Model& model, const SimulatorOptions& options, Complaints& complaints) {
  const bool is_midpoint = options.integrator == Integrator::kMoreauMidpoint;
  if (options.integrator != Integrator::kSemiImplicitEuler && !is_midpoint)
    complaints.add("integrators other than euler and midpoint");
  const bool has_loops = (model.options.equalities_enabled && !model.equalities.empty()) || !model.loop_joints.empty();
  if (is_midpoint && has_loops && model.nmocap > 0)
    complaints.add("loops with the integrator midpoint beside mocap bodies");
  if (options.constraints != ConstraintModel::kRigid) complaints.add("softened constraints (constraints = mujoco)");
  const StabilisationOptions& s = options.stabilisation;
  if (s.loop_erp >= 0.0 || s.limit_erp >= 0.0 || s.contact_erp >= 0.0)
    complaints.add("an erp for loops, limits or contacts alone");
  if (s.loops == LoopClosing::kClosed && (!model.equalities.empty() || !model.loop_joints.empty()))
    complaints.add("loops that are closed in every step");
  if (s.softens_loops()) complaints.add("loops that give way (loop_softening)");
  if (options.substeps != 1) complaints.add("substeps");
  if (options.accuracy > 0.0) complaints.add("steps in parts (accuracy)");
  if (options.sleep.mode == SleepMode::kOn || (options.sleep.mode == SleepMode::kModel && model.options.sleep_enabled))
    complaints.add("sleep");
  if (model.nv > kMostDofs) complaints.add("{} dofs; at most {}", model.nv, kMostDofs);
  if (model.nv == 0) complaints.add("models in which nothing moves");
  for (const ShapeElement& shape : model.shapes) {
    if ((shape.surface_velocity.array() != 0.0).any()) complaints.add("the moving surface of shape '{}'", shape.name);
    if (shape.material.hertz) complaints.add("Hertz' law of shape '{}'", shape.name);
  }
}

void check_joints(const Model& model, Complaints& complaints) {
  const bool compensated = (model.defaults.body_gravity_compensation.array() != 0.0).any();
  for (const Joint& joint : model.joints) {
    if (compensated && joint.actuator_gravity_compensation)
      complaints.add("gravity compensation by the actuators of joint '{}'", joint.name);
    const auto acts = [&](const Actuator& a) { return is_at_joint(a) && &model.joints[at(a.target)] == &joint; };
    if (joint.actuator_force_limited && std::count_if(model.actuators.begin(), model.actuators.end(), acts) > 1)
      complaints.add("the limit of actuator forces of joint '{}', which has several actuators", joint.name);
    if (joint.limited && model.options.limits_enabled && bounces(joint.limit_impedance))
      complaints.add("the underdamped limit of joint '{}'", joint.name);
  }
  for (int t = 0; t < model.ntendon; ++t) {
    const Tendon& tendon = model.tendons[at(t)];
    const Parameters& p = model.defaults;
    if (p.tendon_armature[t] != 0.0 || p.tendon_friction[t] != 0.0)
      complaints.add("friction or armature of tendon '{}'", tendon.name);
    if ((p.tendon_stiffness[t] != 0.0 || p.tendon_damping[t] != 0.0) && !is_on_path(model, tendon))
      complaints.add("spring or damper of tendon '{}', whose joints do not lie on one path", tendon.name);
    if (tendon.limited && model.options.limits_enabled && bounces(tendon.limit_impedance))
      complaints.add("the underdamped limit of tendon '{}'", tendon.name);
  }
}

// Of an actuator at a tendon: limits that it would share.
void check_pull(const Model& model, const Actuator& actuator, Complaints& complaints) {
  const Tendon& tendon = model.tendons[at(actuator.target)];
  if (tendon.actuator_force_limited)
    complaints.add("actuator '{}' at tendon '{}', whose actuator forces are limited", actuator.name, tendon.name);
  for (const Tendon::Term& term : tendon.terms) {
    const Joint& joint = model.joints[at(term.joint)];
    if (joint.actuator_force_limited)
      complaints.add("actuator '{}', which pulls at joint '{}', whose actuator forces are limited", actuator.name,
                     joint.name);
  }
}

// Of an actuator at a loop joint, the same: it pulls at all joints that move one of the bodies.
void check_loop_drive(const Model& model, const Actuator& actuator, Complaints& complaints) {
  const LoopJoint& loop = model.loop_joints[at(actuator.target)];
  if (!loop.active) complaints.add("actuator '{}' at loop joint '{}', which is not active", actuator.name, loop.name);
  for (const int body : {loop.body_a, loop.body_b}) {
    for (int dof = model.body_last_dof[at(body)]; dof >= 0; dof = model.dof_parent[at(dof)]) {
      const Joint& joint = model.joints[at(model.dof_joint[at(dof)])];
      if (joint.actuator_force_limited)
        complaints.add("actuator '{}', which pulls at joint '{}', whose actuator forces are limited", actuator.name,
                       joint.name);
    }
  }
}

void check_actuators(const Model& model, Complaints& complaints) {
  for (const Actuator& actuator : model.actuators) {
    if (actuator.transmission == TransmissionType::kTendon) {
      check_pull(model, actuator, complaints);
    } else if (actuator.transmission == TransmissionType::kLoopJoint) {
      check_loop_drive(model, actuator, complaints);
    } else if (!is_at_joint(actuator) || !is_scalar(model.joints[at(actuator.target)])) {
      complaints.add("actuator '{}', which does not act at a hinge, slide, screw, fixed tendon or loop joint",
                     actuator.name);
    }
  }
}

// Returns how many rows they have, springs along their coordinates included.
int check_loop_joints(const Model& model, Complaints& complaints) {
  int rows = 0;
  for (const LoopJoint& joint : model.loop_joints) {
    if (!joint.active) continue;
    rows += row_count(joint.type);
    for (const LoopCoordinate& c : joint.coordinates) {
      const double damping = model.options.dampers_enabled ? c.damping : 0.0;
      rows += loop_stiffness(model, c) > 0.0 || damping > 0.0 || c.armature > 0.0 ? 1 : 0;
      if (c.limited && model.options.limits_enabled && bounces(c.limit_impedance))
        complaints.add("the underdamped limit of loop joint '{}'", joint.name);
    }
  }
  return rows;
}

void check_loops(const Model& model, Complaints& complaints) {
  int rows = check_loop_joints(model, complaints);
  for (const Equality& equality : model.equalities) {
    if (!equality.active || !model.options.equalities_enabled) continue;
    if (equality.type == EqualityType::kTendon) complaints.add("equality '{}' of tendons", equality.name);
    rows += equality.type == EqualityType::kWeld ? 6 : (equality.type == EqualityType::kConnect ? 3 : 1);
  }
  if (rows > kMostEqualityRows) complaints.add("{} rows of loops; at most {}", rows, kMostEqualityRows);
}

// What a hull has that is too much.
void check_hull(const ShapeElement& element, Complaints& complaints) {
  const Shape& shape = element.shape;
  if (shape.mesh_collision != MeshCollision::kHull) {
    complaints.add("shape '{}', a mesh that collides as triangles or pieces", element.name);
    return;
  }
  const ConvexShape convex = ConvexShape::make(shape);
  const Polytope* hull = convex.polytope();
  if (hull == nullptr) return complaints.add("shape '{}', whose hull is no polytope", element.name);
  const int vertices = static_cast<int>(hull->vertices.size());
  if (vertices > kMostHullVertices)
    complaints.add("the hull of shape '{}' with {} vertices; at most {}", element.name, vertices, kMostHullVertices);
  int loop = 0;
  for (std::size_t f = 0; f + 1 < hull->first_face_vertex.size(); ++f)
    loop = std::max(loop, hull->first_face_vertex[f + 1] - hull->first_face_vertex[f]);
  if (loop > gpu::kMostLoop)
    complaints.add("the hull of shape '{}' with a face of {} vertices; at most {}", element.name, loop, gpu::kMostLoop);
}

void check_hulls(const Model& model, const std::vector<BackendPair>& pairs, Complaints& complaints) {
  std::vector<char> looked_at(at(model.nshape), 0);
  for (const BackendPair& pair : pairs) {
    for (const int shape : {pair.shape_a, pair.shape_b}) {
      const ShapeElement& element = model.shapes[at(shape)];
      if (element.shape.type == ShapeType::kMesh && looked_at[at(shape)]++ == 0) check_hull(element, complaints);
    }
  }
}

void check_pairs(const Model& model, const std::vector<BackendPair>& pairs, Complaints& complaints) {
  for (const BackendPair& pair : pairs) {
    const ShapeElement &a = model.shapes[at(pair.shape_a)], &b = model.shapes[at(pair.shape_b)];
    const auto complain = [&](std::string_view what) { complaints.add("{} of '{}' and '{}'", what, a.name, b.name); };
    const int kind_a = backend_shape(a.shape.type), kind_b = backend_shape(b.shape.type);
    if (kind_a < 0 || kind_b < 0 || !gpu::is_known_pair(kind_a, kind_b))
      complain(fmt::format("contact {} against {}", to_string(a.shape.type), to_string(b.shape.type)));
    const ContactMaterial& m = pair.material;
    if (m.dimension >= 3 && m.friction[0] == 0.0 && m.friction[1] > 0.0) complain("friction along one direction alone");
    const bool has_directions =
        (m.dimension >= 3 && m.friction[0] != m.friction[1]) || (m.dimension == 6 && m.friction[3] != m.friction[4]);
    if (has_directions && model.options.mujoco_contact_frames) complain("anisotropic friction by MuJoCo's tangents");
    if (m.stiffness > 0.0) complain("compliant contact");
    if (bounces(m.impedance)) complain("the underdamped contact");
  }
}

}  // namespace

int backend_shape(ShapeType type) {
  switch (type) {
    case ShapeType::kPlane:
      return gpu::kPlaneShape;
    case ShapeType::kSphere:
      return gpu::kSphereShape;
    case ShapeType::kCapsule:
      return gpu::kCapsuleShape;
    case ShapeType::kBox:
      return gpu::kBoxShape;
    case ShapeType::kEllipsoid:
      return gpu::kEllipsoidShape;
    case ShapeType::kCylinder:
      return gpu::kCylinderShape;
    case ShapeType::kMesh:
      return gpu::kHullShape;
    case ShapeType::kHeightField:
      return gpu::kFieldShape;
    default:
      return -1;
  }
}

int backend_measure(LoopMeasure measure) {
  constexpr std::pair<LoopMeasure, gpu::LoopMeasure> kMeasures[] = {
      {LoopMeasure::kX, gpu::kWayX},
      {LoopMeasure::kY, gpu::kWayY},
      {LoopMeasure::kZ, gpu::kWayZ},
      {LoopMeasure::kTurnX, gpu::kTurnX},
      {LoopMeasure::kTurnY, gpu::kTurnY},
      {LoopMeasure::kTurnZ, gpu::kTurnZ},
      {LoopMeasure::kTiltX, gpu::kTiltX},
      {LoopMeasure::kTiltY, gpu::kTiltY},
      {LoopMeasure::kTwist, gpu::kTwist},
      {LoopMeasure::kSquare, gpu::kSquare},
      {LoopMeasure::kFirst, gpu::kFirst},
      {LoopMeasure::kSecond, gpu::kSecond},
      {LoopMeasure::kEuler1, gpu::kEuler1},
      {LoopMeasure::kEuler2, gpu::kEuler2},
      {LoopMeasure::kEuler3, gpu::kEuler3},
      {LoopMeasure::kSpinX, gpu::kSpinX},
      {LoopMeasure::kSpinY, gpu::kSpinY},
      {LoopMeasure::kSpinZ, gpu::kSpinZ},
      {LoopMeasure::kDistance, gpu::kDistance},
      {LoopMeasure::kTravel, gpu::kTravel},
  };
  const auto* found = std::find_if(std::begin(kMeasures), std::end(kMeasures),
                                   [&](const auto& known) { return known.first == measure; });
  TOUCHSTONE_CHECK(found != std::end(kMeasures), "a measure of loop joints that the backend does not know");
  return found->second;
}

std::vector<BackendPair> find_backend_pairs(const Model& model) {
  const CollisionModel shapes(model);
  std::vector<BackendPair> pairs;
  if (!model.options.contacts_enabled) return pairs;
  const std::vector<Collider>& colliders = shapes.colliders();
  for (int i = 0; i < static_cast<int>(colliders.size()); ++i) {
    for (int j = i + 1; j < static_cast<int>(colliders.size()); ++j) {
      const Collider &a = colliders[at(i)], &b = colliders[at(j)];
      if (model.body_last_dof[at(a.body)] < 0 && model.body_last_dof[at(b.body)] < 0) continue;
      if (!shapes.wanted(i, j)) continue;
      const int given = shapes.contact_pair(a.shape, b.shape);
      const auto& materials = model.defaults.shape_material;
      const ContactMaterial material =
          given >= 0 ? material_of(model.contact_pairs[at(given)])
                     : combine({materials[at(a.shape)], model.shapes[at(a.shape)].contact_dimension, a.curvature},
                               {materials[at(b.shape)], model.shapes[at(b.shape)].contact_dimension, b.curvature});
      pairs.push_back({a.shape, b.shape, material, shapes.margin(a.shape, b.shape), shapes.gap(a.shape, b.shape)});
    }
  }
  return pairs;
}

std::vector<std::string> complaints_of(const Model& model, const SimulatorOptions& options,
                                       const std::vector<BackendPair>& pairs) {
  Complaints complaints;
  check_options(model, options, complaints);
  check_joints(model, complaints);
  check_actuators(model, complaints);
  check_loops(model, complaints);
  check_pairs(model, pairs, complaints);
  check_hulls(model, pairs, complaints);
  return complaints.take();
}

}  // namespace touchstone
