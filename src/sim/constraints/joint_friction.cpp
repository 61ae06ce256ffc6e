#include "touchstone/sim/constraints/joint_friction.hpp"

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/sim/models/soft.hpp"

namespace touchstone {

void JointFrictionKind::add(const ConstraintStep& step, ConstraintWriter& writer) {
  if (!step.model.options.friction_loss_enabled) return;
  const double zero = 0.0;
  for (const IndexRange& range : step.data.scope.dofs) {
    for (int dof = range.begin; dof < range.end; ++dof) {
      const double friction = step.parameters.dof_friction[dof];
      if (!(friction > 0.0)) continue;
      writer.begin(kKind, dof);
      writer.blocks().add_box(-step.h * friction, step.h * friction);
      writer.set_dof(dof, 1.0);
      writer.end(&zero, &step.weights.dof_length[dof]);
    }
  }
}

void JointFrictionKind::hard_law(const ConstraintStep&, int, Constraints&) {}  // the dof stops

void JointFrictionKind::soft_law(const ConstraintStep& step, int block, Constraints& c) {
  const int dof = c.list[at(block)].index;
  const Joint& joint = step.model.joints[at(step.model.dof_joint[at(dof)])];
  soft::set_row(step, c.blocks.row[at(block)], joint.friction_impedance, 0.0, true, step.weights.dof[dof], c);
}

std::string JointFrictionKind::describe(const Model& model, std::span<const Contact>, const Constraint& constraint) {
  return fmt::format("friction of joint '{}'", model.joints[at(model.dof_joint[at(constraint.index)])].name);
}

}  // namespace touchstone
