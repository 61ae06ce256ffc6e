// The Cholesky factorisation of block-sparse symmetric positive definite matrices: G + (rho + eta) I of ADMM, and
// A + J' W J of the Newton methods. Multifrontal, see block_sparse_symbolic.hpp.
#pragma once

#include <vector>

#include "touchstone/math/aligned.hpp"
#include "touchstone/math/block_sparse_matrix.hpp"
#include "touchstone/math/block_sparse_symbolic.hpp"

namespace touchstone {

class BlockSparseCholesky {
 public:
  // Analyses the pattern of M if it is new; factorize does so too.
  void analyze(const BlockSparseMatrix& M);
  // Factors M + shift I + extra. M counts as symmetric; its pattern must be symmetric with all diagonal blocks, and its
  // values are read on one side of the diagonal only. `extra`, a matrix of diagonal blocks, may be null. The pattern is
  // analysed if it is new; otherwise nothing is allocated. Returns false if the sum is not positive definite.
  bool factorize(const BlockSparseMatrix& M, double shift = 0.0, const BlockDiagonal* extra = nullptr);

  // x = (factored matrix)^-1 x.
  void solve(double* x);
  void solve(VectorX& x) { solve(x.data()); }

  const BlockSparseSymbolic& symbolic() const { return symbolic_; }

 private:
  void allocate();

  BlockSparseSymbolic symbolic_;
  bool allocated_ = false;
  FrontStack stack_;
  AlignedVector lower_;   // lower panels
  AlignedVector gather_;  // the part of x that a front touches
};

// The same for who has symbolic factors of its own: `lower` has symbolic.lower_values numbers, `gather` as many as the
// largest front rows.
bool factorize_cholesky(const BlockSparseSymbolic& symbolic, const BlockSparseMatrix& M, double shift,
                        const BlockDiagonal* extra, FrontStack& stack, double* lower);
void solve_cholesky(const BlockSparseSymbolic& symbolic, const double* lower, double* gather, double* x);

}  // namespace touchstone
