#include "touchstone/diff/loop_motion.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"
#include "touchstone/diff/rotations.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/math/so3.hpp"

namespace touchstone {
namespace {

// The rotation vector from frame a to frame b.
Vector3 turn_of(const LoopFrames& frames) {
  return so3_log(Quaternion(Matrix3(frames.X_WA.R.eigen().transpose() * frames.X_WB.R.eigen())).normalized());
}

// How it changes: dt = Jr(t)^-1 W, W the relative angular velocity in axes of frame b.
Vector3 turn_rate_of(const LoopFrames& frames, const Vector3& turn) {
  return right_jacobian_inverse(turn) * transpose_times(frames.X_WB.R, frames.w_b - frames.w_a).eigen();
}

// The gradient of the whole angle of a spherical joint is its axis n, which is the same in both frames.
LoopRow ball_angle(const LoopFrames& frames) {
  LoopRow row;
  const Vector3 turn = turn_of(frames);
  row.value = turn.norm();
  if (!(row.value > 0.0)) return row;
  const Vector3 n = turn / row.value, rate = turn_rate_of(frames, turn);
  row.angular = frames.X_WB.R * Vec3(n);
  row.angular_rate =
      cross(frames.w_b, row.angular) + frames.X_WB.R * Vec3(Vector3((rate - n * n.dot(rate)) / row.value));
  return row;
}

}  // namespace

bool is_loop_kind(ConstraintKind kind) {
  return kind == ConstraintKind::kLoopJoint || kind == ConstraintKind::kLoopLimit ||
         kind == ConstraintKind::kLoopFriction || kind == ConstraintKind::kLoopSpring;
}

void LoopBlock::rows(const LoopFrames& frames, LoopRow* out) const {
  if (is_held) return loop_rows(joint, frames, 0.0, out);
  out[0] = LoopRow();
  const auto add = [&](const LoopRow& row, double factor) {
    out[0].linear += factor * row.linear;
    out[0].angular += factor * row.angular;
    out[0].linear_rate += factor * row.linear_rate;
    out[0].angular_rate += factor * row.angular_rate;
  };
  if (is_angle) return add(ball_angle(frames), gear[0]);
  LoopRow coordinates[kMostLoopCoordinates];
  const double any_turn[kMostLoopCoordinates] = {};
  const int n = coordinate_count(joint.type);
  loop_coordinates(joint, frames, {any_turn, at(n)}, coordinates);
  for (int k = 0; k < n; ++k) add(coordinates[k], gear[k]);
}

double LoopBlock::value_rate(const LoopFrames& frames) const {
  if (joint.type != LoopJointType::kSpherical || is_angle) {
    LoopRow row;
    rows(frames, &row);
    return dot(row.linear, frames.v) + dot(row.angular, frames.w_b - frames.w_a);
  }
  const Vector3 rate = turn_rate_of(frames, turn_of(frames));
  return gear[0] * rate[0] + gear[1] * rate[1] + gear[2] * rate[2];
}

LoopBlock loop_block(const Model& model, const Constraint& constraint) {
  if (constraint.kind == ConstraintKind::kLoopJoint) return {model.loop_joints[at(constraint.index)], true};
  const int j = loop_joint_of(model, constraint.index);
  LoopBlock block{model.loop_joints[at(j)]};
  const double sign = constraint.kind == ConstraintKind::kLoopLimit && constraint.side != 0 ? -1.0 : 1.0;
  block.is_angle = constraint.kind == ConstraintKind::kLoopLimit && block.joint.type == LoopJointType::kSpherical;
  block.gear[block.is_angle ? 0 : constraint.index - model.loop_coordinate[at(j)]] = sign;
  return block;
}

LoopFrames frames_along(const Data& data, const LoopJoint& joint, const PairMotion& motion, int k) {
  LoopFrames frames = loop_frames(joint, data.X_WB[at(joint.body_a)], data.X_WB[at(joint.body_b)]);
  if (k < 0) return frames;
  frames.v = motion.b_linear[at(k)] - motion.a_linear[at(k)];
  frames.w_a = motion.a_angular[at(k)];
  frames.w_b = motion.b_angular[at(k)];
  return frames;
}

void begin_loop_motion(const Model& model, const Data& data, const LoopJoint& joint, PairMotion& motion) {
  const Vec3 p = (data.X_WB[at(joint.body_b)] * Pose(joint.frame_b)).p;
  motion.begin(model, data, joint.body_a, joint.body_b, p, p);
  std::copy_n(motion.dp_b.begin(), motion.count, motion.dp_a.begin());  // both act where frame b is
}

void loop_row_rate(const Model& model, const Data& data, const std::vector<Motion>& V_S, const LoopBlock& block,
                   const PairMotion& motion, int k, double* values) {
  const auto angular = [&](int body) {
    return model.body_kernels[at(body)].tree < 0 ? Vec3() : data.velocity[at(body)].angular;
  };
  const Vec3 v =
      velocity_at(model, data, motion.body_b, motion.point_b) - velocity_at(model, data, motion.body_a, motion.point_a);
  const Vec3 w = angular(motion.body_b) - angular(motion.body_a);
  const PairRate rate = relative_velocity_rate(model, data, V_S, motion, k);
  LoopRow rows[kMostLoopRows];
  block.rows(frames_along(data, block.joint, motion, k), rows);
  for (int r = 0; r < block.count(); ++r) {
    values[r] = dot(rows[r].linear, rate.linear) + dot(rows[r].angular, rate.angular) + dot(rows[r].linear_rate, v) +
                dot(rows[r].angular_rate, w);
  }
}

void add_loop_force_derivatives(const Data& data, const LoopBlock& block, const double* impulse, PairMotion& motion,
                                RowMatrixRef out) {
  LoopRow rows[kMostLoopRows];
  block.rows(frames_along(data, block.joint, motion, -1), rows);
  Vec3 force;
  for (int r = 0; r < block.count(); ++r) force += impulse[r] * rows[r].linear;
  for (int j = 0; j < motion.count; ++j) {
    block.rows(frames_along(data, block.joint, motion, j), rows);
    Vec3 across, turned;
    for (int r = 0; r < block.count(); ++r) {
      across += impulse[r] * rows[r].linear_rate;
      turned += impulse[r] * rows[r].angular_rate;
    }
    add_force_change(motion, j, across, turned, force, out);
  }
}

}  // namespace touchstone
