// Hard constraints: contacts, limits and equalities hold exactly, with stabilisation and restitution; physical
// compliance where materials have it. This file has the laws that several kinds share.
#pragma once

#include "touchstone/model/elements.hpp"
#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone::hard {

extern const ConstraintRules kRules;

// A contact or limit at its only or last row. A true impact bounces, by `restitution` or by what the impedance means
// (sim/rebound.hpp); else the gap may close within the step, and a violation is left slowly.
void set_unilateral(const ConstraintStep& step, StabilisedKind kind, int row, double restitution,
                    const Impedance& impedance, Constraints& constraints);

// An equality: a share of the error is removed in the step.
void set_bilateral(const ConstraintStep& step, int row, double weight, Constraints& constraints);

}  // namespace touchstone::hard
