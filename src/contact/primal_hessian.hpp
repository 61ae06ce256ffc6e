// H = A + J' W J, the matrix of every Newton-type method in velocities: one block for each clique, coupled where a
// constraint joins two. W is block-diagonal, one block for each constraint block. By Woodbury the same matrix gives
// (G + D)^-1 = D^-1 - D^-1 J H^-1 J' D^-1 with W = D^-1 (D = R + rho + eta of ADMM).
#pragma once

#include <utility>
#include <vector>

#include "touchstone/contact/problem.hpp"
#include "touchstone/math/aligned.hpp"

namespace touchstone {

struct PrimalHessian {
  BlockSparseMatrix H;  // block rows and columns: the cliques; symmetric pattern with all diagonal blocks

  // For the pattern of A and J. Allocates unless the pattern is that of the last call.
  void set_pattern(const ContactProblem& problem);

  // H = A + J' W J. W need not be symmetric, then neither is H.
  void compute(const ContactProblem& problem, const BlockDiagonal& W);

 private:
  BlockSparseMatrix J_pattern_;  // without values
  std::vector<int> target_;      // for each block row of J and each pair of its entries: the entry of H
  AlignedVector product_;        // scratch: W J of one entry
  std::vector<std::pair<int, int>> pattern_;
};

}  // namespace touchstone
