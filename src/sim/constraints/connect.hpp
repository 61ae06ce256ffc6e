// A connect: the anchors of two bodies coincide. Three rows, v_b - v_a at the anchors; error p_b - p_a.
#pragma once

#include "touchstone/sim/constraints/loop_type.hpp"

namespace touchstone {

struct ConnectLoop {
  static constexpr EqualityType kType = EqualityType::kConnect;
  static void add(const ConstraintStep& step, const Equality& equality, ConstraintWriter& writer);
  static void drift(const ConstraintScene& scene, const Equality& equality, double* drift);
  static double weight(const Model& model, const ReferenceWeights& weights, const Equality& equality, int row);
  static bool wrench(const ConstraintScene& scene, const Equality& equality, const double* impulse, PairWrench& wrench);
};

}  // namespace touchstone
