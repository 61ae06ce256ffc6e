#include "touchstone/sim/island_solver.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"

namespace touchstone {
namespace {

void raise(StepStatus status, StepReport& report) { report.status = std::max(report.status, status); }

// The rows of an island out of those of all constraints.
void read_rows(const Constraints& c, const TreeIsland& island, const VectorX& from, VectorX& to) {
  const Blocks& blocks = island.problem.blocks;
  to.resize(blocks.rows());
  for (int k = 0; k < blocks.count(); ++k) {
    std::copy_n(from.data() + c.blocks.row[at(island.blocks[at(k)])], blocks.size(k), to.data() + blocks.row[at(k)]);
  }
}

bool asks_for_recovery(const Constraints& c, const TreeIsland& island) {
  return std::any_of(island.blocks.begin(), island.blocks.end(), [&](int block) {
    for (int row = c.blocks.row[at(block)]; row < c.blocks.row[at(block + 1)]; ++row) {
      if (c.recovery[row] != 0.0) return true;
    }
    return false;
  });
}

// Violations stay as they are, but must not grow. Returns whether there was anything to give up.
bool give_up_recovery(Constraints& c, TreeIsland& island) {
  bool any = false;
  const Blocks& blocks = island.problem.blocks;
  for (int k = 0; k < blocks.count(); ++k) {
    const int from = c.blocks.row[at(island.blocks[at(k)])];
    for (int r = 0; r < blocks.size(k); ++r) {
      double& recovery = c.recovery[from + r];
      any = any || recovery != 0.0;
      c.bias[from + r] -= recovery;
      island.problem.dual.g[blocks.row[at(k)] + r] -= recovery;
      island.problem.b[blocks.row[at(k)] + r] -= recovery;
      recovery = 0.0;
    }
  }
  return any;
}

// The primal view of an island, made when a solver asks for it.
class TreePrimal final : public PrimalSource {
 public:
  TreePrimal(TreeIslands& islands, int island, const IslandSolver::Step& step, TreeIslands::Scratch& scratch)
      : islands_(islands), island_(island), step_(step), scratch_(scratch) {}
  int dofs() const override { return islands_[island_].dofs(step_.model); }
  const PrimalData& primal() override {
    if (!made_)
      made_ = &islands_.build_primal(island_, step_.model, step_.data, step_.constraints, scratch_, step_.velocity);
    return *made_;
  }

 private:
  TreeIslands& islands_;
  int island_;
  const IslandSolver::Step& step_;
  TreeIslands::Scratch& scratch_;
  const PrimalData* made_ = nullptr;
};

}  // namespace

IslandSolver::IslandSolver(const SimulatorOptions& options)
    : entry_(&find_solver(options.solver)),
      solver_(entry_->make()),
      solver_options_(solver_->make_options()),
      separate_(options.islands),
      pool_(options.threads == 1 ? nullptr : std::make_unique<ThreadPool>(options.threads)),
      scratch_(pool_ ? at(pool_->threads()) : 1) {
  solver_options_->relative_tolerance = options.tolerance;
  solver_options_->warm_start = options.warm_start;
  solver_options_->validation = Validation::kData;
  if (options.max_iterations > 0) solver_options_->max_iterations = options.max_iterations;
  for (const std::string& assignment : options.solver_options) set_option(*solver_options_, assignment);
  strict_options_ = solver_->make_strict(*solver_options_);
}

int IslandSolver::begin(const Step& step, StepReport& report) {
  islands_.find(step.model, step.constraints, separate_);
  report.islands = islands_.count();
  while (work_.size() < at(islands_.count())) {
    work_.push_back(std::make_unique<Work>());
    work_.back()->workspace = solver_->make_workspace();
  }
  return islands_.count();
}

// Islands have rows of their own, of lambda and of the constraints, so that threads do not meet there.
void IslandSolver::solve_island(int index, int thread, const Step& step, StageClock& clock) {
  Work& work = *work_[at(index)];
  TreeIslands::Scratch& scratch = scratch_[at(thread)];
  Constraints& c = step.constraints;
  work.times = {};
  work.residuals = {};
  work.conflict = false;
  islands_.build_problem(index, step.model, c, step.h, scratch);
  TreeIsland& island = islands_[index];
  TreePrimal primal(islands_, index, step, scratch);
  work.workspace->primal_source = &primal;
  if (step.u != nullptr) {
    read_rows(c, island, *step.u, work.known_velocity);
    work.workspace->known_velocity = &work.known_velocity;
  }
  const Blocks& blocks = island.problem.blocks;
  VectorX& local = work.solution.lambda;
  work.times.assembly = clock.lap();
  // Only recoveries are worth an attempt that softens nothing.
  const SolverOptions* strict = asks_for_recovery(c, island) ? strict_options_.get() : nullptr;
  const SolverOptions* usual = solver_options_.get();
  for (const SolverOptions* options : {strict, usual}) {
    if (options == nullptr) continue;
    read_rows(c, island, step.lambda, local);
    work.status = solver_->solve(island.problem, *options, *work.workspace, work.solution);
    if (work.status == SolveStatus::kSolved || work.status == SolveStatus::kInvalidProblem) break;
    if (options == strict) work.conflict = work.solution.infeasible && give_up_recovery(c, island);
  }
  work.workspace->primal_source = nullptr;
  work.workspace->known_velocity = nullptr;
  bool is_replaced = false;
  if (step.minimum_norm && work.status == SolveStatus::kSolved && work.minimum_norm.prepare(island.problem)) {
    work.found = local;
    is_replaced = work.minimum_norm.apply(island.problem, local);
  }
  work.times.solve = clock.lap();
  if (work.status == SolveStatus::kInvalidProblem || work.status == SolveStatus::kUnsupported) {
    local.setZero(blocks.rows());
    work.solution.u.setZero(blocks.rows());
  } else {
    work.residuals = certify(island.problem, local, work.certificate, entry_->certificate);
    if (is_replaced &&
        work.residuals.model_natv_relative > solver_options_->relative_tolerance) {  // motion comes first
      local = work.found;
      work.residuals = certify(island.problem, local, work.certificate, entry_->certificate);
    }
    if (entry_->law) certify_law(island.problem, local, *entry_->law, work.law_certificate, work.residuals);
  }
  for (int k = 0; k < blocks.count(); ++k) {
    const double* from = local.data() + blocks.row[at(k)];
    const int to = c.blocks.row[at(island.blocks[at(k)])];
    std::copy_n(from, blocks.size(k), step.lambda.data() + to);
    if (step.u != nullptr) std::copy_n(work.solution.u.data() + blocks.row[at(k)], blocks.size(k), step.u->data() + to);
  }
  work.times.certify = clock.lap();
}

void IslandSolver::solve_island(int index, int thread, const Step& step) {
  StageClock clock;
  solve_island(index, thread, step, clock);
}

void IslandSolver::finish(double wall_seconds, StepReport& report) const {
  StageTimes times;
  for (int i = 0; i < islands_.count(); ++i) {
    const Work& work = *work_[at(i)];
    times.assembly += work.times.assembly;
    times.solve += work.times.solve;
    times.certify += work.times.certify;
    report.iterations += work.solution.iterations;
    report.largest_iterations = std::max(report.largest_iterations, work.solution.iterations);
    report.shift = std::max(report.shift, work.solution.shift);
    if (work.solution.stage.number > report.stage.number) report.stage = work.solution.stage;
    report.warnings.recovery_conflict = report.warnings.recovery_conflict || work.conflict;
    if (work.status == SolveStatus::kInvalidProblem || work.status == SolveStatus::kUnsupported) {
      raise(StepStatus::kInvalidProblem, report);
      report.worst = work.solution.message;
      continue;
    }
    if (work.status != SolveStatus::kSolved) raise(StepStatus::kNotConverged, report);
    if (work.residuals.natv >= report.residuals.natv && work.residuals.worst_block >= 0) {
      report.residuals.worst_block = islands_[i].blocks[at(work.residuals.worst_block)];
    }
    keep_worst(work.residuals, report.residuals);
  }
  // Times of threads that ran side by side add up to the wall time.
  const double scale = pool_ && times.total() > 0.0 ? wall_seconds / times.total() : 1.0;
  report.times.assembly += scale * times.assembly;
  report.times.solve += scale * times.solve;
  report.times.certify += scale * times.certify;
}

}  // namespace touchstone
