// H = A + J' W J of Newton's method in velocities, and its Cholesky factor, in the form that suits its size:
//   blocks   islands of up to 64 groups of dofs, most of them of about six: bodies and short chains
//   dense    few dofs in smaller groups: one robot
//   sparse   the rest, block-sparse by supernodes; its symbolic part is kept while the pattern of contacts holds
#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/contact/primal_hessian.hpp"
#include "touchstone/math/aligned.hpp"
#include "touchstone/math/block_sparse_cholesky.hpp"
#include "touchstone/math/dense_factor.hpp"
#include "touchstone/math/small_block_cholesky.hpp"

namespace touchstone {

class VelocityHessian {
 public:
  // For a problem, and its A by groups. Both must stay until the last call of factor.
  void set_pattern(const JointSpace& space, const BlockSparseMatrix& A);

  // False if the matrix is not positive definite to rounding, also with a little added to its diagonal.
  bool factor(const BlockDiagonal& W);
  // x = H^-1 x, of the last factor.
  void solve(VectorX& x);

 private:
  enum class Form : std::uint8_t { kBlocks, kDense, kSparse };

  void set_blocks();
  void turn_jacobian();
  void fill_blocks(const BlockDiagonal& W);
  void fill_dense(const BlockDiagonal& W);
  void add_dense(int block, const double* W);
  bool factor_blocks(const BlockDiagonal& W);
  bool factor_dense(const BlockDiagonal& W);
  bool factor_sparse(const BlockDiagonal& W);
  int dofs() const { return A_->rows(); }

  JointSpace space_;
  const BlockSparseMatrix* A_ = nullptr;
  Form form_ = Form::kDense;
  SmallBlockCholesky blocks_;
  AlignedVector dense_;   // the matrix, on and below the diagonal
  AlignedVector turned_;  // dense: J block by block, each row by row
  DenseFactor dense_factor_;
  PrimalHessian sparse_;
  BlockSparseCholesky sparse_factor_;
};

}  // namespace touchstone
