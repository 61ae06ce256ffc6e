// The factorisation of a small dense matrix, of which a first part is symmetric and positive definite and the rest need
// not be: Cholesky for the first, LU with exchanged rows for what is left. Memory is kept from matrix to matrix.
//
//   factor.resize(n);
//   ... fill columns ...
//   factor.eliminate(pivots)    the symmetric part, if there is one: only entries on and below the diagonal are read
//   ... add to the rest what is not symmetric ...
//   factor.factorize()
#pragma once

#include <cstddef>
#include <vector>

#include "touchstone/math/aligned.hpp"

namespace touchstone {

class DenseFactor {
 public:
  // An n x n matrix without defined values.
  void resize(int n);
  int size() const { return n_; }
  double* column(int c) { return values_.data() + static_cast<std::size_t>(c) * static_cast<std::size_t>(leading_); }

  // Eliminates the first `pivots` rows and columns of a symmetric matrix; the rest becomes its Schur complement, in
  // full. Returns false, leaving rubbish, if a pivot is not positive.
  bool eliminate(int pivots);
  // Factors the rest, or all if nothing was eliminated. Returns false if a pivot vanishes or is not finite.
  bool factorize();
  // x = (matrix)^-1 x.
  void solve(double* x) const;

 private:
  int n_ = 0, leading_ = 0, pivots_ = 0;
  AlignedVector values_;       // column-major, columns `leading_` apart
  std::vector<int> exchange_;  // n: the row that a pivot row was exchanged with, both counted in the rest
  AlignedVector inverse_;      // n: of the factor's diagonal
};

}  // namespace touchstone
