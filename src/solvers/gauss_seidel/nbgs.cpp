#include "touchstone/solvers/gauss_seidel/nbgs.hpp"

namespace touchstone {

SolveStatus NbgsSolver::run(const ContactProblem& problem, const NbgsOptions& options, NbgsWorkspace& workspace,
                            Solution& solution) const {
  SolveStatus status{};
  if (!begin_dual_solve(problem, options, DualScaling::kBlocks, workspace, solution, workspace.lambda, status)) {
    return status;
  }
  workspace.prepare_equalities();
  workspace.contacts.prepare(workspace.dual);
  status = iterate_gauss_seidel(options, ContactModel::kNcp, workspace, solution, workspace.contacts);
  return end_dual_solve(problem, workspace.dual, workspace.lambda, status, solution);
}

}  // namespace touchstone
