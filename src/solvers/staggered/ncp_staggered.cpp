#include "touchstone/solvers/staggered/ncp_staggered.hpp"

#include "touchstone/math/cones.hpp"

namespace touchstone {

SolveStatus NcpStaggeredSolver::run(const ContactProblem& problem, const NcpStaggeredOptions& options,
                                    StaggeredWorkspace& workspace, Solution& solution) const {
  SolveStatus status{};
  const DualProblem& dual = workspace.dual;
  if (!begin_dual_solve(problem, options, options.scaling(), workspace, solution, workspace.lambda, status)) {
    return status;
  }
  const auto tangent = [](int m, const double* mu, double normal, const double* point, double* result) {
    project_ellipsoid(m - 1, mu, normal, point, result);
  };
  const auto residual = [&](const VectorX& lambda, const VectorX& u) {
    return natv(dual, ContactModel::kNcp, lambda, u);
  };
  status = StaggeredProjections(options, workspace, tangent, residual).run(problem, solution);
  return end_dual_solve(problem, dual, workspace.frozen, status, solution);
}

}  // namespace touchstone
