#include "touchstone/solvers/ncp_ipm.hpp"

namespace touchstone {

void NcpIpmOptions::describe(OptionList& list) {
  SolverOptions::describe(list);
  list.add("sweeps", sweeps, 0, 100000, "Gauss-Seidel sweeps before the first step");
  list.add("shift", shift, 1e-6, 1e6, "how far the start is moved into the interior, times its residual");
}

SolveStatus NcpIpmSolver::run(const ContactProblem& problem, const NcpIpmOptions& options, NcpIpmWorkspace& workspace,
                              Solution& solution) const {
  SolveStatus status{};
  if (!begin_dual_solve(problem, options, DualScaling::kBlocks, workspace.dual, solution, workspace.lambda, status)) {
    return status;
  }
  const DualProblem& dual = workspace.dual;
  const double tolerance = velocity_tolerance(options, dual);
  const auto current_natv = [&] {
    compute_velocity(dual, workspace.lambda, workspace.u);
    return natv(dual, ContactModel::kNcp, workspace.lambda, workspace.u);
  };
  double residual = current_natv();
  if (residual > tolerance && options.sweeps > 0) {
    workspace.prepare_equalities();
    workspace.contacts.prepare(dual);
    for (int k = 0; k < options.sweeps; ++k) gauss_seidel_sweep(workspace, 1.0, workspace.contacts);
    residual = current_natv();
  }
  if (residual <= tolerance) return end_dual_solve(problem, dual, workspace.lambda, SolveStatus::kSolved, solution);

  const InteriorPointSettings settings{
      .tolerance = tolerance, .max_iterations = options.max_iterations, .shift = options.shift};
  workspace.system.prepare(dual);
  workspace.system.reset_count();
  workspace.path.history = options.record_history ? &solution.history : nullptr;
  workspace.path.start(dual, workspace.lambda, scaled_residual(dual, workspace.lambda, workspace.u), settings);
  const PathOutcome outcome = workspace.path.iterate(workspace.system, settings);
  solution.iterations = workspace.path.iterations();
  solution.factorizations = workspace.system.factorizations();
  if (workspace.path.rounded_natv() < residual) workspace.lambda = workspace.path.rounded();
  status = outcome == PathOutcome::kConverged ? SolveStatus::kSolved
           : outcome == PathOutcome::kLimit   ? SolveStatus::kMaxIterations
                                              : SolveStatus::kStalled;
  return end_dual_solve(problem, dual, workspace.lambda, status, solution);
}

}  // namespace touchstone
