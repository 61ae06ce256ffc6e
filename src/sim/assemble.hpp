// From contacts, limits, friction and equalities of the model to the constraints of one step: stage 4.
#pragma once

#include <span>

#include "touchstone/collision/contact.hpp"
#include "touchstone/model/state.hpp"
#include "touchstone/sim/constraints.hpp"
#include "touchstone/sim/options.hpp"
#include "touchstone/sim/reference_weights.hpp"

namespace touchstone {

// Fills `constraints` but for Y. Needs compute_free_motion for the same state and step (kinematics, velocities,
// v_free). `remaining` (s) is how long the next velocity will act on the configuration `state`: h for Euler's rule.
// A contact that no joint lets open or close is left out: it has no force to speak of.
// Order: contacts, joint limits, joint friction, tendon limits, tendon friction, equalities, bounded servos.
void assemble_constraints(const Model& model, const Parameters& parameters, const State& state, const Data& data,
                          std::span<const Contact> contacts, const ReferenceWeights& weights, double h,
                          double remaining, const SimulatorOptions& options, Constraints& constraints);

}  // namespace touchstone
