// MuJoCo's softened constraints, as bias and compliance of the rows of a step.
//
// Each row has a reference acceleration aref = -B w - K d r and a regularisation R (MuJoCo's documentation,
// "Computation", and Tsounis et al. 2025 V-D), with w = J v, r = position - margin, and the impedance d(r) in (0, 1):
//   B = 2 / (dmax tc),  K = 1 / (dmax tc dr)^2        solref = (tc, dr), tc at least two time steps
//   B = -s2 / dmax,     K = -s1 / dmax^2              solref = (s1, s2), both not positive
//   R = (1 - d)/d w0                                  w0 from the inverse inertia at the reference configuration
// K is zero on rows of friction. Of the acceleration of a connect or weld, the part dJ/dt v is subtracted from aref. In
// velocities: b = -(1 - h B) w + h (K d r + dJ/dt v); R stays.
// Elliptic cones: R_t1 = R_n / impratio, R_tj = R_t1 (mu_1 / mu_j)^2. Pyramidal cones: all edges n +- mu_j t_j have
// 2 mu_1^2 R_e / impratio with R_e that of the first edge; the normal row carries R_e / impratio, which is what
// ccp-newton expects.
#pragma once

#include <span>

#include "touchstone/collision/contact.hpp"
#include "touchstone/model/model.hpp"
#include "touchstone/sim/constraints.hpp"
#include "touchstone/sim/reference_weights.hpp"

namespace touchstone {

// d(r) of a solimp.
double impedance_at(const std::array<double, 5>& solimp, double r);

// What a row of an equality weighs: the sum over both sides (MuJoCo's diagApprox).
double equality_weight(const Model& model, const ReferenceWeights& weights, const Equality& equality, int row);

// Fills bias and compliance. Needs positions and velocities of the rows.
void set_soft_laws(const Model& model, std::span<const Contact> contacts, const ReferenceWeights& weights, double h,
                   Constraints& constraints);

}  // namespace touchstone
