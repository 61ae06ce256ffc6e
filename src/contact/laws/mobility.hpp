// What a block of a problem gives way to, by itself: W_i = J_i A^-1 J_i', the diagonal blocks of G without compliance.
#pragma once

#include "touchstone/contact/problem.hpp"
#include "touchstone/math/aligned.hpp"

namespace touchstone {

// Of all blocks, from whichever view the problem has. No allocation for a size that was seen before.
void compute_mobility(const ContactProblem& problem, BlockDiagonal& W, AlignedVector& scratch);

// The effective inverse mass of a contact, w = |W|_F / m over its translational rows (Castro et al. 2022, V-B).
// W is column-major, `size` rows: [t1, t2, spin, roll1, roll2, n] up to the dimension.
double inverse_mass(const double* W, int size);

}  // namespace touchstone
