#include "touchstone/sim/constraints/kind.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"

namespace touchstone {

bool ConstraintStep::reaches(double gap, double rate, double free_rate) const {
  if (!rules.looks_ahead) return gap < 0.0;
  return gap + 2.0 * h * std::min({rate, free_rate, 0.0}) <= stabilisation.slop + reach;
}

PairWrench wrench_of(const PairRows& rows, const double* impulse) {
  PairWrench w{rows.body_a, rows.body_b, rows.point_a, rows.point_b, {}, {}};
  for (int r = 0; r < rows.count; ++r) {
    w.force += rows.linear[r] * impulse[r];
    w.torque += rows.angular[r] * impulse[r];
  }
  return w;
}

double pair_length(const ConstraintStep& step, int a, int b) {
  const Model& model = step.model;
  const bool moves_a = model.body_last_dof[at(a)] >= 0, moves_b = model.body_last_dof[at(b)] >= 0;
  const double of_a = step.weights.body_length[at(a)], of_b = step.weights.body_length[at(b)];
  if (moves_a && moves_b) return std::min(of_a, of_b);
  return moves_a ? of_a : of_b;
}

WarmStartKey key_of_element(const Constraint& constraint) {
  constexpr std::uint64_t kNotAContact = 1ull << 63;
  return {
      kNotAContact | (static_cast<std::uint64_t>(constraint.kind) << 1) | static_cast<std::uint64_t>(constraint.side),
      static_cast<std::uint64_t>(constraint.index)};
}

}  // namespace touchstone
