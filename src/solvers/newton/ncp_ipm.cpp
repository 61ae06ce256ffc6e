#include "touchstone/solvers/newton/ncp_ipm.hpp"

#include "touchstone/solvers/newton/path_following.hpp"

namespace touchstone {
namespace {

constexpr double kShiftGrowth = 10.0;  // each start is further inside

}  // namespace

void NcpIpmOptions::describe(OptionList& list) {
  SolverOptions::describe(list);
  list.add("sweeps", sweeps, 0, 100000, "Gauss-Seidel sweeps before the first step");
  list.add("shift", shift, 1e-6, 1e6, "how far the start is moved into the interior, times its residual");
  list.add("polish", polish, "try Newton steps with the modes of the rounded point on the way");
}

SolveStatus NcpIpmSolver::run(const ContactProblem& problem, const NcpIpmOptions& options, NcpIpmWorkspace& workspace,
                              Solution& solution) const {
  return solve_on_path(problem, options, InteriorPointSettings{.shift = options.shift}, workspace, solution,
                       [](InteriorPointSettings& settings) {
                         settings.shift *= kShiftGrowth;
                         settings.smallest_shift *= kShiftGrowth;
                       });
}

}  // namespace touchstone
