// Dampers of materials that the chosen solver does not use: a user who wrote them down should know.
#pragma once

#include <optional>

#include "touchstone/model/model.hpp"
#include "touchstone/sim/options.hpp"

namespace touchstone {

// With hard solvers all of them; with compliant ones those of the other damper: `sap`, and the others with
// linear_damping, use relaxation times, `lagged` and `similar` dissipations. None: whatever a shape says is used.
std::optional<Warning> unused_damping(const Model& model, const SimulatorOptions& options);

}  // namespace touchstone
