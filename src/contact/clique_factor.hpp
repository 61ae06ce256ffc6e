// The Cholesky factor of A, one dense block for each clique, and products with A^-1.
#pragma once

#include <vector>

#include "touchstone/contact/problem.hpp"
#include "touchstone/math/aligned.hpp"

namespace touchstone {

struct CliqueFactor {
  AlignedVector L;  // A = L L', layout of PrimalData::A, lower triangles

  // Returns the first clique whose inertia is not positive definite, or -1.
  int factorize(const PrimalData& primal);

  // x = A^-1 x; x has nv entries.
  void solve(const PrimalData& primal, VectorX& x) const;

  // Y = L^-1 J': column-major blocks of clique size x block size, layout of J. Then G_ij = sum over cliques of Y_i'
  // Y_j.
  void half_solve_jacobian(const PrimalData& primal, AlignedVector& Y) const;
};

}  // namespace touchstone
