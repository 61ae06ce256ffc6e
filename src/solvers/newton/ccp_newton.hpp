// ccp-newton: Newton's method on the regularised convex model, as in MuJoCo.
//
// Model: CCP with compliance R > 0 in every row: min 1/2 lambda' (G^ + R) lambda + g' lambda over K, where G^ = G - R
// is
//   the part of rigid bodies. Rows whose R is zero, or not known because the problem is given by G alone, get
//   R = alpha G_jj; Solution::shift is the largest such R, in units of G, and u = G lambda + g is reported without it.
//   cone = elliptic: K the friction cone. cone = pyramidal: MuJoCo's pyramid with edges n +- mu_j t_j, impulses
//   lambda = E'f with f >= 0, each edge with R_e = 2 mu_1^2 R_n.
// Method: Le Lidec et al. 2024, Alg. 4 ((22): primal Newton, exact line search). The primal unknown is v = v_free +
// A^-1 J' x; everything
//   is written in x, which needs nothing but G: with c = G^ x + g and the law lambda(c) = P^R_K(-R^-1 c),
//       phi(x) = 1/2 x' G^ x + sum of the laws' energies,   grad = G^ (x - lambda),
//       Newton step   (I + W G^) dx = lambda - x,   W = -d lambda / dc = V V',
//       dx = (lambda - x) - V (I + V' G^ V)^-1 V' G^ (lambda - x).
//   The iterates are those of the primal Newton method, because v never leaves v_free + range(A^-1 J').
//   Joint space: with a primal view whose factor is the smaller one, the same step is made by
//       (A + J' W J) dv = J' (lambda - x),   dx = (lambda - x) - W J dv.
//   The line search finds the zero of the derivative of phi, which is convex and piecewise smooth, by Newton within a
//   bracket.
// A nonsymmetric G is split: the skew part acts on the last lambda. That contracts only when the skew part is smaller
//   than R; a skew part above alpha / 10 (relative to the largest entry) is Unsupported.
// Stopping: natv of the regularised model.
// Cost: one block-sparse Cholesky factorisation and two products with G per iteration.
#pragma once

#include <vector>

#include "touchstone/contact/primal_hessian.hpp"
#include "touchstone/math/aligned.hpp"
#include "touchstone/math/block_sparse_cholesky.hpp"
#include "touchstone/solvers/newton/regularised_law.hpp"
#include "touchstone/solvers/solver.hpp"

namespace touchstone {

struct CcpNewtonOptions : SolverOptions {
  double alpha = 1e-5;  // R of hard rows, relative to the diagonal of G
  NewtonCone cone = NewtonCone::kElliptic;

  void describe(OptionList& list) override;
};

struct CcpNewtonWorkspace : SolverWorkspace {
  BlockSparseMatrix G_hat;   // symmetric part of scaled G, without R
  BlockSparseMatrix system;  // I + V' G^ V
  BlockSparseCholesky factor;
  VectorX R;  // nrow, scaled
  VectorX x, lambda, c, dx, dc, residual, product, u;
  AlignedVector V;  // nblock x 36, column-major: V, in joint space W
  // --- joint space ---
  PrimalHessian hessian;
  BlockSparseCholesky joint_factor;
  BlockDiagonal weight;     // W in the problem's units
  VectorX scale, velocity;  // nrow: scaled J = scale J; nv
};

class CcpNewtonSolver final : public TypedSolver<CcpNewtonOptions, CcpNewtonWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const CcpNewtonOptions& options, CcpNewtonWorkspace& workspace,
                  Solution& solution) const override;
  // Its model has a compliance that the problem does not have.
  bool promises(const CcpNewtonOptions& /*options*/, ContactModel& /*model*/) const override { return false; }
};

}  // namespace touchstone
