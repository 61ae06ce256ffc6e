// What needs the inertia at the reference configuration while a model is built.
#pragma once

#include "touchstone/model/transmission.hpp"

namespace touchstone {

// Rejects dofs that move no mass (or warns of them), resolves damping ratios of position servos, and fills the actuator
// parameters. Written plainly and apart from dynamics/, which needs a finished model.
void finish_with_reference_inertia(Model& model, bool allow_massless, const std::string& massless_option = {});

}  // namespace touchstone
