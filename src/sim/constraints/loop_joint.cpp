#include "touchstone/sim/constraints/loop_joint.hpp"

#include <cmath>

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/sim/constraints/loop_type.hpp"
#include "touchstone/sim/models/hard.hpp"
#include "touchstone/sim/models/soft.hpp"

namespace touchstone {
namespace {

const LoopJoint& joint_of(const Model& model, const Constraint& constraint) {
  return model.loop_joints[at(constraint.index)];
}

// The unwrapped angle of a screw from its reference; nothing else needs to know how often it has turned.
double screw_angle(const ConstraintStep& step, int j) {
  const LoopJoint& joint = step.model.loop_joints[at(j)];
  if (joint.type != LoopJointType::kScrew) return 0.0;
  LoopRow rows[kMostLoopCoordinates];
  loop_coordinates(step.model, step.data, step.state.loop_memory(), j, rows);
  return rows[0].value - joint.coordinates[0].reference;
}

}  // namespace

PairRows pair_rows(const LoopJoint& joint, const LoopFrames& frames, const LoopRow* rows, int count) {
  PairRows pair;
  pair.body_a = joint.body_a;
  pair.body_b = joint.body_b;
  pair.point_a = pair.point_b = frames.X_WB.p;
  pair.count = count;
  for (int r = 0; r < count; ++r) {
    pair.linear[r] = rows[r].linear;
    pair.angular[r] = rows[r].angular;
  }
  return pair;
}

double row_drift(const ConstraintStep& step, const LoopJoint& joint, const LoopFrames& frames, const LoopRow& row) {
  const Vec3 p = frames.X_WB.p;
  const Vec3 a = point_drift(step, joint.body_b, p) - point_drift(step, joint.body_a, p);
  const Vec3 alpha =
      step.data.acceleration[at(joint.body_b)].angular - step.data.acceleration[at(joint.body_a)].angular;
  return loop_drift(row, frames, a, alpha);
}

double loop_weight(const ReferenceWeights& weights, const LoopJoint& joint, bool is_rotation) {
  const int k = is_rotation ? 1 : 0;
  return weights.body[at(joint.body_a)][k] + weights.body[at(joint.body_b)][k];
}

double loop_length(const ConstraintStep& step, const LoopJoint& joint, bool is_rotation) {
  return is_rotation ? pair_length(step, joint.body_a, joint.body_b) : 1.0;
}

void LoopJointKind::add(const ConstraintStep& step, ConstraintWriter& writer) {
  for (const int j : step.data.scope.loop_joints) {
    const LoopJoint& joint = step.model.loop_joints[at(j)];
    if (!joint.active) continue;
    const int count = row_count(joint.type);
    const LoopFrames frames = moving_frames(step.model, step.data, joint);
    LoopRow rows[kMostLoopRows];
    loop_rows(joint, frames, screw_angle(step, j), rows);
    writer.begin(kKind, j);
    writer.blocks().add_equality(count);
    writer.add_pair(pair_rows(joint, frames, rows, count));
    double position[kMostLoopRows], length[kMostLoopRows];
    for (int r = 0; r < count; ++r) {
      position[r] = rows[r].value;
      length[r] = loop_length(step, joint, is_rotation_row(joint.type, r));
    }
    writer.end(position, length);
    if (!step.needs_loop_drift()) continue;
    for (int r = 0; r < count; ++r) writer.set_row_drift(row_drift(step, joint, frames, rows[r]), r);
  }
}

void LoopJointKind::hard_law(const ConstraintStep& step, int block, Constraints& c) {
  if (step.stabilisation.softens_loops()) return soft_law(step, block, c);
  const LoopJoint& joint = joint_of(step.model, c.list[at(block)]);
  const int first = c.blocks.row[at(block)];
  for (int r = 0; r < c.blocks.size(block); ++r) {
    hard::set_bilateral(step, first + r, loop_weight(step.weights, joint, is_rotation_row(joint.type, r)), c);
  }
  follow_mocap(step, block, c);
}

void LoopJointKind::soft_law(const ConstraintStep& step, int block, Constraints& c) {
  const LoopJoint& joint = joint_of(step.model, c.list[at(block)]);
  const int first = c.blocks.row[at(block)], m = c.blocks.size(block);
  const Eigen::Map<const VectorX> position(c.position.data() + first, m);
  const double distance = m == 1 ? position[0] : position.norm();
  for (int r = 0; r < m; ++r) {
    soft::set_row(step, first + r, joint.impedance, distance, false,
                  loop_weight(step.weights, joint, is_rotation_row(joint.type, r)), c);
  }
}

bool LoopJointKind::wrench(const ConstraintScene& scene, const Constraint& constraint, const double* impulse,
                           PairWrench& wrench) {
  const LoopJoint& joint = joint_of(scene.model, constraint);
  const LoopFrames frames = moving_frames(scene.model, scene.data, joint);
  LoopRow rows[kMostLoopRows];
  loop_rows(joint, frames, 0.0, rows);
  wrench = wrench_of(pair_rows(joint, frames, rows, row_count(joint.type)), impulse);
  return true;
}

std::string LoopJointKind::describe(const Model& model, std::span<const Contact>, const Constraint& constraint) {
  return fmt::format("loop joint '{}'", joint_of(model, constraint).name);
}

}  // namespace touchstone
