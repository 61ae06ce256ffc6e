// Couplings: the displacement of one joint or tendon is a polynomial of that of another, y - y0 = p(x - x0), or a
// constant. One row.
#pragma once

#include "touchstone/sim/constraints/loop_type.hpp"

namespace touchstone {

struct JointCoupling {
  static constexpr EqualityType kType = EqualityType::kJoint;
  static void add(const ConstraintStep& step, const Equality& equality, ConstraintWriter& writer);
  static void drift(const ConstraintScene&, const Equality&, double* drift) { *drift = 0.0; }
  static double weight(const Model& model, const ReferenceWeights& weights, const Equality& equality, int row);
  static bool wrench(const ConstraintScene&, const Equality&, const double*, PairWrench&) { return false; }
};

struct TendonCoupling {
  static constexpr EqualityType kType = EqualityType::kTendon;
  static void add(const ConstraintStep& step, const Equality& equality, ConstraintWriter& writer);
  static void drift(const ConstraintScene&, const Equality&, double* drift) { *drift = 0.0; }
  static double weight(const Model& model, const ReferenceWeights& weights, const Equality& equality, int row);
  static bool wrench(const ConstraintScene&, const Equality&, const double*, PairWrench&) { return false; }
};

}  // namespace touchstone
