#include "touchstone/sim/loop_reading.hpp"

#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/sim/constraints/kinds.hpp"

namespace touchstone {

LoopReading read_loop_joint(const Model& model, const Data& data, std::span<const double> memory, int j) {
  const LoopJoint& joint = model.loop_joints[at(j)];
  LoopReading reading;
  reading.coordinates = static_cast<int>(joint.coordinates.size());
  LoopRow rows[kMostLoopRows];
  loop_coordinates(model, data, memory, j, rows);
  for (std::size_t k = 0; k < joint.coordinates.size(); ++k) {
    reading.position[k] = rows[k].value;
    reading.velocity[k] = rows[k].rate;
  }
  const bool is_screw = joint.type == LoopJointType::kScrew;
  const double angle = is_screw ? rows[0].value - joint.coordinates[0].reference : 0.0;
  loop_rows(joint, moving_frames(model, data, joint), angle, rows);
  double squares[2] = {};
  for (int r = 0; r < row_count(joint.type); ++r) {
    squares[is_rotation_row(joint.type, r) ? 1 : 0] += rows[r].value * rows[r].value;
  }
  reading.position_error = std::sqrt(squares[0]);
  reading.rotation_error = std::sqrt(squares[1]);
  return reading;
}

void add_loop_forces(const ConstraintScene& scene, const Constraints& c, const VectorX& lambda, double h, int j,
                     LoopReading& reading) {
  const LoopJoint& joint = scene.model.loop_joints[at(j)];
  const int first = scene.model.loop_coordinate[at(j)], end = scene.model.loop_coordinate[at(j + 1)];
  const Mat3 R = scene.data.X_WB[at(joint.body_a)].R * Pose(joint.frame_a).R;
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& one = c.list[at(block)];
    const double* impulse = lambda.data() + c.blocks.row[at(block)];
    if (one.kind == ConstraintKind::kLoopJoint && one.index == j) {
      PairWrench w;
      entry_of(one.kind).wrench(scene, one, impulse, w);
      reading.reaction.head<3>() = transpose_times(R, w.force).eigen() / h;
      reading.reaction.tail<3>() = transpose_times(R, w.torque).eigen() / h;
    }
    const bool is_along = one.kind == ConstraintKind::kLoopLimit || one.kind == ConstraintKind::kLoopFriction ||
                          one.kind == ConstraintKind::kLoopSpring;
    if (!is_along || one.index < first || one.index >= end) continue;
    const double sign = one.kind == ConstraintKind::kLoopLimit && one.side == 1 ? -1.0 : 1.0;
    if (one.kind == ConstraintKind::kLoopLimit && joint.type == LoopJointType::kSpherical) {
      const Vector3 turn(reading.position[0], reading.position[1], reading.position[2]);
      const Vector3 torque = sign * *impulse / h * turn.normalized();  // about the axis of the whole turn
      for (int k = 0; k < 3; ++k) reading.force[at(k)] += torque[k];
      continue;
    }
    reading.force[at(one.index - first)] += sign * *impulse / h;
  }
}

}  // namespace touchstone
