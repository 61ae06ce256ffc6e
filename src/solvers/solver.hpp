// What every solver of contact problems looks like. README.md here explains; docs/add-a-solver.md shows how to add one.
//
//   const auto solver = make_solver("nbgs");              // catalogue.hpp
//   const auto options = solver->make_options();
//   const auto workspace = solver->make_workspace();
//   Solution solution;
//   if (solver->solve(problem, *options, *workspace, solution) != SolveStatus::kSolved) report(solution.message);
//   const Residuals residuals = certify(problem, solution.lambda);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/base/check.hpp"
#include "touchstone/base/clock.hpp"
#include "touchstone/contact/dual.hpp"
#include "touchstone/contact/problem.hpp"
#include "touchstone/solvers/options.hpp"
#include "touchstone/solvers/status.hpp"

namespace touchstone {

struct Solution {
  VectorX lambda;  // nrow: impulses; the guess of a warm start
  VectorX u;       // nrow: velocities G lambda + g
  VectorX v;       // nv: next velocity, if the problem has a primal view; else empty
  int iterations = 0;
  int factorizations = 0;       // of matrices of the size of the problem
  double shift = 0.0;           // largest number that was added to the diagonal of G for good; 0: the problem as given
  bool infeasible = false;      // the solver saw that no impulses satisfy all laws; only `auto` looks
  SolverStage stage;            // `auto`
  std::vector<double> history;  // record_history: natv / velocity scale after each iteration
  std::string message;          // why the status is not kSolved; empty otherwise
  std::string warning;          // what is unusual about the problem, whatever the status; empty otherwise

  // Empties all but lambda, u and v.
  void clear_report();
};

// Scratch that survives from solve to solve. One for each thread and solver; after the first solve of a size there are
// no allocations.
class SolverWorkspace {
 public:
  SolverWorkspace() = default;
  SolverWorkspace(const SolverWorkspace&) = delete;
  SolverWorkspace& operator=(const SolverWorkspace&) = delete;
  virtual ~SolverWorkspace() = default;

  DualProblem dual;   // of the last problem, for solvers that work on it
  Deadline deadline;  // of the present solve; begin_dual_solve sets it
  // Of the problem of the next solve, if it has more than it says; the caller's. Solvers that need the dual view alone
  // do not look.
  PrimalSource* primal_source = nullptr;
  // nrow: u of a similar problem, which goes with the warm start in Solution::lambda; not a number where nothing is
  // known; the caller's, none if nothing is known at all. It tells a slow slip from sticking where G lambda + g cannot:
  // a small error of lambda is a large one of u.
  const VectorX* known_velocity = nullptr;
};

class ContactSolver {
 public:
  ContactSolver() = default;
  ContactSolver(const ContactSolver&) = delete;
  ContactSolver& operator=(const ContactSolver&) = delete;
  virtual ~ContactSolver() = default;

  virtual std::unique_ptr<SolverOptions> make_options() const = 0;
  virtual std::unique_ptr<SolverWorkspace> make_workspace() const = 0;
  // The same options, but a problem that has no solution is answered as it is (Solution::infeasible), where these would
  // soften it. None if the solver never does.
  virtual std::unique_ptr<SolverOptions> make_strict(const SolverOptions& /*options*/) const { return nullptr; }

  // Never throws for numerical trouble. Options and workspace must come from this solver. Solution keeps its memory.
  virtual SolveStatus solve(const ContactProblem& problem, const SolverOptions& options, SolverWorkspace& workspace,
                            Solution& solution) const = 0;
};

// What solvers work on is scaled. Where that is doubtful (DualProblem::doubtful), this asks the certificate of the
// problem as given, and kSolved becomes kStalled with a message if it disagrees.
SolveStatus verify_solved(const ContactProblem& problem, const SolverOptions& options, ContactModel model,
                          Solution& solution);

// The base of concrete solvers: checks and casts options and workspace once.
template <typename Options, typename Workspace>
class TypedSolver : public ContactSolver {
 public:
  std::unique_ptr<SolverOptions> make_options() const override { return std::make_unique<Options>(); }
  std::unique_ptr<SolverWorkspace> make_workspace() const override { return std::make_unique<Workspace>(); }

  SolveStatus solve(const ContactProblem& problem, const SolverOptions& options, SolverWorkspace& workspace,
                    Solution& solution) const final {
    const auto* typed_options = dynamic_cast<const Options*>(&options);
    auto* typed_workspace = dynamic_cast<Workspace*>(&workspace);
    TOUCHSTONE_CHECK(typed_options != nullptr, "the options are those of another solver; use make_options()");
    TOUCHSTONE_CHECK(typed_workspace != nullptr, "the workspace is that of another solver; use make_workspace()");
    const SolveStatus status = run(problem, *typed_options, *typed_workspace, solution);
    ContactModel model{};
    if (status != SolveStatus::kSolved || !workspace.dual.doubtful || !promises(*typed_options, model)) return status;
    return verify_solved(problem, options, model, solution);
  }

 protected:
  // Whether kSolved means that natv of a model is small, and of which.
  virtual bool promises(const Options& /*options*/, ContactModel& model) const {
    model = ContactModel::kNcp;
    return true;
  }

  virtual SolveStatus run(const ContactProblem& problem, const Options& options, Workspace& workspace,
                          Solution& solution) const = 0;
};

// --- What dual solvers begin and end with ---

// Prepares workspace.dual, starts the clock of the time limit, empties the solution and puts the scaled start (zero or
// the warm start) into lambda. Returns false, with status and message set, if the solver must not run.
bool begin_dual_solve(const ContactProblem& problem, const SolverOptions& options, DualScaling scaling,
                      SolverWorkspace& workspace, Solution& solution, VectorX& lambda, SolveStatus& status);

// natv (m/s) at which a solver is done.
double velocity_tolerance(const SolverOptions& options, const DualProblem& dual);

// Converts the scaled lambda to the problem's units and fills lambda, u and v of the solution. An iterate that is not
// finite is replaced by zero. Sets the message of an unsuccessful status.
SolveStatus end_dual_solve(const ContactProblem& problem, const DualProblem& dual, const VectorX& lambda,
                           SolveStatus status, Solution& solution);

}  // namespace touchstone
