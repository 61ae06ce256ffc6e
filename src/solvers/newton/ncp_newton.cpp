#include "touchstone/solvers/newton/ncp_newton.hpp"

#include "touchstone/solvers/newton/path_following.hpp"

namespace touchstone {
namespace {

constexpr double kBarrierGrowth = 100.0;  // each start has a larger barrier

}  // namespace

void NcpNewtonOptions::describe(OptionList& list) {
  SolverOptions::describe(list);
  list.add("sweeps", sweeps, 0, 100000, "Gauss-Seidel sweeps before the first step");
  list.add("polish", polish, "try Newton steps with the modes of the rounded point on the way");
}

SolveStatus NcpNewtonSolver::run(const ContactProblem& problem, const NcpNewtonOptions& options,
                                 NcpNewtonWorkspace& workspace, Solution& solution) const {
  return solve_on_path(problem, options, SmoothingNewtonSettings{}, workspace, solution,
                       [&](SmoothingNewtonSettings& settings) {
                         const double size = scaled_residual(workspace.dual, workspace.lambda, workspace.u);
                         settings.barrier = kBarrierGrowth * std::max(settings.barrier, size * size);
                       });
}

}  // namespace touchstone
