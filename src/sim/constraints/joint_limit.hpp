// Limits of joints: one row a side, the gap to it. Hinges, slides and screws; of a ball joint the angle from its
// reference, upper side. Constraint::index is the joint, side 0 lower, 1 upper.
#pragma once

#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone {

struct JointLimitKind : JointSpaceKind {
  static constexpr ConstraintKind kKind = ConstraintKind::kJointLimit;
  static constexpr const char* kName = "joint limit";
  static constexpr Violation kViolation = Violation::kOneSided;
  static constexpr Work kWork = Work::kConstraint;

  static void add(const ConstraintStep& step, ConstraintWriter& writer);
  static void hard_law(const ConstraintStep& step, int block, Constraints& constraints);
  static void soft_law(const ConstraintStep& step, int block, Constraints& constraints);
  static std::string describe(const Model& model, std::span<const Contact> contacts, const Constraint& constraint);
};

}  // namespace touchstone
