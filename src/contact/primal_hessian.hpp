// H = A + J' W J, the matrix of every Newton-type method in velocities: one block for each group of dofs, coupled where
// A or a constraint joins two. W is block-diagonal, one block for each constraint block. By Woodbury the same matrix
// gives (G + D)^-1 = D^-1 - D^-1 J H^-1 J' D^-1 with W = D^-1 (D = R + rho + eta of ADMM).
#pragma once

#include <utility>
#include <vector>

#include "touchstone/contact/problem.hpp"
#include "touchstone/math/aligned.hpp"

namespace touchstone {

// Where Newton methods go to joint space: not below so many rows, which are quickly solved as they are, and where a
// factorisation costs at most this share of the one in contact space.
inline constexpr int kFewRows = 96;
inline constexpr double kWorthJointSpace = 0.25;

// A problem, or a choice of its blocks, in joint space.
struct JointSpace {
  const ContactProblem* problem = nullptr;   // none: there is no joint space
  const std::vector<int>* blocks = nullptr;  // ascending; none: all blocks
  PrimalSource* source = nullptr;            // that has the primal view if the problem does not

  // Whether there is a primal view, or could be one.
  bool available() const { return problem != nullptr && (problem->has_primal() || source != nullptr); }
  int dofs() const { return problem->has_primal() ? problem->primal.nv() : source->dofs(); }
  const PrimalData& primal() const { return problem->has_primal() ? problem->primal : source->primal(); }
  // Whether a system of so many rows might be smaller in joint space; its factor decides.
  bool may_help(int rows) const { return available() && rows > kFewRows && dofs() < rows; }
  int count() const { return blocks != nullptr ? static_cast<int>(blocks->size()) : problem->nblock(); }
  // The block of the problem that is the k-th of the choice.
  int block(int k) const { return blocks != nullptr ? (*blocks)[k] : k; }
};

struct PrimalHessian {
  BlockSparseMatrix H;  // block rows and columns: the groups of dofs; symmetric pattern with all diagonal blocks

  // For the pattern of A and J. Allocates unless the pattern is that of the last call.
  void set_pattern(const JointSpace& space);

  // H = A + J' W J with W numbered as the choice. W need not be symmetric, then neither is H.
  void compute(const JointSpace& space, const BlockDiagonal& W);

 private:
  bool keeps_pattern(const JointSpace& space);

  // Of the last pattern: groups; for each block its rows and the groups that it joins.
  std::vector<int> group_, joined_;
  std::vector<std::pair<int, int>> inertia_, pattern_;  // pairs of groups: of A at the last pattern; scratch
  std::vector<int> now_;                                // scratch
  std::vector<int> target_;  // for each block and each pair of its entries of J: the entry of H
  AlignedVector product_;    // scratch: W J of one entry
};

}  // namespace touchstone
