#include "touchstone/sim/constraints/tendon_spring.hpp"

#include <fmt/format.h>

#include "touchstone/base/index.hpp"

namespace touchstone {

void TendonSpringKind::add(const ConstraintStep& step, ConstraintWriter& writer) {
  const double zero = 0.0;
  for (const int t : step.data.scope.tendons) {
    if (!(step.data.tendon_block_gain[t] > 0.0)) continue;
    writer.begin(kKind, t);
    writer.blocks().add_equality(1);
    writer.add_tendon(t, 1.0);
    writer.end(&zero, &step.weights.tendon_length[t]);
  }
}

// impulse = h force - gain (rate at the end)
void TendonSpringKind::hard_law(const ConstraintStep& step, int block, Constraints& c) {
  const int t = c.list[at(block)].index, row = c.blocks.row[at(block)];
  c.compliance[row] = 1.0 / step.data.tendon_block_gain[t];
  c.bias[row] = -step.h * step.data.tendon_block_force[t] * c.compliance[row];
}

void TendonSpringKind::soft_law(const ConstraintStep&, int, Constraints&) {}  // explicit in this model

std::string TendonSpringKind::describe(const Model& model, std::span<const Contact>, const Constraint& constraint) {
  return fmt::format("spring of tendon '{}'", model.tendons[at(constraint.index)].name);
}

}  // namespace touchstone
