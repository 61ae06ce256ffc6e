#include "touchstone/solvers/solver.hpp"

#include <algorithm>

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
  }
  return "unknown";
}

bool begin_dual_solve(const ContactProblem& problem, const SolverOptions& options, DualScaling scaling,
                      DualProblem& dual, Solution& solution, VectorX& lambda, SolveStatus& status) {
  solution.iterations = 0;
  solution.factorizations = 0;
  solution.shift = 0.0;
  solution.infeasible = false;
  solution.history.clear();
  solution.message.clear();
  Verdict verdict =
      prepare_dual(problem, {.scaling = scaling, .check_definiteness = options.validation == Validation::kFull}, dual);
  if (!verdict.usable()) {
    status = verdict.status == ProblemStatus::kInvalid ? SolveStatus::kInvalidProblem : SolveStatus::kUnsupported;
    solution.message = std::move(verdict.message);
    solution.lambda.setZero(problem.nrow());
    solution.u.setZero(problem.nrow());
    solution.v.resize(0);
    return false;
  }
  if (options.warm_start && solution.lambda.size() == problem.nrow() && solution.lambda.allFinite()) {
    scale_lambda(dual, solution.lambda, lambda);
  } else {
    lambda.setZero(problem.nrow());
  }
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
  compute_next_velocity(problem, dual, solution.lambda, solution.v);
  if (solution.message.empty()) {
    if (status == SolveStatus::kMaxIterations) solution.message = "not converged within max_iterations";
    if (status == SolveStatus::kStalled) solution.message = "no more progress";
  }
  return status;
}

}  // namespace touchstone
