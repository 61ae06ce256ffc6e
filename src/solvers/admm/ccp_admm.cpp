#include "touchstone/solvers/admm/ccp_admm.hpp"

namespace touchstone {

SolveStatus CcpAdmmSolver::run(const ContactProblem& problem, const CcpAdmmOptions& options, AdmmWorkspace& workspace,
                               Solution& solution) const {
  return solve_with_admm(problem, options, ContactModel::kCcp, workspace, solution);
}

}  // namespace touchstone
