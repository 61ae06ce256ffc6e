#include "touchstone/solvers/auto.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace touchstone {
namespace {

constexpr int kMaxRounds = 4;           // of leaving out and verifying; then everything takes part
constexpr double kWorthReducing = 0.9;  // share of the blocks below which parts are cut out
constexpr int kSmall = 12;              // blocks: below, neither islands nor parts are worth their cost
constexpr int kWarmSweeps = 3, kColdSweeps = 4;
constexpr double kCompliances[] = {1e-8, 1e-6, 1e-4, 1e-2};

struct Outcome {
  double natv = 0.0;   // m/s, largest of all islands
  double shift = 0.0;  // scaled
  bool infeasible = false;
};

void solve_part(const AutoOptions& options, const PipelineSettings& settings, PipelineWorkspace& part,
                Solution& solution, Outcome& outcome) {
  double value = run_pipeline(settings, part);
  outcome.infeasible = outcome.infeasible || part.infeasible;
  if (value > settings.tolerance && settings.thorough && options.allow_compliance) {
    for (const double shift : kCompliances) {
      if (run_shifted(settings, shift, part) > settings.tolerance) continue;
      outcome.shift = std::max(outcome.shift, shift);
      break;
    }
  }
  outcome.natv = std::max(outcome.natv, value);
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

// All blocks that are not left out as one part.
void take_as_one(const std::vector<char>& chosen, DualIslands& parts) {
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
  for (int k = 0; k < (warm ? kWarmSweeps : kColdSweeps); ++k) change = gauss_seidel_sweep(w, 1.0, w.contacts);
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

}  // namespace

void AutoOptions::describe(OptionList& list) {
  SolverOptions::describe(list);
  list.add("reduce", reduce, "leave out what separates by itself, verify afterwards");
  list.add("islands", islands, "solve parts that are not coupled apart");
  list.add("allow_compliance", allow_compliance, "where no solution exists, add a compliance and report it");
}

SolveStatus AutoSolver::run(const ContactProblem& problem, const AutoOptions& options, AutoWorkspace& w,
                            Solution& solution) const {
  SolveStatus status{};
  if (!begin_dual_solve(problem, options, DualScaling::kBlocks, w.dual, solution, w.lambda, status)) return status;
  const DualProblem& dual = w.dual;
  PipelineSettings settings{.tolerance = velocity_tolerance(options, dual),
                            .warm = options.warm_start && !w.lambda.isZero(),
                            .max_steps = options.max_iterations};
  const auto finish = [&](const VectorX& lambda, double value, double shift, bool infeasible) {
    status = value <= settings.tolerance ? SolveStatus::kSolved : SolveStatus::kStalled;
    if (status != SolveStatus::kSolved && shift > 0.0) {
      // Scaled G is s G s: the largest shift in the problem's units.
      for (int r = 0; r < dual.nrow(); ++r) {
        const double scale = dual.u_scale[r] / dual.lambda_scale[r];
        solution.shift = std::max(solution.shift, shift * scale);
      }
      solution.message = fmt::format(
          "not solved as given; the impulses are those with a compliance of at most {:.3g} added to the diagonal of G",
          solution.shift);
    }
    solution.infeasible = infeasible && status != SolveStatus::kSolved;
    if (options.record_history) solution.history.push_back(value / dual.velocity_scale);
    return end_dual_solve(problem, dual, lambda, status, solution);
  };

  if (settings.warm) {
    compute_velocity(dual, w.lambda, w.u);
    const double value = natv(dual, ContactModel::kNcp, w.lambda, w.u);
    if (value <= settings.tolerance) return finish(w.lambda, value, 0.0, false);
  }
  Outcome outcome;
  const auto solve_whole = [&] {
    settings.thorough = true;
    w.problem = &problem;
    solve_part(options, settings, w, solution, outcome);
    return finish(w.lambda, outcome.natv, outcome.shift, outcome.infeasible);
  };
  if (dual.nblock() <= kSmall || dual.nrow() <= NewtonSystem::kLargestDense) return solve_whole();
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
      return solve_whole();
    }
    settings.thorough = everything;
    while (static_cast<int>(w.island.size()) < w.parts.count())
      w.island.push_back(std::make_unique<PipelineWorkspace>());
    for (int p = 0; p < w.parts.count(); ++p) {
      PipelineWorkspace& part = *w.island[p];
      part.problem = nullptr;
      const int* blocks = w.parts.blocks.data() + w.parts.start[p];
      const int size = w.parts.start[p + 1] - w.parts.start[p];
      extract_part(dual, blocks, size, w.position, part.dual);
      gather_part(dual, blocks, size, w.whole, part.lambda);
      solve_part(options, settings, part, solution, outcome);
      scatter_part(dual, blocks, size, part.lambda, w.whole);
    }
    compute_velocity(dual, w.whole, w.whole_u);
    if (verify_left_out(settings.tolerance, w) && (everything || outcome.natv <= settings.tolerance)) break;
    if (round + 1 >= kMaxRounds || outcome.natv > settings.tolerance) w.chosen.assign(w.chosen.size(), 1);
    settings.warm = true;
  }
  return finish(w.whole, natv(dual, ContactModel::kNcp, w.whole, w.whole_u), outcome.shift, outcome.infeasible);
}

}  // namespace touchstone
