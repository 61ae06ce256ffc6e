// The laws of the smooth Coulomb path (coulomb_path.hpp), each as a function of one free vector.
//
// With z = lambda - u a block of barrier m has lambda(z, m) and u(z, m); nothing has to be inside a cone before. For
// contacts tangential components are those of the cone, z_k = s lambda_k - u_k / s with s = (largest mu) / mu_k.
#pragma once

#include "touchstone/solvers/newton/coulomb_path.hpp"

namespace touchstone {

// Slope of rows that must not move.
inline constexpr double kFixedSlope = 1e20;

// Fills in the rows of the block. Rows that must not move have an impulse; their u is left as it is.
void smooth_law(const Blocks& blocks, int block, PathKind kind, const VectorX& z, double m, VectorX& lambda,
                VectorX& u);

// Lambda = -du/dlambda on the path (m x m of the block, column by column) and c = du/dm (its rows of nrow numbers), at
// z and the lambda and u that it gives.
void smooth_law_slope(const Blocks& blocks, int block, PathKind kind, const VectorX& z, const VectorX& lambda,
                      const VectorX& u, double barrier, double* Lambda, double* c);

}  // namespace touchstone
