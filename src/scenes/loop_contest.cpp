#include "touchstone/scenes/loop_contest.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"

namespace touchstone {
namespace {

constexpr double kSlack = 1.01;  // of the certificate against the residual that a solver stops on

double entries_of(const ContactProblem& problem) {
  const DualData& dual = problem.dual;
  if (dual.form == DualData::Form::kDense) return static_cast<double>(dual.G_dense.size());
  return static_cast<double>(dual.G_sparse.offset.back());
}

}  // namespace

const std::vector<Contestant>& contestants() {
  static const std::vector<Contestant> all{
      {"PGS-CCP", "ccp-pgs", {"de_saxce=true"}},
      {"PGS-NCP", "ncp-pgs"},
      {"NBGS", "nbgs"},
      {"RAISIM", "raisim"},
      {"RAISIM-DS", "raisim-ds"},
      {"RAISIM-DS-ES", "raisim-ds-es"},
      {"ADMM-CCP", "ccp-admm", {"penalty=fixed"}},
      {"ADMM-NCP-FP", "ncp-admm", {"penalty=fixed"}},
      {"ADMM-NCP-LA", "ncp-admm", {"penalty=linear"}},
      {"ADMM-NCP-SA", "ncp-admm", {"penalty=spectral"}},
      {"ccp-pgs", "ccp-pgs", {}, false},
      {"ccp-newton", "ccp-newton", {}, false},
      {"ncp-prox", "ncp-prox", {}, false},
      {"ncp-staggered", "ncp-staggered", {"inner_iterations=200"}, false},
      {"ncp-newton", "ncp-newton", {}, false},
      {"ncp-ipm", "ncp-ipm", {}, false},
      {"auto", "auto", {}, false},
  };
  return all;
}

Entrant::Entrant(const Contestant& contestant, const SolveBudget& budget)
    : contestant_(contestant),
      budget_(budget),
      solver_(make_solver(contestant.solver)),
      options_(solver_->make_options()),
      workspace_(solver_->make_workspace()) {
  for (const std::string_view option : contestant.options) set_option(*options_, option);
  options_->validation = Validation::kData;
  for (const std::string_view name : {"ccp-newton", "ncp-newton", "ncp-ipm", "auto"}) {
    factors_ = factors_ || contestant.solver == name;
  }
}

// A sweep is one product with G; a factorisation of n rows n^3 / 3; a staggered iteration two problems of many sweeps.
int Entrant::iteration_limit(const ContactProblem& problem) const {
  constexpr double kInnerSweeps = 400.0;  // two problems of at most inner_iterations
  const double n = problem.nrow();
  const double sweeps = contestant_.solver == "ncp-staggered" ? kInnerSweeps : 1.0;
  const double cost = std::max(factors_ ? n * n * n / 3.0 : sweeps * entries_of(problem), 1.0);
  const double least = factors_ ? 60.0 : sweeps > 1.0 ? 5.0 : 100.0;
  return static_cast<int>(std::clamp(budget_.work / cost, least, static_cast<double>(budget_.iterations)));
}

ToTolerance Entrant::solve(const ContactProblem& problem, double tolerance, const VectorX* warm) {
  options_->relative_tolerance = tolerance;
  options_->warm_start = warm != nullptr;
  options_->max_iterations = iteration_limit(problem);
  options_->record_history = false;
  if (warm != nullptr) {
    solution_.lambda = *warm;
  } else {
    solution_.lambda.resize(0);
  }
  ToTolerance result;
  const double begin = thread_seconds();
  solver_->solve(problem, *options_, *workspace_, solution_);
  result.seconds = thread_seconds() - begin;
  result.iterations = solution_.iterations;
  if (solution_.lambda.size() != problem.nrow()) solution_.lambda.setZero(problem.nrow());
  residuals_ = certify(problem, solution_.lambda, certificate_);
  result.solved = residuals_.natv_relative <= kSlack * tolerance;
  return result;
}

ContestOutcome Entrant::run(const LoopSample& sample, PenetrationProbe& probe) {
  ContestOutcome outcome;
  VectorX lambda;
  for (std::size_t k = 0; k < kTolerances.size(); ++k) {
    outcome.cold[k] = solve(sample.problem, kTolerances[k], nullptr);
    if (k <= 1) {
      outcome.residuals = residuals_;
      lambda = solution_.lambda;
    }
    if (!outcome.cold[k].solved) break;
  }
  outcome.norm = lambda.norm();
  outcome.penetration = probe(sample, next_velocity(sample.problem, lambda));
  outcome.warm = solve(sample.problem, kTolerances[1], &sample.warm);
  if (!outcome.cold[1].solved || sample.next.nrow() == 0) return outcome;
  if (solve(sample.next, kTolerances[1], nullptr).solved) {
    const double size = std::max(lambda.norm(), solution_.lambda.norm());
    outcome.jump = size > 0.0 ? (solution_.lambda - lambda).norm() / size : 0.0;
  }
  return outcome;
}

std::vector<std::pair<int, double>> Entrant::convergence(const LoopSample& sample) {
  options_->relative_tolerance = 1e-12;
  options_->warm_start = false;
  options_->max_iterations = std::min(1000, iteration_limit(sample.problem));
  options_->record_history = true;
  solution_.lambda.resize(0);
  solver_->solve(sample.problem, *options_, *workspace_, solution_);
  std::vector<std::pair<int, double>> points;
  double next = 1.0;
  for (std::size_t i = 0; i < solution_.history.size(); ++i) {
    const auto number = static_cast<double>(i + 1);
    if (number < next && i + 1 < solution_.history.size()) continue;
    next = std::max(number + 1.0, number * 1.12);
    points.emplace_back(static_cast<int>(i + 1), solution_.history[i]);
  }
  return points;
}

}  // namespace touchstone
