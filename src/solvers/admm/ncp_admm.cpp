#include "touchstone/solvers/admm/ncp_admm.hpp"

namespace touchstone {

SolveStatus NcpAdmmSolver::run(const ContactProblem& problem, const NcpAdmmOptions& options, AdmmWorkspace& workspace,
                               Solution& solution) const {
  return solve_with_admm(problem, options, ContactModel::kNcp, workspace, solution);
}

}  // namespace touchstone
