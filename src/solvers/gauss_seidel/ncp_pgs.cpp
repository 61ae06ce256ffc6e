#include "touchstone/solvers/gauss_seidel/ncp_pgs.hpp"

#include <algorithm>

#include "touchstone/math/cones.hpp"

namespace touchstone {

void NcpPgsOptions::describe(OptionList& list) {
  GaussSeidelOptions::describe(list);
  list.add("paper_step", paper_step, "tangential step 1 / min G_jj as in the papers, instead of 1 / max G_jj");
}

SolveStatus NcpPgsSolver::run(const ContactProblem& problem, const NcpPgsOptions& options, NcpPgsWorkspace& workspace,
                              Solution& solution) const {
  SolveStatus status{};
  if (!begin_dual_solve(problem, options, DualScaling::kBlocks, workspace, solution, workspace.lambda, status)) {
    return status;
  }
  workspace.prepare_equalities();
  const DualProblem& dual = workspace.dual;

  const auto contact = [&](int block, const double* u, double* lambda) {
    const int m = dual.blocks.size(block), n = m - 1;
    const double* A = dual.diagonal_block(block);
    const double* mu = dual.blocks.mu.data() + dual.blocks.row[block];
    const double a_nn = A[n * m + n] > 0.0 ? A[n * m + n] : dual.d[block];
    const double old_normal = lambda[n];
    lambda[n] = project_nonnegative(old_normal - u[n] / a_nn);
    // In y = lambda_t / mu, whose velocity is mu u_t, the friction ellipse is a disk.
    double stiffness = 0.0;
    for (int j = 0; j < n; ++j) {
      const double own = mu[j] * mu[j] * A[j * m + j];
      stiffness = j == 0 ? own : options.paper_step ? std::min(stiffness, own) : std::max(stiffness, own);
    }
    double y[kMaxBlockSize];
    for (int j = 0; j < n; ++j) {
      const double u_j = u[j] + A[n * m + j] * (lambda[n] - old_normal);
      y[j] = mu[j] > 0.0 && stiffness > 0.0 ? lambda[j] / mu[j] - mu[j] * u_j / stiffness : 0.0;
    }
    project_ball(n, lambda[n], y, y);
    for (int j = 0; j < n; ++j) lambda[j] = mu[j] * y[j];
  };
  status = iterate_gauss_seidel(options, ContactModel::kNcp, workspace, solution, contact);
  return end_dual_solve(problem, dual, workspace.lambda, status, solution);
}

}  // namespace touchstone
