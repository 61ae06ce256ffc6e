// Dry friction in joints: the rate of a dof, with an impulse in [-h f, h f]. Constraint::index is the dof.
#pragma once

#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone {

struct JointFrictionKind : JointSpaceKind {
  static constexpr ConstraintKind kKind = ConstraintKind::kJointFriction;
  static constexpr const char* kName = "joint friction";
  static constexpr Violation kViolation = Violation::kNone;
  static constexpr Work kWork = Work::kConstraint;

  static void add(const ConstraintStep& step, ConstraintWriter& writer);
  static void hard_law(const ConstraintStep& step, int block, Constraints& constraints);
  static void soft_law(const ConstraintStep& step, int block, Constraints& constraints);
  static std::string describe(const Model& model, std::span<const Contact> contacts, const Constraint& constraint);
};

}  // namespace touchstone
