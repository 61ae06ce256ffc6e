#include "touchstone/sim/events/event_solver.hpp"

#include <algorithm>
#include <string>

#include "touchstone/dynamics/algorithms.hpp"

namespace touchstone {
namespace {

SimulatorOptions options_of(const StepContext& s) {
  constexpr double kTolerance = 1e-13;
  SimulatorOptions options = s.rules.solver_options(s.model, s.options);
  options.tolerance = std::min(kTolerance, options.tolerance);
  options.threads = 1;
  return options;
}

SimulatorOptions pyramid_options(const StepContext& s, int facets) {
  SimulatorOptions options = options_of(s);
  options.solver = "lcp-lemke";
  options.solver_options = {"facets=" + std::to_string(facets)};
  options.tolerance = 1e-9;
  options.max_iterations = 0;
  return options;
}

}  // namespace

EventSolver::EventSolver(const StepContext& s, int facets)
    : solver_(pyramid_options(s, facets)), is_cone_(false), change_(VectorX::Zero(s.model.nv)) {}

EventSolver::EventSolver(const StepContext& s) : solver_(options_of(s)), change_(VectorX::Zero(s.model.nv)) {}

bool EventSolver::solve(StepContext& s, Survey& survey, const VectorX& v_free) {
  Constraints& c = survey.c;
  change_.setZero();
  if (lambda_.size() < c.rows()) lambda_.resize(2 * c.rows());
  lambda_.setZero();
  if (c.count() == 0) return true;
  survey.data.v_free = v_free;
  constraint_velocity(s.model, c, v_free, c.free_velocity);
  solve_constraint_rows(s.model, survey.data.scope, survey.data.L, survey.data.D_inverse, c);
  StepReport report;
  const IslandSolver::Step step{s.model, survey.data, c, 1e-3, lambda_, &v_free, false};
  solver_.begin_step();
  const int islands = solver_.begin(step, report);
  for (int island = 0; island < islands; ++island) solver_.solve_island(island, 0, step);
  solver_.finish(0.0, report);
  add_constraint_force(s.model, c, lambda_, change_);
  touchstone::solve(s.model, survey.data, change_);
  s.report.iterations += report.iterations;
  s.report.largest_iterations = std::max(s.report.largest_iterations, report.largest_iterations);
  s.report.islands = std::max(s.report.islands, report.islands);
  s.report.times.solve += report.times.solve;
  s.report.times.certify += report.times.certify;
  bool is_solved = change_.allFinite();
  for (int island = 0; island < islands && !is_cone_; ++island)
    is_solved = is_solved && solver_.status(island) == SolveStatus::kSolved;
  if (is_cone_) is_solved = is_solved && report.residuals.natv_relative <= s.options.tolerance;
  if (is_solved && is_cone_) keep_worst(report.residuals, s.report.residuals);
  return is_solved;
}

}  // namespace touchstone
