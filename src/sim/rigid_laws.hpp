// The laws of hard constraints: bias and compliance of each row, with stabilisation and restitution.
#pragma once

#include <span>

#include "touchstone/collision/contact.hpp"
#include "touchstone/dynamics/data.hpp"
#include "touchstone/sim/constraints.hpp"
#include "touchstone/sim/options.hpp"
#include "touchstone/sim/reference_weights.hpp"

namespace touchstone {

// Fills bias, compliance and recovery of all rows. `remaining` is how long the new velocity acts on the configuration,
// what a gap may close in.
void set_rigid_laws(const Model& model, const ReferenceWeights& weights, std::span<const Contact> contacts,
                    const Data& data, double h, double remaining, const StabilisationOptions& s,
                    Constraints& constraints);

}  // namespace touchstone
