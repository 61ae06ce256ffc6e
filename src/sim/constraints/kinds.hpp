// The list of all kinds of constraints, and what the simulator asks of them without knowing which is which.
#pragma once

#include <span>
#include <string>

#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone {

// A kind as a row of a table; see ConstraintModule for what the functions do.
struct KindEntry {
  ConstraintKind kind;
  const char* name;
  Violation violation;
  Work work;
  void (*add)(const ConstraintStep&, ConstraintWriter&);
  ConstraintLaw hard_law, soft_law;
  bool (*wrench)(const ConstraintScene&, const Constraint&, const double*, PairWrench&);
  WarmStartKey (*key)(std::span<const Contact>, const Constraint&);
  std::string (*describe)(const Model&, std::span<const Contact>, const Constraint&);
};

// In the order of ConstraintKind, which is also the order of the rows of a step.
std::span<const KindEntry> constraint_kinds();
const KindEntry& entry_of(ConstraintKind kind);

// How far a block is violated, m or rad; 0 if it is not.
double violation_of(const Constraints& constraints, int block);

// The mocap body that carries a body, none if nothing does. `velocities`: nmocap.
const MocapVelocity* mocap_carrier(const Model& model, std::span<const MocapVelocity> velocities, int body);

// The rates at which mocap bodies leave a block's rows (its size). False if they count as none: nothing is carried by
// one, or one has been put elsewhere.
bool mocap_rates(const ConstraintScene& scene, std::span<const MocapVelocity> velocities,
                 const Constraints& constraints, int block, double* rates);

// Adds to the bias of a block's rows the rate at which mocap bodies leave: what they hold has their velocity.
void follow_mocap(const ConstraintStep& step, int block, Constraints& constraints);

}  // namespace touchstone
