#include "touchstone/sim/constraints/joint_limit.hpp"

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/sim/models/hard.hpp"
#include "touchstone/sim/models/soft.hpp"

namespace touchstone {
namespace {

void add_ball_limit(const ConstraintStep& step, int j, ConstraintWriter& writer) {
  const Joint& joint = step.model.joints[at(j)];
  const int dof = step.model.joint_dof[at(j)];
  const Vector3 turn = so3_log(quaternion_at(step.state.q, step.model.joint_q[at(j)]).normalized());
  const double angle = turn.norm(), gap = joint.range[1] - angle - joint.limit_margin;
  if (!(angle > 0.0)) return;
  const Vector3 axis = turn / angle;
  const double rate = -axis.dot(step.state.v.segment<3>(dof));
  if (!step.reaches(gap, rate, -axis.dot(step.data.v_free.segment<3>(dof)))) return;
  writer.begin(JointLimitKind::kKind, j, 1);
  writer.blocks().add_nonnegative();
  for (int k = 0; k < 3; ++k) writer.add_dof(dof + k, 0, -axis[k]);
  writer.end(&gap, &step.weights.dof_length[dof]);
}

void add_scalar_limits(const ConstraintStep& step, int j, ConstraintWriter& writer) {
  const Joint& joint = step.model.joints[at(j)];
  const double q = step.state.q[step.model.joint_q[at(j)]];
  const int dof = step.model.joint_dof[at(j)];
  for (int side = 0; side < 2; ++side) {
    const double sign = side == 0 ? 1.0 : -1.0;
    const double gap = sign * (q - joint.range[side]) - joint.limit_margin;
    if (!step.reaches(gap, sign * step.state.v[dof], sign * step.data.v_free[dof])) continue;
    writer.begin(JointLimitKind::kKind, j, side);
    writer.blocks().add_nonnegative();
    writer.set_dof(dof, sign);
    writer.end(&gap, &step.weights.dof_length[dof]);
  }
}

}  // namespace

void JointLimitKind::add(const ConstraintStep& step, ConstraintWriter& writer) {
  if (!step.model.options.limits_enabled) return;
  for (const IndexRange& range : step.data.scope.joints) {
    for (int j = range.begin; j < range.end; ++j) {
      const Joint& joint = step.model.joints[at(j)];
      if (!joint.limited) continue;
      if (joint.type == JointType::kBall) {
        add_ball_limit(step, j, writer);
      } else {
        add_scalar_limits(step, j, writer);
      }
    }
  }
}

void JointLimitKind::hard_law(const ConstraintStep& step, int block, Constraints& c) {
  const Joint& joint = step.model.joints[at(c.list[at(block)].index)];
  hard::set_unilateral(step, StabilisedKind::kLimit, c.blocks.row[at(block)], 0.0, joint.limit_impedance, c);
}

void JointLimitKind::soft_law(const ConstraintStep& step, int block, Constraints& c) {
  const int j = c.list[at(block)].index, row = c.blocks.row[at(block)];
  soft::set_row(step, row, step.model.joints[at(j)].limit_impedance, c.position[at(row)], false,
                step.weights.dof[step.model.joint_dof[at(j)]], c);
}

std::string JointLimitKind::describe(const Model& model, std::span<const Contact>, const Constraint& constraint) {
  return fmt::format("{} limit of joint '{}'", constraint.side == 0 ? "lower" : "upper",
                     model.joints[at(constraint.index)].name);
}

}  // namespace touchstone
