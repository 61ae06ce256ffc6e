// Of all impulses of equalities that do the same to the bodies, those of least norm.
//
// Loops that say the same twice (a planar four-bar in space, a table on three points) have no unique reactions, and a
// solver returns any of them, those of its start too. Their motion is unique. Of the rows E of all equalities of an
// island, with impulses lambda and W = diag(1/length^2) (turns count by the length of their row, so that the norm is
// one of N s):
//     min lambda*' W lambda*   subject to   J_E' lambda* = J_E' lambda
// Method: P = (G_EE + e W)^-1 e W, e tiny, is the projection onto the null space of J_E' up to e over the eigenvalues
// of G_EE; lambda* = lambda - P^2 lambda, whose trace in what bodies feel is of second order: their velocities change
// by e W (P lambda - P^2 lambda), which is measured. Contacts keep their impulses; equalities with a compliance of
// their own are left alone. Where no row repeats others P takes away nothing to speak of; pivots of the factor do not
// tell, since a row with a small share in what is redundant has a large one. Cost: one factorisation of the equalities
// of an island, a dense one of few rows, and a few solves.
//
// The tiny compliance R that the hard model gives to loops (sim/models/hard.cpp) is a proximal term: solvers see
// G + R, so that redundant rows have a factor, and its effect on the answer, R lambda in the rows' velocities, is taken
// out here by lambda += (G_EE + e W)^-1 R lambda, a step of the proximal point method (Rockafellar 1976) with the
// impulses of contacts held. What it leaves is smaller by e over the eigenvalues of G_EE.
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
  // Looks at a problem with a sparse dual view. False: there is nothing to do, as without equalities.
  bool prepare(const ContactProblem& problem);
  // Replaces the impulses of a problem that was prepared. False: nothing was changed, because it would be felt. That is
  // where impulses are huge, at a dead centre or where loops contradict each other.
  bool apply(const ContactProblem& problem, VectorX& lambda);

 private:
  bool choose(const ContactProblem& problem);
  void weigh(const ContactProblem& problem);
  double shift(const ContactProblem& problem, std::size_t own, int r) const;
  bool factor_dense(const ContactProblem& problem);
  bool factor_sparse(const ContactProblem& problem);
  void solve(VectorX& x);

  std::vector<int> blocks_, local_, row_;  // chosen ones; nblock: number among them or -1; their rows
  std::vector<std::pair<int, int>> pattern_;
  BlockSparseMatrix G_;
  BlockSparseCholesky factor_;
  DenseFactor dense_;
  bool is_dense_ = false;
  double largest_ = 0.0;           // diagonal, in metres
  VectorX weight_, x_, y_, once_;  // e W; impulses; what is taken from them; P lambda
};

}  // namespace touchstone
