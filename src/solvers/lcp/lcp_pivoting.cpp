#include "touchstone/solvers/lcp/lcp_pivoting.hpp"

#include <fmt/format.h>

namespace touchstone {

double LcpPivotingWorkspace::residual(const Pyramid& pyramid) {
  compute_velocity(dual, lambda, u);
  return pyramid_natv(dual, pyramid, lambda, u);
}

bool begin_pivoting(const ContactProblem& problem, const SolverOptions& options, int facets,
                    LcpPivotingWorkspace& workspace, Solution& solution, SolveStatus& status) {
  const DualProblem& dual = workspace.dual;
  if (!begin_dual_solve(problem, options, DualScaling::kBlocks, workspace, solution, workspace.lambda, status))
    return false;
  const auto end = [&](SolveStatus outcome) {
    status = end_dual_solve(problem, dual, workspace.lambda, outcome, solution);
    return false;
  };
  if (!Pyramid::valid(facets, solution.message)) return end(SolveStatus::kUnsupported);
  const Pyramid pyramid(facets);
  if (workspace.residual(pyramid) <= velocity_tolerance(options, dual)) return end(SolveStatus::kSolved);
  workspace.form.set_structure(dual, pyramid);
  if (workspace.form.size() <= kMaxLcpVariables) return true;
  solution.message = fmt::format("the LCP has {} variables, more than {} for a dense tableau; use lcp-pgs",
                                 workspace.form.size(), kMaxLcpVariables);
  return end(SolveStatus::kUnsupported);
}

}  // namespace touchstone
