// What needs the inertia at the reference configuration while a model is built.
#pragma once

#include "touchstone/model/transmission.hpp"

namespace touchstone {

// Rejects dofs that move no mass, resolves damping ratios of position servos, and fills the actuator parameters.
// Written plainly and apart from dynamics/, which needs a finished model.
void finish_with_reference_inertia(Model& model);

}  // namespace touchstone
