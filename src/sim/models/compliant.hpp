// Compliant contacts, for the solvers sap, lagged and similar: contacts have the physics of their materials; limits,
// equalities and servos are those of the hard model, position pass included, which the solvers take for near-rigid
// springs.
#pragma once

#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone::compliant {

const ConstraintRules& rules();

// A contact with this gap and normal velocity. A material without stiffness is near-rigid, with the dissipation of the
// options and critical linear damping: tau = beta h / pi (Castro et al. 2022, V-B).
ContactPhysics physics_of(const ConstraintStep& step, const ContactMaterial& material, double gap, double speed);

}  // namespace touchstone::compliant
