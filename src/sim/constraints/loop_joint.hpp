// Loop joints: the relative motions that a joint between two bodies does not leave free, up to six rows a joint. All
// rows of a joint act at the origin of its frame b. Constraint::index is the loop joint.
//
// What a type holds is a table of model/loop_joint.cpp; this kind only turns it into rows.
#pragma once

#include "touchstone/model/loop_joint.hpp"
#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone {

struct LoopJointKind {
  static constexpr ConstraintKind kKind = ConstraintKind::kLoopJoint;
  static constexpr const char* kName = "loop joint";
  static constexpr Violation kViolation = Violation::kTwoSided;
  static constexpr Work kWork = Work::kConstraint;

  static void add(const ConstraintStep& step, ConstraintWriter& writer);
  static void hard_law(const ConstraintStep& step, int block, Constraints& constraints);
  static void soft_law(const ConstraintStep& step, int block, Constraints& constraints);
  static bool wrench(const ConstraintScene& scene, const Constraint& constraint, const double* impulse,
                     PairWrench& wrench);
  static WarmStartKey key(std::span<const Contact>, const Constraint& constraint) { return key_of_element(constraint); }
  static std::string describe(const Model& model, std::span<const Contact> contacts, const Constraint& constraint);
};

// Rows of a loop joint, or of its coordinates, as rows between its bodies.
PairRows pair_rows(const LoopJoint& joint, const LoopFrames& frames, const LoopRow* rows, int count);
// dJ/dt v of a row, up to gravity: how fast its rate changes while no joint accelerates.
double row_drift(const ConstraintStep& step, const LoopJoint& joint, const LoopFrames& frames, const LoopRow& row);
// How much a translation or rotation of the joint weighs: the sum over both bodies (MuJoCo's diagApprox).
double loop_weight(const ReferenceWeights& weights, const LoopJoint& joint, bool is_rotation);
// 1 for a translation, the body length for a rotation.
double loop_length(const ConstraintStep& step, const LoopJoint& joint, bool is_rotation);

}  // namespace touchstone
