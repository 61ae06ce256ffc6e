#include "touchstone/solvers/auto/auto.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace touchstone {
namespace {

constexpr int kMaxRounds = 2;           // of leaving out and verifying; then everything takes part
constexpr double kWorthReducing = 0.9;  // share of the blocks below which parts are cut out
constexpr int kSmall = 12;              // blocks: below, parts are not worth their cost
constexpr int kWarmGuessSweeps = 3, kColdGuessSweeps = 4;
constexpr double kFrictions[] = {10.0, 30.0, 1e2, 3e2, 1e3, 1e4, 1e6};  // on the way to more
constexpr double kCompliances[] = {1e-4, 1e-2};
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();  // natv of a start
constexpr int kCompliantSteps = 100;                                   // at most, for each of them
// Relative natv that no compliance improves on, however strict the tolerance: where impulses are known to diverge, and
// where not.
constexpr double kAccurate = 1e-6, kNearlySolved = 1e-3;

struct Outcome {
  double natv = 0.0;   // m/s, largest of all parts
  double shift = 0.0;  // scaled
  bool infeasible = false;
  int steps = 0;  // Newton's, the most of a part
};

bool out_of_time(const PipelineSettings& settings) {
  return settings.deadline.passed() || (settings.budget != nullptr && settings.budget->ended());
}

void solve_part(const AutoOptions& options, const PipelineSettings& settings, PipelineWorkspace& part,
                Solution& solution, Outcome& outcome) {
  double value = run_pipeline(settings, part);
  outcome.infeasible = outcome.infeasible || part.infeasible;
  outcome.steps = std::max(outcome.steps, part.steps);
  const double enough = (part.infeasible ? kAccurate : kNearlySolved) * part.dual.velocity_scale;
  const bool good = value <= std::max(settings.tolerance, enough);
  if (!good && settings.thorough && options.allow_compliance) {
    part.kept = part.lambda;
    bool shifted = false;
    PipelineSettings soft = settings;
    soft.max_steps = std::min(settings.max_steps, kCompliantSteps);
    soft.start_natv = kUnknown;
    for (const double shift : kCompliances) {
      if (out_of_time(settings)) break;
      if (run_shifted(soft, shift, part) > settings.tolerance) continue;
      outcome.shift = std::max(outcome.shift, shift);
      shifted = true;
      break;
    }
    if (!shifted && out_of_time(settings)) part.lambda = part.kept;
  }
  outcome.natv = std::max(outcome.natv, value);
  if (part.stage > solution.stage.number) solution.stage = {part.stage, stage_name(part.stage)};
  solution.iterations += part.steps + part.sweeps;
  solution.factorizations += part.system.factorizations();
}

// Whether a contact or limit seems to need no impulse, after sweeps that changed velocities by `change` at last.
bool separates(const DualProblem& dual, const VectorX& lambda, const VectorX& u, double change, int i) {
  const BlockType type = dual.blocks.type[i];
  if (type != BlockType::kCoulomb && type != BlockType::kNonNegative) return false;
  const int last = dual.blocks.row[i + 1] - 1;
  return lambda[last] <= 0.0 && u[last] * dual.weight[i] > change;
}

// The parts one after another, from and to w.whole.
void solve_parts(const AutoOptions& options, const PipelineSettings& settings, AutoWorkspace& w, Solution& solution,
                 Outcome& outcome) {
  while (static_cast<int>(w.part.size()) < w.parts.count()) w.part.push_back(std::make_unique<PipelineWorkspace>());
  for (int p = 0; p < w.parts.count(); ++p) {
    PipelineWorkspace& part = *w.part[p];
    const int* blocks = w.parts.blocks.data() + w.parts.start[p];
    const int size = w.parts.start[p + 1] - w.parts.start[p];
    part.space_blocks.assign(blocks, blocks + size);
    part.space = {w.space.problem, &part.space_blocks, w.space.source};
    extract_part(w.dual, blocks, size, w.position, part.dual);
    gather_part(w.dual, blocks, size, w.whole, part.lambda);
    part.knows_u = w.knows_u;
    if (w.knows_u) gather_part(w.dual, blocks, size, w.known_u, part.known_u);
    solve_part(options, settings, part, solution, outcome);
    scatter_part(w.dual, blocks, size, part.lambda, w.whole);
  }
}

// All blocks that are not left out as one part.
void take_as_one(const std::vector<char>& chosen, DualParts& parts) {
  parts.start.assign(1, 0);
  parts.blocks.clear();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] != 0) parts.blocks.push_back(static_cast<int>(i));
  }
  parts.start.push_back(static_cast<int>(parts.blocks.size()));
}

// Sweeps over everything, then guesses which blocks take part. Returns how many.
int choose_blocks(const AutoOptions& options, bool warm, AutoWorkspace& w) {
  const DualProblem& dual = w.dual;
  w.chosen.assign(static_cast<std::size_t>(dual.nblock()), 1);
  if (!options.reduce) return dual.nblock();
  w.prepare_equalities();
  w.contacts.prepare(dual);
  double change = 0.0;
  for (int k = 0; k < (warm ? kWarmGuessSweeps : kColdGuessSweeps); ++k)
    change = gauss_seidel_sweep(w, 1.0, w.contacts);
  compute_velocity(dual, w.lambda, w.u);
  int count = dual.nblock();
  for (int i = 0; i < dual.nblock(); ++i) {
    if (!separates(dual, w.lambda, w.u, change, i)) continue;
    w.chosen[i] = 0;
    --count;
  }
  return count;
}

// Blocks that were left out and approach after all take part from now on. Returns whether there are none.
bool verify_left_out(double tolerance, AutoWorkspace& w) {
  bool complete = true;
  for (int i = 0; i < w.dual.nblock(); ++i) {
    const int last = w.dual.blocks.row[i + 1] - 1;
    if (w.chosen[i] != 0 || w.whole_u[last] * w.dual.weight[i] >= -tolerance) continue;
    w.chosen[i] = 1;
    complete = false;
  }
  return complete;
}

// Solves w.dual from w.lambda; the answer is in w.whole.
Outcome solve_dual(const ContactProblem& problem, const AutoOptions& options, PipelineSettings settings,
                   AutoWorkspace& w, Solution& solution) {
  const DualProblem& dual = w.dual;
  const JointSpace whole{dual.doubtful ? nullptr : &problem, nullptr,
                         w.primal_source};  // the primal view is not scaled
  w.space = whole;
  Outcome outcome;
  const auto solve_as_one = [&] {
    settings.thorough = true;
    w.space = whole;
    solve_part(options, settings, w, solution, outcome);
    w.whole = w.lambda;
    return outcome;
  };
  if (dual.nblock() <= kSmall || dual.nrow() <= NewtonSystem::kLargestDense) return solve_as_one();
  settings.start_natv = kUnknown;
  const int count = choose_blocks(options, settings.warm, w);
  settings.swept = options.reduce;
  if (count > kWorthReducing * dual.nblock()) w.chosen.assign(w.chosen.size(), 1);
  w.whole = w.lambda;
  for (int round = 0;; ++round) {
    outcome = {};
    options.islands ? w.parts.find(dual, w.chosen) : take_as_one(w.chosen, w.parts);
    const bool everything = static_cast<int>(w.parts.blocks.size()) == dual.nblock();
    if (everything && w.parts.count() == 1) {
      w.lambda = w.whole;
      return solve_as_one();
    }
    settings.thorough = everything;
    solve_parts(options, settings, w, solution, outcome);
    settings.max_steps -= outcome.steps;
    compute_velocity(dual, w.whole, w.whole_u);
    if (out_of_time(settings) || settings.max_steps <= 0) break;
    if (verify_left_out(settings.tolerance, w) && (everything || outcome.natv <= settings.tolerance)) break;
    if (round + 1 >= kMaxRounds || outcome.natv > settings.tolerance) w.chosen.assign(w.chosen.size(), 1);
    settings.warm = true;
  }
  outcome.natv = natv(dual, ContactModel::kNcp, w.whole, w.whole_u);
  return outcome;
}

// With much friction the methods lose their way. From a solution with less, which is easier, to one with more: when
// nothing slides any more it is one for all larger coefficients. Returns whether w.whole is now a solution.
bool raise_friction(const ContactProblem& problem, const AutoOptions& options, PipelineSettings settings,
                    AutoWorkspace& w, Solution& solution) {
  std::vector<double>& mu = w.dual.blocks.mu;
  w.friction = mu;
  const auto cut = [&](double most) {
    for (std::size_t r = 0; r < mu.size(); ++r) mu[r] = std::min(w.friction[r], most);
  };
  AutoOptions strict = options;
  strict.allow_compliance = false;
  settings.warm = false;
  settings.start_natv = kUnknown;
  w.knows_u = false;
  w.start.setZero(w.dual.nrow());
  bool solved = false;
  for (const double most : kFrictions) {
    if (!(most < *std::max_element(w.friction.begin(), w.friction.end())) || out_of_time(settings)) break;
    cut(most);
    w.lambda = w.start;
    if (solve_dual(problem, strict, settings, w, solution).natv > settings.tolerance) continue;
    w.start = w.whole;
    settings.warm = true;
    mu = w.friction;
    compute_velocity(w.dual, w.whole, w.whole_u);
    solved = natv(w.dual, ContactModel::kNcp, w.whole, w.whole_u) <= settings.tolerance;
    if (solved) break;
  }
  mu = w.friction;
  return solved;
}

}  // namespace

void AutoOptions::describe(OptionList& list) {
  SolverOptions::describe(list);
  list.add("reduce", reduce, "leave out what separates by itself, verify afterwards");
  list.add("islands", islands, "solve parts that are not coupled apart");
  list.add("allow_compliance", allow_compliance, "where no solution exists, add a compliance and report it");
}

std::unique_ptr<SolverOptions> AutoSolver::make_strict(const SolverOptions& options) const {
  auto strict = std::make_unique<AutoOptions>(dynamic_cast<const AutoOptions&>(options));
  strict->allow_compliance = false;
  return strict;
}

SolveStatus AutoSolver::run(const ContactProblem& problem, const AutoOptions& options, AutoWorkspace& w,
                            Solution& solution) const {
  SolveStatus status{};
  if (!begin_dual_solve(problem, options, DualScaling::kBlocks, w, solution, w.lambda, status)) return status;
  const DualProblem& dual = w.dual;
  PipelineSettings settings{.tolerance = velocity_tolerance(options, dual),
                            .warm = options.warm_start && !w.lambda.isZero(),
                            .max_steps = options.max_iterations,
                            .deadline = w.deadline,
                            .budget = w.budget};
  const auto finish = [&](const VectorX& lambda, const Outcome& outcome) {
    status = outcome.natv <= settings.tolerance ? SolveStatus::kSolved
             : w.deadline.passed()              ? SolveStatus::kTimeLimit
             : out_of_time(settings)            ? SolveStatus::kMaxIterations
                                                : SolveStatus::kStalled;
    if (status != SolveStatus::kSolved && outcome.shift > 0.0) {
      // Scaled G is s G s: the largest shift in the problem's units.
      for (int r = 0; r < dual.nrow(); ++r) {
        const double scale = dual.u_scale[r] / dual.lambda_scale[r];
        solution.shift = std::max(solution.shift, outcome.shift * scale);
      }
      solution.message = fmt::format(
          "not solved as given; the impulses are those with a compliance of at most {:.3g} added to the diagonal of G",
          solution.shift);
    }
    solution.infeasible = outcome.infeasible && status != SolveStatus::kSolved;
    if (options.record_history) solution.history.push_back(outcome.natv / dual.velocity_scale);
    return end_dual_solve(problem, dual, lambda, status, solution);
  };

  w.knows_u = settings.warm && w.known_velocity != nullptr && w.known_velocity->size() == dual.nrow();
  reserve_pipeline(w);
  for (VectorX* v : {&w.whole, &w.known_u}) v->resize(dual.nrow());
  if (w.knows_u) w.known_u = w.known_velocity->cwiseQuotient(dual.u_scale);
  if (settings.warm) {
    compute_velocity(dual, w.lambda, w.u);
    const double value = natv(dual, ContactModel::kNcp, w.lambda, w.u);
    if (value <= settings.tolerance) {
      solution.stage = {0, stage_name(0)};
      return finish(w.lambda, {.natv = value});
    }
    settings.start_natv = value;
  }
  Outcome outcome = solve_dual(problem, options, settings, w, solution);
  const bool slippery =
      std::none_of(dual.blocks.mu.begin(), dual.blocks.mu.end(), [](double mu) { return mu > kLargeFriction; });
  if (outcome.natv <= settings.tolerance || slippery) return finish(w.whole, outcome);
  w.direct = w.whole;
  if (!raise_friction(problem, options, settings, w, solution)) return finish(w.direct, outcome);
  outcome = {};
  compute_velocity(dual, w.whole, w.whole_u);
  outcome.natv = natv(dual, ContactModel::kNcp, w.whole, w.whole_u);
  return finish(w.whole, outcome);
}

}  // namespace touchstone
