// Servos whose force limits matter in the step, and those that join branches or trees: the rate of the transmission,
// with an impulse in [h lo, h hi]; in between, the impulse is that of the force at the end of the step.
// Constraint::index is the actuator, the first of those that share a limit.
#pragma once

#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone {

struct ServoKind : JointSpaceKind {
  static constexpr ConstraintKind kKind = ConstraintKind::kServo;
  static constexpr const char* kName = "servo";
  static constexpr Violation kViolation = Violation::kNone;
  static constexpr Work kWork = Work::kActuator;

  static void add(const ConstraintStep& step, ConstraintWriter& writer);
  static void hard_law(const ConstraintStep& step, int block, Constraints& constraints);
  static void soft_law(const ConstraintStep& step, int block, Constraints& constraints);
  static std::string describe(const Model& model, std::span<const Contact> contacts, const Constraint& constraint);
};

}  // namespace touchstone
