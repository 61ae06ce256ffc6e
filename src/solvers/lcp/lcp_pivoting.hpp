// What the pivoting methods for the LCP, Lemke's and Dantzig's, begin with.
#pragma once

#include "touchstone/solvers/lcp/lcp_form.hpp"
#include "touchstone/solvers/solver.hpp"

namespace touchstone {

struct LcpPivotingWorkspace : SolverWorkspace {
  LcpForm form;
  VectorX lambda, u, z;

  // natv of lambda in the model of the pyramid, in m/s. Fills u.
  double residual(const Pyramid& pyramid);
};

// Prepares the dual problem and the variables of the LCP. Returns false, with status and solution complete, if there is
// nothing to do or if the problem is not for dense pivoting.
bool begin_pivoting(const ContactProblem& problem, const SolverOptions& options, int facets,
                    LcpPivotingWorkspace& workspace, Solution& solution, SolveStatus& status);

}  // namespace touchstone
