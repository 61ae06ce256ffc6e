#include "touchstone/solvers/ncp_ipm.hpp"

#include "touchstone/solvers/path_following.hpp"

namespace touchstone {
namespace {

constexpr int kAttempts = 4;  // starts, each further inside
constexpr double kShiftGrowth = 10.0;

}  // namespace

void NcpIpmOptions::describe(OptionList& list) {
  SolverOptions::describe(list);
  list.add("sweeps", sweeps, 0, 100000, "Gauss-Seidel sweeps before the first step");
  list.add("shift", shift, 1e-6, 1e6, "how far the start is moved into the interior, times its residual");
  list.add("polish", polish, "try Newton steps with the modes of the rounded point on the way");
}

SolveStatus NcpIpmSolver::run(const ContactProblem& problem, const NcpIpmOptions& options, NcpIpmWorkspace& workspace,
                              Solution& solution) const {
  SolveStatus status{};
  if (!begin_dual_solve(problem, options, DualScaling::kBlocks, workspace.dual, solution, workspace.lambda, status)) {
    return status;
  }
  const DualProblem& dual = workspace.dual;
  const double tolerance = velocity_tolerance(options, dual);
  double residual = sweep_first(options.sweeps, tolerance, workspace.contacts, workspace);
  PathOutcome outcome = residual <= tolerance ? PathOutcome::kConverged : PathOutcome::kLimit;
  InteriorPointSettings settings{
      .tolerance = tolerance, .max_iterations = options.max_iterations, .shift = options.shift};
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
    settings.shift *= kShiftGrowth;
    settings.smallest_shift *= kShiftGrowth;
  }
  solution.factorizations = workspace.system.factorizations();
  return end_dual_solve(problem, dual, workspace.lambda, status_of(outcome), solution);
}

}  // namespace touchstone
