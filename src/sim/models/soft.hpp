// MuJoCo's softened constraints, as bias and compliance of the rows of a step.
//
// Each row has a reference acceleration aref = -B w - K d r and a regularisation R (MuJoCo's documentation,
// "Computation", and Tsounis et al. 2025 V-D), with w = J v, r = position - margin, and the impedance d(r) in (0, 1):
//   B = 2 / (dmax tc),  K = 1 / (dmax tc dr)^2        solref = (tc, dr), tc at least two time steps
//   B = -s2 / dmax,     K = -s1 / dmax^2              solref = (s1, s2), both not positive
//   R = (1 - d)/d w0                                  w0 from the inverse inertia at the reference configuration
// K is zero on rows of friction. Of the acceleration of a connect or weld, the part dJ/dt v is subtracted from aref. In
// velocities: b = -(1 - h B) w + h (K d r + dJ/dt v); R stays.
#pragma once

#include <array>

#include "touchstone/model/elements.hpp"
#include "touchstone/model/impedance.hpp"
#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone::soft {

extern const ConstraintRules kRules;

constexpr double kTiny = 1e-15;  // below this a number counts as zero

// d(r) of a solimp, and its derivative.
double impedance_at(const std::array<double, 5>& solimp, double r);
double impedance_slope(const std::array<double, 5>& solimp, double r);

// Stiffness K and damping B of the reference acceleration.
ReferenceSpring reference_of(const Impedance& impedance, bool safe, double h);

// One row with the weight w0; `distance` is the r that the impedance sees (all rows of a block share it).
void set_row(const ConstraintStep& step, int row, const Impedance& impedance, double distance, bool is_friction,
             double weight, Constraints& constraints);

}  // namespace touchstone::soft
