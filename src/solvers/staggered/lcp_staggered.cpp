#include "touchstone/solvers/staggered/lcp_staggered.hpp"

#include "touchstone/solvers/lcp/pyramid.hpp"

namespace touchstone {

void LcpStaggeredOptions::describe(OptionList& list) {
  StaggeredOptions::describe(list);
  list.add("facets", facets, 4, Pyramid::kMaxFacets, "facets of the friction pyramid, a multiple of 4");
}

SolveStatus LcpStaggeredSolver::run(const ContactProblem& problem, const LcpStaggeredOptions& options,
                                    StaggeredWorkspace& workspace, Solution& solution) const {
  SolveStatus status{};
  const DualProblem& dual = workspace.dual;
  if (!begin_dual_solve(problem, options, options.scaling(), workspace, solution, workspace.lambda, status)) {
    return status;
  }
  if (!Pyramid::valid(options.facets, solution.message)) {
    return end_dual_solve(problem, dual, workspace.lambda, SolveStatus::kUnsupported, solution);
  }
  const Pyramid pyramid(options.facets);
  const auto tangent = [&](int m, const double* mu, double normal, const double* point, double* result) {
    pyramid.project_tangent(m, mu, normal, point, result);
  };
  const auto residual = [&](const VectorX& lambda, const VectorX& u) { return pyramid_natv(dual, pyramid, lambda, u); };
  status = StaggeredProjections(options, workspace, tangent, residual).run(problem, solution);
  return end_dual_solve(problem, dual, workspace.frozen, status, solution);
}

}  // namespace touchstone
