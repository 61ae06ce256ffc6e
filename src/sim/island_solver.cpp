#include "touchstone/sim/island_solver.hpp"

#include <algorithm>

#include "touchstone/base/clock.hpp"

namespace touchstone {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

void raise(StepStatus status, StepReport& report) { report.status = std::max(report.status, status); }

}  // namespace

IslandSolver::IslandSolver(const SimulatorOptions& options)
    : entry_(&find_solver(options.solver)),
      solver_(entry_->make()),
      solver_options_(solver_->make_options()),
      separate_(options.islands) {
  solver_options_->relative_tolerance = options.tolerance;
  solver_options_->warm_start = options.warm_start;
  solver_options_->validation = Validation::kData;
  if (options.max_iterations > 0) solver_options_->max_iterations = options.max_iterations;
  for (const std::string& assignment : options.solver_options) set_option(*solver_options_, assignment);
}

void IslandSolver::solve(const Model& model, const Constraints& c, double h, VectorX& lambda, StepReport& report) {
  Stopwatch watch;
  islands_.find(model, c, separate_);
  report.islands = islands_.count();
  report.times.assembly += watch.restart();
  for (int i = 0; i < islands_.count(); ++i) {
    islands_.build_problem(i, model, c, h, scratch_);
    if (workers_.size() <= at(i)) {
      workers_.push_back(std::make_unique<Worker>());
      workers_.back()->workspace = solver_->make_workspace();
    }
    Worker& worker = *workers_[at(i)];
    const Island& island = islands_[i];
    const Blocks& blocks = island.problem.blocks;
    VectorX& local = worker.solution.lambda;
    local.resize(blocks.rows());
    for (int k = 0; k < blocks.count(); ++k) {
      local.segment(blocks.row[at(k)], blocks.size(k)) =
          lambda.segment(c.blocks.row[at(island.blocks[at(k)])], blocks.size(k));
    }
    report.times.assembly += watch.restart();
    const SolveStatus status = solver_->solve(island.problem, *solver_options_, *worker.workspace, worker.solution);
    report.times.solve += watch.restart();
    report.iterations += worker.solution.iterations;
    report.largest_iterations = std::max(report.largest_iterations, worker.solution.iterations);
    report.shift = std::max(report.shift, worker.solution.shift);
    if (status == SolveStatus::kInvalidProblem || status == SolveStatus::kUnsupported) {
      raise(StepStatus::kInvalidProblem, report);
      report.worst = worker.solution.message;
      local.setZero(blocks.rows());
    } else {
      if (status != SolveStatus::kSolved) raise(StepStatus::kNotConverged, report);
      const Residuals residuals = certify(island.problem, local, worker.certificate, entry_->certificate);
      if (residuals.natv >= report.residuals.natv && residuals.worst_block >= 0) {
        report.residuals.worst_block = island.blocks[at(residuals.worst_block)];
      }
      keep_worst(residuals, report.residuals);
    }
    for (int k = 0; k < blocks.count(); ++k) {
      lambda.segment(c.blocks.row[at(island.blocks[at(k)])], blocks.size(k)) =
          local.segment(blocks.row[at(k)], blocks.size(k));
    }
    report.times.certify += watch.restart();
  }
}

}  // namespace touchstone
