#include "touchstone/sim/loop_arrays.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/gpu/loop_rows.hpp"
#include "touchstone/model/loop_joint.hpp"
#include "touchstone/sim/array_parts.hpp"
#include "touchstone/sim/backend_features.hpp"
#include "touchstone/sim/constraints/loop.hpp"
#include "touchstone/sim/constraints/loop_joint.hpp"
#include "touchstone/sim/constraints/weld.hpp"
#include "touchstone/sim/pair_arrays.hpp"

namespace touchstone {
namespace {

constexpr double kLoopCompliance = 1e-9;  // see sim/models/hard.cpp

bool is_active(const Model& model, const Equality& e) { return e.active && model.options.equalities_enabled; }
bool is_coupled(const Equality& e) { return e.coordinate_a >= 0 || e.coordinate_b >= 0; }

// Stiffness, damping and armature of a coordinate as the model's options have them.
struct LoopSpring {
  double stiffness, damping, armature;

  bool acts() const { return stiffness > 0.0 || damping > 0.0 || armature > 0.0; }
};

LoopSpring spring_of(const Model& model, const LoopCoordinate& c) {
  return {loop_stiffness(model, c), model.options.dampers_enabled ? c.damping : 0.0, c.armature};
}

bool is_limited(const Model& model, const LoopCoordinate& c) { return c.limited && model.options.limits_enabled; }
bool rubs(const Model& model, const LoopCoordinate& c) {
  return c.friction > 0.0 && model.options.friction_loss_enabled;
}

double coordinate_length(const Model& model, const ReferenceWeights& weights, const LoopJoint& joint, int k) {
  return is_rotation(joint.type, k) ? rotation_length(model, weights, joint.body_a, joint.body_b) : 1.0;
}

// One row along a coordinate.
void add_coordinate(const LoopJoint& joint, int measure, double reference, gpu::ModelArrays& a) {
  a.coordinate_a.push_back(joint.body_a);
  a.coordinate_b.push_back(joint.body_b);
  a.coordinate_measure.push_back(measure);
  push(a.coordinate_frames, joint.frame_a);
  push(a.coordinate_frames, joint.frame_b);
  a.coordinate_reference.push_back(reference);
  ++a.sizes.coordinates;
}

void add_limit(const LoopCoordinate& c, int coordinate, double length, gpu::ModelArrays& a) {
  a.loop_limit_coordinate.push_back(coordinate);
  push(a.loop_limit_range, c.range);
  a.loop_limit_margin.push_back(c.limit_margin);
  a.loop_limit_length.push_back(length);
  ++a.sizes.loop_limits;
}

// --- equalities ---

double equality_length(const Model& model, const ReferenceWeights& weights, const Equality& e, int row) {
  if (e.type == EqualityType::kJoint) {
    if (e.coordinate_a >= 0) return coordinate_length(model, weights, model.loop_joints[at(e.a)], e.coordinate_a);
    return weights.dof_length[model.joint_dof[at(e.a)]];
  }
  if (e.type == EqualityType::kConnect || row < 3) return 1.0;
  return weld_turn_length(e, rotation_length(model, weights, e.a, std::max(e.b, 0)));
}

// The mocap body that carries a body, by its number among those, or -1.
int carrier_of(const Model& model, int body) {
  for (; body > 0; body = model.bodies[at(body)].parent) {
    const int mocap = model.body_kernels[at(body)].mocap;
    if (mocap >= 0 || model.body_last_dof[at(body)] >= 0) return mocap;
  }
  return -1;
}

// Begins an equality whose rows follow. `first`, `second`: rows along coordinates, or -1.
void begin_equality(gpu::EqualityKind type, int side_a, int side_b, int first, int second, gpu::ModelArrays& a) {
  a.equality_type.push_back(type);
  a.equality_a.push_back(side_a);
  a.equality_b.push_back(side_b);
  a.equality_row.push_back(a.sizes.equality_rows);
  if (a.sizes.loop_numbers > 0) a.equality_coordinate.insert(a.equality_coordinate.end(), {first, second});
  ++a.sizes.equalities;
}

void add_row(int measure, double compliance, double length, gpu::ModelArrays& a) {
  a.equality_of_row.push_back(a.sizes.equalities - 1);
  a.equality_measure.push_back(measure);
  a.equality_compliance.push_back(compliance);
  a.equality_length.push_back(length);
  ++a.sizes.equality_rows;
}

gpu::EqualityKind kind_of(const Equality& e) {
  if (e.type == EqualityType::kConnect) return gpu::kConnectEquality;
  if (e.type == EqualityType::kWeld) return gpu::kWeldEquality;
  return is_coupled(e) ? gpu::kCoupledEquality : gpu::kJointEquality;
}

void fill_equalities(const Model& model, const ReferenceWeights& weights, gpu::ModelArrays& a) {
  for (const Equality& e : model.equalities) {
    if (!is_active(model, e)) continue;
    const gpu::EqualityKind kind = kind_of(e);
    const auto coordinate = [&](int joint, int k) { return k >= 0 ? model.loop_coordinate[at(joint)] + k : -1; };
    const auto tree_joint = [](int joint, int k) { return k >= 0 ? -1 : joint; };
    const bool of_bodies = kind == gpu::kConnectEquality || kind == gpu::kWeldEquality;
    begin_equality(kind, tree_joint(e.a, e.coordinate_a),
                   of_bodies ? std::max(e.b, 0) : tree_joint(e.b, e.coordinate_b), coordinate(e.a, e.coordinate_a),
                   coordinate(e.b, e.coordinate_b), a);
    push(a.equality_data, e.anchor_a);
    push(a.equality_data, e.anchor_b);
    push(a.equality_data, e.relative_pose);
    a.equality_data.push_back(e.torque_scale);
    a.equality_data.insert(a.equality_data.end(), e.polynomial.begin(), e.polynomial.end());
    a.equality_data.push_back(0.0);
    const int rows = kind == gpu::kConnectEquality ? 3 : (kind == gpu::kWeldEquality ? 6 : 1);
    for (int r = 0; r < rows; ++r)
      add_row(0, kLoopCompliance * equality_weight(model, weights, e, r), equality_length(model, weights, e, r), a);
  }
}

void fill_loop_joints(const Model& model, const ReferenceWeights& weights, gpu::ModelArrays& a) {
  for (std::size_t j = 0; j < model.loop_joints.size(); ++j) {
    const LoopJoint& joint = model.loop_joints[j];
    if (!joint.active) continue;
    begin_equality(gpu::kLoopEquality, joint.body_a, joint.body_b, model.loop_coordinate[j], -1, a);
    push(a.equality_data, joint.frame_a);
    push(a.equality_data, joint.frame_b);
    a.equality_data.push_back(joint.type == LoopJointType::kScrew ? joint.pitch : joint.length);
    for (int r = 0; r < row_count(joint.type); ++r) {
      const bool turns = is_rotation_row(joint.type, r);
      add_row(backend_measure(held_measure(joint.type, r)), kLoopCompliance * loop_weight(weights, joint, turns),
              turns ? rotation_length(model, weights, joint.body_a, joint.body_b) : 1.0, a);
    }
  }
}

void fill_springs(const Model& model, const ReferenceWeights& weights, gpu::ModelArrays& a) {
  const double h = a.settings.time_step;
  for (std::size_t j = 0; j < model.loop_joints.size(); ++j) {
    const LoopJoint& joint = model.loop_joints[j];
    for (int k = 0; joint.active && k < static_cast<int>(joint.coordinates.size()); ++k) {
      const LoopCoordinate& c = joint.coordinates[at(k)];
      const LoopSpring spring = spring_of(model, c);
      if (!spring.acts()) continue;
      begin_equality(gpu::kSpringEquality, joint.body_a, joint.body_b, model.loop_coordinate[j] + k, -1, a);
      a.equality_data.insert(a.equality_data.end(),
                             {spring.stiffness, spring.damping, spring.armature, c.spring_reference});
      a.equality_data.resize(at(gpu::kEqualityNumbers * a.sizes.equalities), 0.0);
      const double share = a.settings.remaining < h ? 0.25 : 1.0;  // as in LoopSpringKind::hard_law
      add_row(0, 1.0 / (spring.armature + h * spring.damping + share * h * h * spring.stiffness),
              coordinate_length(model, weights, joint, k), a);
    }
  }
}

// Which mocap bodies equalities hold to.
void fill_carriers(const Model& model, gpu::ModelArrays& a) {
  for (std::size_t e = 0; e < a.equality_type.size(); ++e) {
    const int type = a.equality_type[e];
    const bool follows = type == gpu::kConnectEquality || type == gpu::kWeldEquality || type == gpu::kLoopEquality;
    for (const int body : {a.equality_a[e], a.equality_b[e]})
      a.equality_mocap.push_back(follows ? carrier_of(model, body) : -1);
  }
  const auto holds = [](int mocap) { return mocap >= 0; };
  if (std::any_of(a.equality_mocap.begin(), a.equality_mocap.end(), holds)) {
    a.sizes.followed = model.nmocap;
  } else {
    a.equality_mocap.clear();
  }
}

}  // namespace

bool needs_coordinates(const Model& model) {
  const auto asks = [&](const LoopJoint& joint) {
    return joint.active &&
           (joint.type == LoopJointType::kScrew ||
            std::any_of(joint.coordinates.begin(), joint.coordinates.end(), [&](const LoopCoordinate& c) {
              return is_limited(model, c) || rubs(model, c) || spring_of(model, c).acts();
            }));
  };
  return std::any_of(model.loop_joints.begin(), model.loop_joints.end(), asks) ||
         std::any_of(model.actuators.begin(), model.actuators.end(),
                     [](const Actuator& u) { return u.transmission == TransmissionType::kLoopJoint; }) ||
         std::any_of(model.equalities.begin(), model.equalities.end(),
                     [&](const Equality& e) { return is_active(model, e) && is_coupled(e); });
}

void fill_coordinates(const Model& model, const ReferenceWeights& weights, gpu::ModelArrays& a) {
  if (!needs_coordinates(model)) return;
  a.sizes.loop_numbers = model.nloop;
  push(a.reference_loop, model.reference_loop);
  for (const LoopJoint& joint : model.loop_joints) {
    const bool is_ball = joint.type == LoopJointType::kSpherical;
    for (int k = 0; k < static_cast<int>(joint.coordinates.size()); ++k)
      add_coordinate(joint, backend_measure(free_measure(joint.type, k)),
                     is_ball ? 0.0 : joint.coordinates[at(k)].reference, a);
  }
  for (std::size_t j = 0; j < model.loop_joints.size(); ++j) {
    const LoopJoint& joint = model.loop_joints[j];
    for (int k = 0; joint.active && k < static_cast<int>(joint.coordinates.size()); ++k) {
      const LoopCoordinate& c = joint.coordinates[at(k)];
      const int coordinate = model.loop_coordinate[j] + k;
      const double length = coordinate_length(model, weights, joint, k);
      const bool is_ball = joint.type == LoopJointType::kSpherical;
      if (is_limited(model, c)) {
        add_limit(c, is_ball ? a.sizes.coordinates : coordinate, length, a);
        if (is_ball) add_coordinate(joint, gpu::kWholeTurn, 0.0, a);
      }
      if (!rubs(model, c)) continue;
      a.loop_friction_coordinate.push_back(coordinate);
      a.loop_friction.push_back(c.friction);
      a.loop_friction_length.push_back(length);
      ++a.sizes.loop_frictions;
    }
  }
}

void fill_loops(const Model& model, const ReferenceWeights& weights, gpu::ModelArrays& a) {
  fill_equalities(model, weights, a);
  fill_loop_joints(model, weights, a);
  fill_springs(model, weights, a);
  fill_carriers(model, a);
}

int add_loop_actuator(const Model& model, int actuator, gpu::ModelArrays& a) {
  const Actuator& motor = model.actuators[at(actuator)];
  const int count = coordinate_count(model.loop_joints[at(motor.target)].type);
  a.loop_actuator.push_back(actuator);
  a.loop_actuator_first.push_back(model.loop_coordinate[at(motor.target)]);
  for (int k = 0; k < gpu::kLoopGears; ++k)
    a.loop_gear.push_back(model.options.actuation_enabled && k < count ? motor.gear[at(k)] : 0.0);
  ++a.sizes.loop_actuators;
  return a.sizes.coordinates++;
}

}  // namespace touchstone
