// Force limits that several actuators share, as derivatives of a step see them.
#pragma once

#include "touchstone/sim/step_context.hpp"

namespace touchstone {

// Whether the limit of a joint cuts what actuators do to a dof in the step: then their forces there are constant. Not
// where a servo takes part that is no constant force: it keeps the limit by itself. `is_soft`: of softened models,
// whose forces are all those of the start.
bool is_cut(const StepContext& step, bool is_soft, int dof);

// How many actuators are at a limit that moves with what others do, which derivatives take to be constant; and gravity
// compensation by actuators that a limit cuts, which they take to be whole.
int count_moving_limits(const StepContext& step, bool is_soft);

}  // namespace touchstone
