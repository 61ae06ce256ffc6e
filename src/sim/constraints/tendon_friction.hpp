// Dry friction in tendons: the rate of its length, with an impulse in [-h f, h f]. Constraint::index is the tendon.
#pragma once

#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone {

struct TendonFrictionKind : JointSpaceKind {
  static constexpr ConstraintKind kKind = ConstraintKind::kTendonFriction;
  static constexpr const char* kName = "tendon friction";
  static constexpr Violation kViolation = Violation::kNone;
  static constexpr Work kWork = Work::kConstraint;

  static void add(const ConstraintStep& step, ConstraintWriter& writer);
  static void hard_law(const ConstraintStep& step, int block, Constraints& constraints);
  static void soft_law(const ConstraintStep& step, int block, Constraints& constraints);
  static std::string describe(const Model& model, std::span<const Contact> contacts, const Constraint& constraint);
};

}  // namespace touchstone
