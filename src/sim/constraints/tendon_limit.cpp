#include "touchstone/sim/constraints/tendon_limit.hpp"

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/sim/models/hard.hpp"
#include "touchstone/sim/models/soft.hpp"

namespace touchstone {

void TendonLimitKind::add(const ConstraintStep& step, ConstraintWriter& writer) {
  if (!step.model.options.limits_enabled) return;
  for (const int t : step.data.scope.tendons) {
    const Tendon& tendon = step.model.tendons[at(t)];
    if (!tendon.limited) continue;
    for (int side = 0; side < 2; ++side) {
      const double sign = side == 0 ? 1.0 : -1.0;
      const double gap = sign * (step.data.tendon_length[t] - tendon.range[side]) - tendon.limit_margin;
      const double rate = sign * step.data.tendon_velocity[t];
      if (!step.reaches(gap, rate, rate)) continue;
      writer.begin(kKind, t, side);
      writer.blocks().add_nonnegative();
      writer.add_tendon(t, sign);
      writer.end(&gap, &step.weights.tendon_length[t]);
    }
  }
}

void TendonLimitKind::hard_law(const ConstraintStep& step, int block, Constraints& c) {
  const Tendon& tendon = step.model.tendons[at(c.list[at(block)].index)];
  hard::set_unilateral(step, StabilisedKind::kLimit, c.blocks.row[at(block)], 0.0, tendon.limit_impedance, c);
}

void TendonLimitKind::soft_law(const ConstraintStep& step, int block, Constraints& c) {
  const int t = c.list[at(block)].index, row = c.blocks.row[at(block)];
  soft::set_row(step, row, step.model.tendons[at(t)].limit_impedance, c.position[at(row)], false,
                step.weights.tendon[t], c);
}

std::string TendonLimitKind::describe(const Model& model, std::span<const Contact>, const Constraint& constraint) {
  return fmt::format("{} limit of tendon '{}'", constraint.side == 0 ? "lower" : "upper",
                     model.tendons[at(constraint.index)].name);
}

}  // namespace touchstone
