// From contacts, limits, friction and equalities of the model to the constraints of one step: stage 4.
#pragma once

#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone {

// Fills `constraints` but for Y, kind after kind (sim/constraints/kinds.hpp).
void assemble_constraints(const ConstraintStep& step, Constraints& constraints);

}  // namespace touchstone
