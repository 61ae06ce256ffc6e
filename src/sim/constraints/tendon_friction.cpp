#include "touchstone/sim/constraints/tendon_friction.hpp"

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/sim/models/soft.hpp"

namespace touchstone {

void TendonFrictionKind::add(const ConstraintStep& step, ConstraintWriter& writer) {
  if (!step.model.options.friction_loss_enabled) return;
  const double zero = 0.0;
  for (const int t : step.data.scope.tendons) {
    const double friction = step.parameters.tendon_friction[t];
    if (!(friction > 0.0)) continue;
    writer.begin(kKind, t);
    writer.blocks().add_box(-step.h * friction, step.h * friction);
    writer.add_tendon(t, 1.0);
    writer.end(&zero, &step.weights.tendon_length[t]);
  }
}

void TendonFrictionKind::hard_law(const ConstraintStep&, int, Constraints&) {}  // the tendon stops

void TendonFrictionKind::soft_law(const ConstraintStep& step, int block, Constraints& c) {
  const int t = c.list[at(block)].index;
  soft::set_row(step, c.blocks.row[at(block)], step.model.tendons[at(t)].friction_impedance, 0.0, true,
                step.weights.tendon[t], c);
}

std::string TendonFrictionKind::describe(const Model& model, std::span<const Contact>, const Constraint& constraint) {
  return fmt::format("friction of tendon '{}'", model.tendons[at(constraint.index)].name);
}

}  // namespace touchstone
