#include "touchstone/solvers/ncp_newton.hpp"

#include "touchstone/solvers/path_following.hpp"

namespace touchstone {
namespace {

constexpr int kAttempts = 4;  // starts, each with a larger barrier
constexpr double kBarrierGrowth = 100.0;

}  // namespace

void NcpNewtonOptions::describe(OptionList& list) {
  SolverOptions::describe(list);
  list.add("sweeps", sweeps, 0, 100000, "Gauss-Seidel sweeps before the first step");
  list.add("polish", polish, "try Newton steps with the modes of the rounded point on the way");
}

SolveStatus NcpNewtonSolver::run(const ContactProblem& problem, const NcpNewtonOptions& options,
                                 NcpNewtonWorkspace& workspace, Solution& solution) const {
  SolveStatus status{};
  if (!begin_dual_solve(problem, options, DualScaling::kBlocks, workspace.dual, solution, workspace.lambda, status)) {
    return status;
  }
  const DualProblem& dual = workspace.dual;
  const double tolerance = velocity_tolerance(options, dual);
  double residual = sweep_first(options.sweeps, tolerance, workspace.contacts, workspace);
  PathOutcome outcome = residual <= tolerance ? PathOutcome::kConverged : PathOutcome::kLimit;
  SmoothingNewtonSettings settings{.tolerance = tolerance, .max_iterations = options.max_iterations};
  if (outcome != PathOutcome::kConverged) workspace.system.prepare(dual, &problem);
  workspace.system.reset_count();
  workspace.path.history = options.record_history ? &solution.history : nullptr;
  for (int attempt = 0; attempt < kAttempts && outcome != PathOutcome::kConverged && settings.max_iterations > 0;
       ++attempt) {
    outcome = follow_path(settings, options.polish, workspace.system, workspace.path, workspace.polish, dual,
                          workspace.lambda, workspace.u, residual);
    solution.iterations += workspace.path.iterations();
    if (outcome == PathOutcome::kLimit) break;
    settings.max_iterations = options.max_iterations - solution.iterations;
    const double size = scaled_residual(dual, workspace.lambda, workspace.u);
    settings.barrier = kBarrierGrowth * std::max(settings.barrier, size * size);
  }
  solution.factorizations = workspace.system.factorizations();
  return end_dual_solve(problem, dual, workspace.lambda, status_of(outcome), solution);
}

}  // namespace touchstone
