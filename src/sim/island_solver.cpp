#include "touchstone/sim/island_solver.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/sim/start_check.hpp"
#include "touchstone/solvers/auto/auto.hpp"

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

void write_rows(const Constraints& c, const TreeIsland& island, const VectorX& from, VectorX& to) {
  const Blocks& blocks = island.problem.blocks;
  for (int k = 0; k < blocks.count(); ++k)
    std::copy_n(from.data() + blocks.row[at(k)], blocks.size(k), to.data() + c.blocks.row[at(island.blocks[at(k)])]);
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

// StepReport::worst of a step whose budget has ended; short enough for a string to need no memory.
constexpr const char* kWorkEnded = "work ended";

// What is left without equalities is asked for so much more accurately than the whole: its free velocity may be larger
// than that of the whole, which tolerances are relative to.
constexpr double kRestTolerance = 0.1;

// Of the largest free velocity: what the compliance of loops may move rows by, to be taken out.
constexpr double kLeftOut = 1e-7;

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
  const auto configure = [&](SolverOptions& to) {
    to.relative_tolerance = options.tolerance;
    to.warm_start = options.warm_start;
    to.validation = Validation::kData;
    if (options.max_iterations > 0) to.max_iterations = options.max_iterations;
    for (const std::string& assignment : options.solver_options) set_option(to, assignment);
  };
  configure(*solver_options_);
  strict_options_ = solver_->make_strict(*solver_options_);
  if (!entry_->eliminates) return;
  rest_options_ = solver_->make_options();
  configure(*rest_options_);
  rest_options_->relative_tolerance *= kRestTolerance;
}

int IslandSolver::begin(const Step& step, StepReport& report) {
  islands_.find(step.model, step.constraints, separate_, step.left_out);
  report.islands = islands_.count();
  while (work_.size() < at(islands_.count())) {
    work_.push_back(std::make_unique<Work>());
    work_.back()->workspace = solver_->make_workspace();
    if (rest_options_) work_.back()->rest_workspace = solver_->make_workspace();
  }
  share_work(step.constraints);
  return islands_.count();
}

// Before any island is solved: what one has not used is not another's, whichever thread is first.
void IslandSolver::share_work(const Constraints& c) {
  const auto weight = [&](int island) {
    double rows = 0.0;
    for (const int block : islands_[island].blocks) rows += c.blocks.size(block);
    return rows * rows;
  };
  double total = 0.0;
  for (int i = 0; i < islands_.count(); ++i) total += weight(i);
  const double share = total > 0.0 ? 0.5 * work_left_ / total : 0.0;
  for (int i = 0; i < islands_.count(); ++i) {
    Work& work = *work_[at(i)];
    work.budget = WorkBudget(std::max(kLeastWork, share * weight(i)));
    for (SolverWorkspace* workspace : {work.workspace.get(), work.rest_workspace.get()}) {
      if (auto* counting = dynamic_cast<AutoWorkspace*>(workspace)) counting->budget = &work.budget;
    }
  }
}

// Equalities first, which `elimination` has taken apart, then the solver on what they leave. False if that has no
// answer.
bool IslandSolver::solve_without_loops(const ContactProblem& problem, Work& work) const {
  Solution &whole = work.solution, &rest = work.rest_solution;
  work.elimination.gather(problem, whole.lambda, rest.lambda);
  rest.clear_report();
  if (work.elimination.rest().nrow() > 0) {
    work.elimination.gather(problem, work.known_velocity, work.rest_velocity);
    work.rest_workspace->known_velocity = &work.rest_velocity;
    if (solver_->solve(work.elimination.rest(), *rest_options_, *work.rest_workspace, rest) != SolveStatus::kSolved)
      return false;
  }
  if (!work.elimination.finish(problem, rest.lambda, whole.lambda)) return false;
  whole.clear_report();
  whole.u.setZero(problem.nrow());  // as the equalities ask
  if (work.elimination.rest().nrow() > 0) work.elimination.scatter(problem, rest.u, whole.u);
  whole.iterations = 1 + rest.iterations;
  whole.factorizations = 1 + rest.factorizations;
  whole.stage = rest.stage;
  work.status = SolveStatus::kSolved;
  return true;
}

// Equalities by elimination, with impulses of least norm by the same factor if the step wants them: from what is left
// of the contacts at first, then from that without the proximal term; else by another factor.
// `afresh`: from zero, and of islands as large as can be.
bool IslandSolver::eliminate_loops(const Step& step, const TreeIsland& island, bool afresh, Work& work,
                                   StageClock& clock) const {
  enum class Way { kLeastNorm, kRefined, kCompliant };
  const ContactProblem& problem = island.problem;
  LoopElimination& elimination = work.elimination;
  for (const Way way : {Way::kLeastNorm, Way::kRefined, Way::kCompliant}) {
    if (way != Way::kCompliant && !step.minimum_norm) continue;
    if (way == Way::kRefined && (elimination.keeps_compliance() || elimination.rest().nrow() == 0)) continue;
    if (!(way == Way::kRefined ? elimination.refine(problem)
                               : elimination.begin(problem, way == Way::kLeastNorm, afresh)))
      return false;
    if (afresh) {
      work.solution.lambda.setZero(problem.nrow());
    } else {
      read_rows(step.constraints, island, step.lambda, work.solution.lambda);
    }
    if (solve_without_loops(problem, work)) {
      finish_island(step.minimum_norm && way == Way::kCompliant, problem, work, clock);
      if (work.residuals.model_natv_relative <= solver_options_->relative_tolerance) return true;
    } else if (way == Way::kRefined && !elimination.keeps_compliance()) {
      return false;
    }
  }
  return false;
}

// The last try at an island whose answer is not certified, with a little work of its own. Solved whole, rows of loops
// that repeat each other leave few digits for the rest, and a warm start may lead astray (Jansen's walker, one step in
// 3,000).
void IslandSolver::try_afresh(const Step& step, const TreeIsland& island, Work& work, StageClock& clock) const {
  const bool has_failed = work.status != SolveStatus::kInvalidProblem && work.status != SolveStatus::kUnsupported &&
                          !(work.residuals.model_natv_relative <= solver_options_->relative_tolerance);
  if (!rest_options_ || !has_failed || asks_for_recovery(step.constraints, island)) return;
  Solution& solution = work.solution;
  const SolveStatus status = work.status;
  const Residuals residuals = work.residuals;
  const int iterations = solution.iterations, factorizations = solution.factorizations;
  const SolverStage stage = solution.stage;
  work.kept = solution.lambda;
  work.kept_u = solution.u;
  const WorkBudget budget = work.budget;
  work.budget = WorkBudget(kLeastWork);
  work.known_velocity.setConstant(island.problem.nrow(), std::numeric_limits<double>::quiet_NaN());
  const bool is_solved = eliminate_loops(step, island, true, work, clock);
  const double more = work.budget.spent();
  work.budget = budget;
  work.budget.spend(more);
  if (is_solved) {
    solution.iterations += iterations;
    solution.factorizations += factorizations;
    return;
  }
  solution.lambda = work.kept;
  solution.u = work.kept_u;
  solution.iterations = iterations;
  solution.factorizations = factorizations;
  solution.stage = stage;
  work.status = status;
  work.residuals = residuals;
}

void IslandSolver::solve_whole(const Step& step, TreeIsland& island, PrimalSource& primal, Work& work) const {
  work.workspace->primal_source = &primal;
  work.workspace->known_velocity = &work.known_velocity;
  // Only recoveries are worth an attempt that softens nothing.
  const SolverOptions* strict = asks_for_recovery(step.constraints, island) ? strict_options_.get() : nullptr;
  for (const SolverOptions* options : {strict, static_cast<const SolverOptions*>(solver_options_.get())}) {
    if (options == nullptr) continue;
    read_rows(step.constraints, island, step.lambda, work.solution.lambda);
    work.status = solver_->solve(island.problem, *options, *work.workspace, work.solution);
    if (work.status == SolveStatus::kSolved || work.status == SolveStatus::kInvalidProblem) break;
    if (options == strict) work.conflict = work.solution.infeasible && give_up_recovery(step.constraints, island);
  }
  work.workspace->primal_source = nullptr;
}

// Impulses of least norm, if they are wanted, and the certificate of what is kept.
void IslandSolver::finish_island(bool minimum_norm, const ContactProblem& problem, Work& work,
                                 StageClock& clock) const {
  VectorX& lambda = work.solution.lambda;
  bool is_replaced = false;
  if (minimum_norm && work.status == SolveStatus::kSolved && work.minimum_norm.prepare(problem)) {
    work.found = lambda;
    is_replaced = work.minimum_norm.apply(problem, lambda);
  }
  work.times.solve += clock.lap();
  if (work.status == SolveStatus::kInvalidProblem || work.status == SolveStatus::kUnsupported) {
    lambda.setZero(problem.nrow());
    work.solution.u.setZero(problem.nrow());
  } else {
    work.residuals = certify(problem, lambda, work.certificate, entry_->certificate);
    if (is_replaced &&
        work.residuals.model_natv_relative > solver_options_->relative_tolerance) {  // motion comes first
      lambda = work.found;
      work.residuals = certify(problem, lambda, work.certificate, entry_->certificate);
    }
    if (entry_->law) certify_law(problem, lambda, *entry_->law, work.law_certificate, work.residuals);
  }
  work.times.certify += clock.lap();
}

// Whether the impulses of the step before are the answer, as for all that rests. Without equalities, whose impulses are
// to be those of least norm.
bool IslandSolver::accept_start(const Step& step, const TreeIsland& island, TreeIslands::Scratch& scratch,
                                Work& work) const {
  const Blocks& blocks = island.problem.blocks;
  if (!solver_options_->warm_start || !rest_options_) return false;
  if (std::find(blocks.type.begin(), blocks.type.end(), BlockType::kEquality) != blocks.type.end()) return false;
  Solution& solution = work.solution;
  read_rows(step.constraints, island, step.lambda, solution.lambda);
  if (!is_solution(step.model, step.constraints, island, solution.lambda, solver_options_->relative_tolerance, scratch,
                   work.certificate, solution.u, work.residuals))
    return false;
  solution.clear_report();
  solution.stage = {0, stage_name(0)};
  work.status = SolveStatus::kSolved;
  return true;
}

// An island whose problem would not fit into memory: its constraints are left out.
void IslandSolver::refuse_island(const Step& step, const TreeIsland& island, Work& work) {
  int rows = 0;
  for (const int block : island.blocks) {
    const int first = step.constraints.blocks.row[at(block)], size = step.constraints.blocks.size(block);
    step.lambda.segment(first, size).setZero();
    if (step.u != nullptr) step.u->segment(first, size).setConstant(std::numeric_limits<double>::quiet_NaN());
    rows += size;
  }
  work.status = SolveStatus::kInvalidProblem;
  work.solution.clear_report();
  work.solution.message = fmt::format(
      "{} constraints with {} rows join {} trees of bodies: more than {} pairs of rows on one tree are not solved for; "
      "let meshes collide as hulls or pieces, or take coarser ones",
      island.blocks.size(), rows, island.trees.size(), TreeIslands::kMostEntries);
}

void IslandSolver::keep_answer(const Step& step, const TreeIsland& island, const Work& work) const {
  write_rows(step.constraints, island, work.solution.lambda, step.lambda);
  if (step.u != nullptr) write_rows(step.constraints, island, work.solution.u, *step.u);
}

// Where paths are long G is made for rows that are no equalities alone.
void IslandSolver::solve_long_trees(int index, const Step& step, Work& work, StageClock& clock) {
  Constraints& c = step.constraints;
  TreeIsland& island = islands_[index];
  Solution &whole = work.solution, &rest = work.rest_solution;
  islands_.build_rows(index, c, step.h);
  const LongTreeSolver::Island equations{
      step.model,
      step.data,
      step.data.long_trees.diagonal,
      c,
      island.blocks,
      island.trees,
      island.problem,
      step.minimum_norm ? std::min(kLeftOut, solver_options_->relative_tolerance) : -1.0};
  read_rows(c, island, step.lambda, whole.lambda);
  if (step.u != nullptr) read_rows(c, island, *step.u, work.known_velocity);
  work.status = SolveStatus::kStalled;
  whole.clear_report();
  const bool asks = asks_for_recovery(c, island);
  bool has_pivots = false;
  for (int attempt = 0; attempt < 2; ++attempt) {
    has_pivots = work.long_trees.begin(equations);
    work.times.assembly += clock.lap();
    if (!has_pivots) break;
    const ContactProblem& others = work.long_trees.rest();
    work.status = SolveStatus::kSolved;
    rest.clear_report();
    work.long_trees.gather(island.problem, whole.lambda, rest.lambda);
    if (others.nrow() == 0) break;
    work.rest_workspace->known_velocity = nullptr;
    if (step.u != nullptr) {
      work.long_trees.gather(island.problem, work.known_velocity, work.rest_velocity);
      work.rest_workspace->known_velocity = &work.rest_velocity;
    }
    const bool is_strict = asks && attempt == 0 && strict_options_ != nullptr;
    work.status = solver_->solve(others, is_strict ? *strict_options_ : *rest_options_, *work.rest_workspace, rest);
    if (work.status == SolveStatus::kSolved || !is_strict) break;
    work.conflict = rest.infeasible && give_up_recovery(c, island);
  }
  const bool is_finite = has_pivots && work.status != SolveStatus::kInvalidProblem &&
                         work.status != SolveStatus::kUnsupported &&
                         (rest.lambda.size() == work.long_trees.rest().nrow()) &&
                         work.long_trees.finish(equations, rest.lambda, whole.lambda);
  if (is_finite) {
    whole.iterations = 1 + rest.iterations;
    whole.factorizations = 1 + rest.factorizations;
    whole.stage = rest.stage;
    whole.message = rest.message;
  }
  work.times.solve += clock.lap();
  if (is_finite) {
    work.residuals = work.long_trees.certify(equations, whole.lambda, work.certificate, whole.u);
  } else {
    if (work.status == SolveStatus::kSolved) work.status = SolveStatus::kStalled;
    whole.lambda.setZero(island.problem.nrow());
    whole.u.setZero(island.problem.nrow());
  }
  keep_answer(step, island, work);
  work.times.certify += clock.lap();
}

// Islands have rows of their own, of lambda and of the constraints, so that threads do not meet there.
void IslandSolver::solve_island(int index, int thread, const Step& step, StageClock& clock) {
  Work& work = *work_[at(index)];
  TreeIslands::Scratch& scratch = scratch_[at(thread)];
  Constraints& c = step.constraints;
  work.times = {};
  work.residuals = {};
  work.conflict = false;
  work.elimination.forget();
  work.long_trees.forget();
  if (islands_[index].blocks.empty()) {
    work.status = SolveStatus::kSolved;
    work.solution.clear_report();
    return;
  }
  const bool is_long = step.data.long_trees.used;
  if (is_long ? !islands_.fits_without_equalities(index, c) : !islands_.fits(index, c)) {
    refuse_island(step, islands_[index], work);
    return;
  }
  if (is_long) return solve_long_trees(index, step, work, clock);
  islands_.build_rows(index, c, step.h);
  TreeIsland& island = islands_[index];
  bool is_done = accept_start(step, island, scratch, work);
  if (!is_done) islands_.build_matrix(index, step.model, c, scratch);
  if (!is_done && step.u != nullptr) {
    read_rows(c, island, *step.u, work.known_velocity);
  } else if (!is_done) {
    work.known_velocity.setConstant(island.problem.nrow(), std::numeric_limits<double>::quiet_NaN());
  }
  work.times.assembly = clock.lap();
  if (!is_done && rest_options_ && !asks_for_recovery(c, island))
    is_done = eliminate_loops(step, island, false, work, clock);
  if (!is_done) {
    TreePrimal primal(islands_, index, step, scratch);
    solve_whole(step, island, primal, work);
    finish_island(step.minimum_norm, island.problem, work, clock);
    try_afresh(step, island, work, clock);
  }
  keep_answer(step, island, work);
  work.times.certify += clock.lap();
}

void IslandSolver::solve_island(int index, int thread, const Step& step) {
  StageClock clock;
  solve_island(index, thread, step, clock);
}

bool IslandSolver::has_loop_factors() const {
  for (int i = 0; i < islands_.count(); ++i) {
    const Work& work = *work_[at(i)];
    if (islands_[i].blocks.empty()) continue;
    if (work.status == SolveStatus::kInvalidProblem) return false;  // its rows were not made
    const std::vector<BlockType>& types = islands_[i].problem.blocks.type;
    const bool has_equalities = std::find(types.begin(), types.end(), BlockType::kEquality) != types.end();
    if (has_equalities && !work.elimination.has_factor() && !work.long_trees.has_factor()) return false;
  }
  return true;
}

void IslandSolver::close_loops(const Step& step, VectorX& rows, VectorX& velocity) {
  for (int i = 0; i < islands_.count(); ++i) {
    Work& work = *work_[at(i)];
    const TreeIsland& island = islands_[i];
    if (!work.elimination.has_factor() && !work.long_trees.has_factor()) continue;
    read_rows(step.constraints, island, rows, work.closing);
    if (work.long_trees.has_factor()) {
      work.long_trees.solve_equalities(island.problem, step.data.S, work.closing, velocity);
    } else {
      work.elimination.solve_equalities(island.problem, work.closing.data());
    }
    write_rows(step.constraints, island, work.closing, rows);
  }
  if (step.data.long_trees.used) return;
  add_constraint_force(step.model, step.constraints, rows, velocity);
  touchstone::solve(step.model, step.data, velocity);
}

void IslandSolver::finish(double wall_seconds, StepReport& report) {
  StageTimes times;
  for (int i = 0; i < islands_.count(); ++i) {
    const Work& work = *work_[at(i)];
    times.assembly += work.times.assembly;
    times.solve += work.times.solve;
    times.certify += work.times.certify;
    work_left_ -= work.budget.spent();
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
    if (work.status != SolveStatus::kSolved) {
      raise(StepStatus::kNotConverged, report);
      if (work.budget.ended() && report.worst.empty()) report.worst = kWorkEnded;
    }
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
