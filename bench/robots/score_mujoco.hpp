// MuJoCo's answer under our certificate.
#pragma once

#include <mujoco/mujoco.h>

#include "touchstone/contact/certify.hpp"

namespace bench {

// After mj_forward, at the state in `data`, both with MuJoCo's own contacts, Jacobians, mass matrix and impulses:
// on the hard problem (docs/contact.md: R = 0, our stabilisation, De Saxce's correction: the NCP), and on the softened
// convex problem that MuJoCo sets out to solve.
touchstone::Residuals score_hard(const mjModel* model, const mjData* data);
touchstone::Residuals score_soft(const mjModel* model, const mjData* data);

}  // namespace bench
