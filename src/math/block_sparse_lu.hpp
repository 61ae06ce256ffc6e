// The LU factorisation of block-sparse matrices whose pattern is symmetric and whose values are not: the Newton systems
// of the NCP. Multifrontal, see block_sparse_symbolic.hpp; rows are exchanged within a supernode, not between
// supernodes, so it relies on diagonal blocks that are not singular (G + Lambda has them). One step of iterative
// refinement on demand repairs what that costs.
#pragma once

#include <vector>

#include "touchstone/math/aligned.hpp"
#include "touchstone/math/block_sparse_matrix.hpp"
#include "touchstone/math/block_sparse_symbolic.hpp"

namespace touchstone {

class BlockSparseLu {
 public:
  // Analyses the pattern of M if it is new; factorize does so too.
  void analyze(const BlockSparseMatrix& M);

  // Factors M + shift I + extra; see BlockSparseCholesky. Returns false if a pivot vanishes or is not finite.
  bool factorize(const BlockSparseMatrix& M, double shift = 0.0, const BlockDiagonal* extra = nullptr);

  // The same for a symmetric sum, by Cholesky's method in half the time; only one side of the diagonal is read. Returns
  // false if the sum is not positive definite.
  bool factorize_symmetric(const BlockSparseMatrix& M, double shift = 0.0, const BlockDiagonal* extra = nullptr);

  // x = (factored matrix)^-1 x.
  void solve(double* x);
  void solve(VectorX& x) { solve(x.data()); }

  // Improves x, a solution for the right-hand side b, by one step with the residual of M + shift I + extra, the
  // arguments of factorize. Returns the largest residual before the step.
  double refine(const BlockSparseMatrix& M, double shift, const BlockDiagonal* extra, const VectorX& b, VectorX& x);

  const BlockSparseSymbolic& symbolic() const { return symbolic_; }

  // Memory for a factor of the analysed pattern; factorize() takes it otherwise.
  void allocate(int rows);

 private:
  BlockSparseSymbolic symbolic_;
  bool allocated_ = false;
  bool is_symmetric_ = false;  // the last factor
  FrontStack stack_;
  AlignedVector lower_, upper_;  // panels
  std::vector<int> exchange_;    // pivots: the row that a pivot row was exchanged with, within its supernode
  AlignedVector gather_;
  VectorX residual_;
};

}  // namespace touchstone
