// The linear systems of all Newton methods for the NCP: (G + Lambda) x = b with a block diagonal Lambda.
//
// Method: multifrontal LU of G + Lambda; G is taken as it is, symmetric or not. Lambda regularises: neither a
//   rank-deficient nor an ill-conditioned G hurts as long as Lambda stays above kFloor.
// Rows that must not move get Lambda = kFixed, which is exact to rounding.
// Cost: one factorisation for each Lambda; each solution two triangular solves.
#pragma once

#include "touchstone/contact/dual.hpp"
#include "touchstone/math/block_sparse_lu.hpp"

namespace touchstone {

class NewtonSystem {
 public:
  static constexpr double kFixed = 1e20;
  static constexpr double kFloor = 1e-13;

  // For a scaled dual problem, which must stay alive. Keeps the symbolic factors while the pattern holds.
  void prepare(const DualProblem& dual);

  BlockDiagonal Lambda;

  // Returns false if the matrix is singular to rounding even with a larger floor.
  bool factorize();
  void solve(VectorX& x);

  int factorizations() const { return factorizations_; }
  void reset_count() { factorizations_ = 0; }
  const BlockSparseLu& lu() const { return lu_; }

 private:
  const DualProblem* dual_ = nullptr;
  BlockSparseLu lu_;
  int factorizations_ = 0;
};

}  // namespace touchstone
