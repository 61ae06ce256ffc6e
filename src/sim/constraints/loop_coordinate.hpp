// What acts along the coordinates of loop joints: limits, dry friction, and one row for spring, damper and armature.
// Constraint::index is the coordinate (Model::loop_coordinate), that of a spherical joint's limit its first.
#pragma once

#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone {

// What these kinds have in common: their rows act between the bodies of the joint, along one coordinate.
struct LoopCoordinateKind {
  static bool wrench(const ConstraintScene& scene, const Constraint& constraint, const double* impulse,
                     PairWrench& wrench);
  static WarmStartKey key(std::span<const Contact>, const Constraint& constraint) { return key_of_element(constraint); }
};

// One-sided: the gap to the lower (side 0) or upper limit. A spherical joint has an upper one, of its whole angle.
struct LoopLimitKind {
  static constexpr ConstraintKind kKind = ConstraintKind::kLoopLimit;
  static constexpr const char* kName = "loop joint limit";
  static constexpr Violation kViolation = Violation::kOneSided;
  static constexpr Work kWork = Work::kConstraint;

  static void add(const ConstraintStep& step, ConstraintWriter& writer);
  static void hard_law(const ConstraintStep& step, int block, Constraints& constraints);
  static void soft_law(const ConstraintStep& step, int block, Constraints& constraints);
  static bool wrench(const ConstraintScene& scene, const Constraint& constraint, const double* impulse,
                     PairWrench& wrench);
  static WarmStartKey key(std::span<const Contact>, const Constraint& constraint) { return key_of_element(constraint); }
  static std::string describe(const Model& model, std::span<const Contact> contacts, const Constraint& constraint);
};

struct LoopFrictionKind : LoopCoordinateKind {
  static constexpr ConstraintKind kKind = ConstraintKind::kLoopFriction;
  static constexpr const char* kName = "loop joint friction";
  static constexpr Violation kViolation = Violation::kNone;
  static constexpr Work kWork = Work::kConstraint;

  static void add(const ConstraintStep& step, ConstraintWriter& writer);
  static void hard_law(const ConstraintStep& step, int block, Constraints& constraints);
  static void soft_law(const ConstraintStep& step, int block, Constraints& constraints);
  static std::string describe(const Model& model, std::span<const Contact> contacts, const Constraint& constraint);
};

// With stiffness k, damping d, armature a and the rates v before and v' after the step, the impulse is
//   a v - h k (q - rest) - (a + h d + h^2 k) v',
// an equality with R = 1/(a + h d + h^2 k); v is the rate with the rows of the step before, v - h dJ/dt v with those of
// this one. In rules that evaluate forces at the middle the spring is taken there.
struct LoopSpringKind : LoopCoordinateKind {
  static constexpr ConstraintKind kKind = ConstraintKind::kLoopSpring;
  static constexpr const char* kName = "loop joint spring";
  static constexpr Violation kViolation = Violation::kNone;
  static constexpr Work kWork = Work::kElsewhere;  // potential and kinetic energy, and the line of dampers

  static void add(const ConstraintStep& step, ConstraintWriter& writer);
  static void hard_law(const ConstraintStep& step, int block, Constraints& constraints);
  static void soft_law(const ConstraintStep& step, int block, Constraints& constraints);
  static std::string describe(const Model& model, std::span<const Contact> contacts, const Constraint& constraint);
};

}  // namespace touchstone
