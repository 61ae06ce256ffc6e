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
// one sparse factorisation of the equalities of an island.
#pragma once

#include <utility>
#include <vector>

#include "touchstone/contact/problem.hpp"
#include "touchstone/math/block_sparse_cholesky.hpp"

namespace touchstone {

class MinimumNorm {
 public:
  // Replaces impulses of a problem with a sparse dual view. False: nothing was changed, as without equalities.
  bool apply(const ContactProblem& problem, VectorX& lambda);

 private:
  bool choose(const ContactProblem& problem);
  void fill(const ContactProblem& problem);

  std::vector<int> blocks_, local_, row_;  // chosen ones; nblock: number among them or -1; their rows
  std::vector<std::pair<int, int>> pattern_;
  BlockSparseMatrix G_;
  BlockSparseCholesky factor_;
  VectorX weight_, x_;  // e W; impulses
};

}  // namespace touchstone
