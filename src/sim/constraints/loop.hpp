// Equalities of the model: connects, welds, couplings of joints and of tendons. Each type is one module (connect.hpp,
// weld.hpp, coupling.hpp); Constraint::index is the number of the equality.
#pragma once

#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone {

struct LoopKind {
  static constexpr ConstraintKind kKind = ConstraintKind::kEquality;
  static constexpr const char* kName = "equality";
  static constexpr Violation kViolation = Violation::kTwoSided;
  static constexpr Work kWork = Work::kConstraint;

  static void add(const ConstraintStep& step, ConstraintWriter& writer);
  static void hard_law(const ConstraintStep& step, int block, Constraints& constraints);
  static void soft_law(const ConstraintStep& step, int block, Constraints& constraints);
  static bool wrench(const ConstraintScene& scene, const Constraint& constraint, const double* impulse,
                     PairWrench& wrench);
  static WarmStartKey key(std::span<const Contact> contacts, const Constraint& constraint);
  static std::string describe(const Model& model, std::span<const Contact> contacts, const Constraint& constraint);
};

// dJ/dt v of all its rows, after compute_bias.
void equality_drift(const ConstraintScene& scene, const Equality& equality, double* drift);

// What a row of an equality weighs: the sum over both sides (MuJoCo's diagApprox).
double equality_weight(const Model& model, const ReferenceWeights& weights, const Equality& equality, int row);

}  // namespace touchstone
