#include "touchstone/solvers/solver.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "touchstone/contact/certify.hpp"

namespace touchstone {

const char* status_name(SolveStatus status) {
  switch (status) {
    case SolveStatus::kSolved:
      return "Solved";
    case SolveStatus::kMaxIterations:
      return "MaxIterations";
    case SolveStatus::kStalled:
      return "Stalled";
    case SolveStatus::kUnsupported:
      return "Unsupported";
    case SolveStatus::kInvalidProblem:
      return "InvalidProblem";
    case SolveStatus::kTimeLimit:
      return "TimeLimit";
  }
  return "unknown";
}

SolveStatus verify_solved(const ContactProblem& problem, const SolverOptions& options, ContactModel model,
                          Solution& solution) {
  constexpr double kRounding = 1.001;  // the solver stops on scaled data
  const Residuals residuals = certify(problem, solution.lambda, model);
  if (residuals.model_natv_relative <= kRounding * options.relative_tolerance ||
      residuals.model_natv <= kRounding * options.absolute_tolerance)
    return SolveStatus::kSolved;
  solution.message = fmt::format(
      "the certificate disagrees, natv is {:.2g} of the free velocity: numbers of the problem span more orders of "
      "magnitude than double precision has, or friction slides at a coefficient above 1e8",
      residuals.model_natv_relative);
  return SolveStatus::kStalled;
}

void Solution::clear_report() {
  iterations = 0;
  factorizations = 0;
  shift = 0.0;
  infeasible = false;
  stage = {};
  history.clear();
  message.clear();
  warning.clear();
}

bool begin_dual_solve(const ContactProblem& problem, const SolverOptions& options, DualScaling scaling,
                      SolverWorkspace& workspace, Solution& solution, VectorX& lambda, SolveStatus& status) {
  DualProblem& dual = workspace.dual;
  workspace.deadline = Deadline::in(options.time_limit);
  solution.clear_report();
  Verdict verdict =
      prepare_dual(problem, {.scaling = scaling, .check_definiteness = options.validation == Validation::kFull}, dual);
  if (!verdict.usable()) {
    status = SolveStatus::kInvalidProblem;
    solution.message = std::move(verdict.message);
    dual.doubtful = false;
    solution.lambda.setZero(problem.nrow());
    solution.u.setZero(problem.nrow());
    solution.v.resize(0);
    return false;
  }
  if (verdict.skew > kNoticeableSkew) {
    fmt::format_to(std::back_inserter(solution.warning),
                   "G is not symmetric: its skew part is {:.2g} % of its largest entry; impulses and certificate are "
                   "those of G as given",
                   100.0 * verdict.skew);
  }
  const bool warm = options.warm_start && solution.lambda.size() == problem.nrow();
  if (warm) scale_lambda(dual, solution.lambda, lambda);
  if (!warm || !lambda.allFinite()) lambda.setZero(problem.nrow());
  return true;
}

double velocity_tolerance(const SolverOptions& options, const DualProblem& dual) {
  return std::max(options.absolute_tolerance, options.relative_tolerance * dual.velocity_scale);
}

SolveStatus end_dual_solve(const ContactProblem& problem, const DualProblem& dual, const VectorX& lambda,
                           SolveStatus status, Solution& solution) {
  if (lambda.allFinite()) {
    unscale_lambda(dual, lambda, solution.lambda);
    compute_velocity(dual, lambda, solution.u);
  } else {
    solution.lambda.setZero(problem.nrow());
    solution.u = dual.g;
    solution.message = "the iteration diverged; lambda is set to zero";
    status = SolveStatus::kStalled;
  }
  solution.u.array() *= dual.u_scale.array();
  if (!solution.lambda.allFinite()) {
    solution.lambda.setZero(problem.nrow());
    solution.u.setZero(problem.nrow());
    solution.message = "the impulses are beyond the range of double precision; change the units";
    status = SolveStatus::kStalled;
  }
  compute_next_velocity(problem, solution.lambda, solution.v);
  if (solution.message.empty()) {
    if (status == SolveStatus::kMaxIterations) solution.message = "not converged within max_iterations";
    if (status == SolveStatus::kTimeLimit) solution.message = "not converged within time_limit";
    if (status == SolveStatus::kStalled) solution.message = "no more progress";
  }
  return status;
}

}  // namespace touchstone
