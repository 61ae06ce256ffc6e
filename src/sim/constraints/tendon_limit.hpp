// Limits of tendons: one row a side, the gap to it. Constraint::index is the tendon, side 0 lower, 1 upper.
#pragma once

#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone {

struct TendonLimitKind : JointSpaceKind {
  static constexpr ConstraintKind kKind = ConstraintKind::kTendonLimit;
  static constexpr const char* kName = "tendon limit";
  static constexpr Violation kViolation = Violation::kOneSided;
  static constexpr Work kWork = Work::kConstraint;

  static void add(const ConstraintStep& step, ConstraintWriter& writer);
  static void hard_law(const ConstraintStep& step, int block, Constraints& constraints);
  static void soft_law(const ConstraintStep& step, int block, Constraints& constraints);
  static std::string describe(const Model& model, std::span<const Contact> contacts, const Constraint& constraint);
};

}  // namespace touchstone
