// The linear systems of Newton methods in joint space: (G + Lambda) x = b through the factor of
//     H = A + J' W J,   W = (Lambda + R)^-1,   by Woodbury   x = W (b - J H^-1 J' W b),
// the KKT system of A, J and Lambda + R with the impulses eliminated. Rows without compliance make W large, and digits
// are lost: a floor under Lambda bounds W, and iterative refinement with the product G x, which knows no floor, brings
// them back, or says that it could not.
// Cost: one factorisation for each Lambda; a solution is a few triangular solves and products with G.
#pragma once

#include <span>
#include <vector>

#include "touchstone/contact/dual.hpp"
#include "touchstone/contact/primal_hessian.hpp"
#include "touchstone/math/block_sparse_lu.hpp"

namespace touchstone {

// A block whose x is held to across'x = 0 by an unknown force along `along`: a sliding contact, whose impulse stays on
// its cone. Contact space holds it by a penalty in Lambda; W = Lambda^-1 would drown in that one, and needs none.
struct HeldBlock {
  int block = 0;
  double loose[kMaxBlockSize * kMaxBlockSize] = {};  // Lambda without the penalty, column by column
  double along[kMaxBlockSize] = {}, across[kMaxBlockSize] = {};
};

class JointSystem {
 public:
  static constexpr double kFloor = 1e-13;

  // For a scaled dual problem and where it comes from, which must both stay alive. Keeps the symbolic factor while the
  // pattern holds.
  void prepare(const DualProblem& dual, const JointSpace& space);
  const BlockSparseSymbolic& symbolic() const { return lu_.symbolic(); }

  // `held` in the order of blocks. Both must stay alive until the last solve. Returns false if H is singular to
  // rounding.
  bool factorize(const BlockDiagonal& Lambda, std::span<const HeldBlock> held);
  // Returns false, with x as it was, if the accuracy that a Newton step needs is not reached.
  bool solve(VectorX& x);

 private:
  void set_weights(int block, const HeldBlock* held);
  void solve_once(VectorX& x);
  void compute_residual(const VectorX& x);
  double measure(const VectorX& rows) const;
  bool refine(VectorX& x);

  const DualProblem* dual_ = nullptr;
  JointSpace space_;
  const PrimalData* primal_ = nullptr;
  const BlockDiagonal* Lambda_ = nullptr;
  std::span<const HeldBlock> held_;
  PrimalHessian hessian_;
  BlockSparseLu lu_;
  BlockDiagonal inverse_;  // W, scaled
  BlockDiagonal weight_;   // W in the problem's units
  VectorX scale_;          // nrow: scaled J = scale J
  VectorX measure_;        // nrow: what a residual counts
  VectorX velocity_, rhs_, residual_, change_;
};

}  // namespace touchstone
