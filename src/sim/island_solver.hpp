// Solves the contact problems of a step, island by island, and certifies each.
//
// Islands may be shared among threads (SimulatorOptions::threads). Each has a workspace of its own, and what they
// report is gathered in the order of the islands, so the bits do not depend on the number of threads.
#pragma once

#include <memory>
#include <vector>

#include "touchstone/base/thread_pool.hpp"
#include "touchstone/contact/certify.hpp"
#include "touchstone/contact/laws/certify_law.hpp"
#include "touchstone/sim/islands.hpp"
#include "touchstone/sim/long_tree_solver.hpp"
#include "touchstone/sim/loop_elimination.hpp"
#include "touchstone/sim/minimum_norm.hpp"
#include "touchstone/sim/options.hpp"
#include "touchstone/sim/report.hpp"
#include "touchstone/sim/stage_clock.hpp"
#include "touchstone/solvers/auto/work_budget.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {

class IslandSolver {
 public:
  // Throws Error for an unknown solver or option.
  explicit IslandSolver(const SimulatorOptions& options);

  // What the problems of a step are made of. Needs solve_constraint_rows; lambda holds the warm start and gets the
  // answer; so does u, if it is there, with entries that are not numbers where nothing is known.
  struct Step {
    const Model& model;
    const Data& data;
    Constraints& constraints;
    double h;
    VectorX& lambda;
    const VectorX* velocity = nullptr;  // nv: before the step, to start from
    bool minimum_norm = false;          // of the impulses of equalities
    VectorX* u = nullptr;
    std::span<const char> left_out = {};  // nblock: 1 for blocks that keep their impulse of zero; empty: none does
  };
  // Counted work (auto/work_budget.hpp) of all solves of one step together. A step may be solved several times: with
  // contacts that were left out, that it meets late, with servos at their limits. Each time may take half of what is
  // left, so that the last one has something too; islands share it by the squares of their rows, but have kLeastWork
  // each. Only `auto` counts; other solvers end by their iterations.
  static constexpr double kStepWork = 4e9, kLeastWork = 2e7;
  // The budget is whole again.
  void begin_step() { work_left_ = kStepWork; }
  // What was counted since.
  double work() const { return kStepWork - work_left_; }

  // Finds the islands. Then solve_island for each of them, in any order and thread, then finish.
  int begin(const Step& step, StepReport& report);
  // Builds, solves and certifies the problem of one island; `thread` from 0 on. Where it has no solution because
  // violated constraints ask for recoveries that contradict each other, they are given up, and it is solved again; a
  // compliance is the last resort.
  void solve_island(int island, int thread, const Step& step, StageClock& clock);
  void solve_island(int island, int thread, const Step& step);
  // Fills the solver's part of the report, times of assembly (the problems), solve and certify included.
  void finish(double wall_seconds, StepReport& report);

  // Whether every island with equalities has a factor of them, of the last solve_island.
  bool has_loop_factors() const;
  // rows (of all constraints; zero but for equalities) <- the impulses that make these velocities of the equalities,
  // where others do nothing; velocity += what they make of the dofs.
  void close_loops(const Step& step, VectorX& rows, VectorX& velocity);

  // None for one thread.
  ThreadPool* pool() const { return pool_.get(); }
  const TreeIslands& islands() const { return islands_; }
  const CatalogueEntry& entry() const { return *entry_; }
  // Contacts that stay open may be left out: for `auto`, whose law is exact, with the warm start that tells of them.
  bool may_leave_out() const { return rest_options_ != nullptr && solver_options_->warm_start; }
  // Of one island, after solve_island.
  SolveStatus status(int island) const { return work_[static_cast<std::size_t>(island)]->status; }
  const Residuals& residuals(int island) const { return work_[static_cast<std::size_t>(island)]->residuals; }

 private:
  // What belongs to one island, by number.
  struct Work {
    std::unique_ptr<SolverWorkspace> workspace;
    Solution solution;
    LoopElimination elimination;
    std::unique_ptr<SolverWorkspace> rest_workspace;  // of what is left without equalities
    Solution rest_solution;
    VectorX rest_velocity;  // u of the warm start of the rest
    MinimumNorm minimum_norm;
    LongTreeSolver long_trees;
    VectorX known_velocity;  // u of the warm start
    VectorX closing;         // velocities of equalities, then impulses
    VectorX found;           // what the solver found, if impulses of least norm are tried instead
    VectorX kept, kept_u;    // what was found before another try
    CertificateWorkspace certificate;
    LawCertificateWorkspace law_certificate;
    WorkBudget budget;
    SolveStatus status = SolveStatus::kSolved;
    Residuals residuals;
    bool conflict = false;  // recoveries were given up
    StageTimes times;
  };
  void share_work(const Constraints& constraints);
  bool accept_start(const Step& step, const TreeIsland& island, TreeIslands::Scratch& scratch, Work& work) const;
  bool solve_without_loops(const ContactProblem& problem, Work& work) const;
  bool eliminate_loops(const Step& step, const TreeIsland& island, bool afresh, Work& work, StageClock& clock) const;
  void try_afresh(const Step& step, const TreeIsland& island, Work& work, StageClock& clock) const;
  void solve_whole(const Step& step, TreeIsland& island, PrimalSource& primal, Work& work) const;
  void solve_long_trees(int index, const Step& step, Work& work, StageClock& clock);
  void keep_answer(const Step& step, const TreeIsland& island, const Work& work) const;
  static void refuse_island(const Step& step, const TreeIsland& island, Work& work);
  void finish_island(bool minimum_norm, const ContactProblem& problem, Work& work, StageClock& clock) const;

  const CatalogueEntry* entry_;
  std::unique_ptr<ContactSolver> solver_;
  std::unique_ptr<SolverOptions> solver_options_;
  std::unique_ptr<SolverOptions> strict_options_;  // if the solver softens problems that have no solution
  std::unique_ptr<SolverOptions> rest_options_;    // if equalities may be solved for at once
  bool separate_;
  double work_left_ = kStepWork;  // may fall below zero by one iteration of each island
  TreeIslands islands_;
  std::unique_ptr<ThreadPool> pool_;           // none for one thread
  std::vector<TreeIslands::Scratch> scratch_;  // by thread
  std::vector<std::unique_ptr<Work>> work_;
};

}  // namespace touchstone
