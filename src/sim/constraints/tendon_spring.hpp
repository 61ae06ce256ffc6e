// Springs and dampers of tendons that join branches or trees: the rate of the length, with the impulse of the force at
// the end of the step. Constraint::index is the tendon.
#pragma once

#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone {

struct TendonSpringKind : JointSpaceKind {
  static constexpr ConstraintKind kKind = ConstraintKind::kTendonSpring;
  static constexpr const char* kName = "tendon spring";
  static constexpr Violation kViolation = Violation::kNone;
  static constexpr Work kWork = Work::kElsewhere;  // potential energy, and the line of dampers

  static void add(const ConstraintStep& step, ConstraintWriter& writer);
  static void hard_law(const ConstraintStep& step, int block, Constraints& constraints);
  static void soft_law(const ConstraintStep& step, int block, Constraints& constraints);
  static std::string describe(const Model& model, std::span<const Contact> contacts, const Constraint& constraint);
};

}  // namespace touchstone
