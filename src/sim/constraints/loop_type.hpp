// What a type of equality is: one module, listed in loop.cpp.
#pragma once

#include <concepts>

#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone {

template <typename Type>
concept LoopModule = requires(const ConstraintStep& step, const ConstraintScene& scene, const ReferenceWeights& weights,
                              const Equality& equality, ConstraintWriter& writer, int row, const double* impulse,
                              PairWrench& wrench, double* drift) {
  { Type::kType } -> std::convertible_to<EqualityType>;
  // The block's rows; it has been begun.
  { Type::add(step, equality, writer) } -> std::same_as<void>;
  // dJ/dt v of all rows, after compute_bias; those of couplings have none.
  { Type::drift(scene, equality, drift) } -> std::same_as<void>;
  // What a row weighs: the sum over both sides (MuJoCo's diagApprox).
  { Type::weight(scene.model, weights, equality, row) } -> std::same_as<double>;
  // The wrench of the rows' impulses on bodies; false if they act on joints.
  { Type::wrench(scene, equality, impulse, wrench) } -> std::same_as<bool>;
};

// dJ/dt v of a point of a body, up to gravity, which is the same for all: after compute_bias the accelerations in data
// are those of joints that do not accelerate.
Vec3 point_drift(const ConstraintScene& scene, int body, Vec3 p);

// The axes of the world, as rows.
void world_axes(double scale, Vec3* axes);

}  // namespace touchstone
