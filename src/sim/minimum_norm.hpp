// Of all impulses of equalities that do the same to the bodies, those of least norm.
//
// Loops that say the same twice (a planar four-bar in space, a table on three points) have no unique reactions, and a
// solver returns any of them, those of its start too. Their motion is unique. Of the rows E of all equalities of an
// island, with impulses lambda and W = diag(1/length^2) (turns count by the length of their row, so that the norm is
// one of N s):
//     min lambda*' W lambda*   subject to   J_E' lambda* = J_E' lambda
// Method: P = (G_EE + e W)^-1 e W, e tiny, is the projection onto the null space of J_E' up to e over the eigenvalues
// of G_EE; lambda* = lambda - P^2 lambda, whose trace in what bodies feel is of second order. Velocities change by less
// than e W lambda / 4. Contacts keep their impulses; equalities with a compliance of their own are left alone. Cost:
// one factorisation of the equalities of an island. Of few rows it is a dense one, and its pivots tell whether any row
// repeats others; mostly none does, and nothing else is done.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "touchstone/contact/problem.hpp"
#include "touchstone/math/block_sparse_cholesky.hpp"
#include "touchstone/math/dense_factor.hpp"

namespace touchstone {

class MinimumNorm {
 public:
  // Looks at a problem with a sparse dual view. False: there is nothing to choose, as without equalities.
  bool prepare(const ContactProblem& problem);
  // Replaces the impulses of a problem that was prepared. False: nothing was changed.
  bool apply(const ContactProblem& problem, VectorX& lambda);

 private:
  bool choose(const ContactProblem& problem);
  void weigh(const ContactProblem& problem);
  double shift(const ContactProblem& problem, std::size_t own, int r) const;
  bool factor_dense(const ContactProblem& problem);
  bool factor_sparse(const ContactProblem& problem);

  std::vector<int> blocks_, local_, row_;  // chosen ones; nblock: number among them or -1; their rows
  std::vector<std::pair<int, int>> pattern_;
  BlockSparseMatrix G_;
  BlockSparseCholesky factor_;
  DenseFactor dense_;
  bool is_dense_ = false;
  double largest_ = 0.0;  // diagonal, in metres
  VectorX weight_, x_;    // e W; impulses
};

}  // namespace touchstone
