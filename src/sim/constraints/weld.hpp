// A weld: body b keeps its pose relative to body a, X_AB = relative_pose. Six rows: the point anchor_a of body b, and
// the rotation, times torque_scale.
//
// Hard: both bodies are held where that point of body b is, so that the constraint has no moment of its own; the error
// of rotation is the logarithm, in world axes. MuJoCo's: each body is held at its own point, and the error of rotation
// is the vector part of the quaternion from body b to where it should be, about half of the angle.
#pragma once

#include "touchstone/sim/constraints/loop_type.hpp"

namespace touchstone {

struct WeldLoop {
  static constexpr EqualityType kType = EqualityType::kWeld;
  static void add(const ConstraintStep& step, const Equality& equality, ConstraintWriter& writer);
  static void drift(const ConstraintScene& scene, const Equality& equality, double* drift);
  static double weight(const Model& model, const ReferenceWeights& weights, const Equality& equality, int row);
  static bool wrench(const ConstraintScene& scene, const Equality& equality, const double* impulse, PairWrench& wrench);
};

// m: what a row of the rotation is multiplied by to be a way, for a turn that is worth `length` a radian.
double weld_turn_length(const Equality& equality, double length);

}  // namespace touchstone
