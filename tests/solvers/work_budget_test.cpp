// Counted work that solves of `auto` share: it ends them, with the best point and an honest status.
#include "touchstone/solvers/auto/work_budget.hpp"

#include <gtest/gtest.h>

#include "touchstone/contact/certify.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/solvers/auto/auto.hpp"

namespace touchstone {
namespace {

struct Answer {
  SolveStatus status{};
  Solution solution;
};

Answer solve_within(const ContactProblem& problem, WorkBudget* budget) {
  const AutoSolver solver;
  const auto options = solver.make_options();
  options->relative_tolerance = 1e-6;
  AutoWorkspace workspace;
  workspace.budget = budget;
  Answer answer;
  answer.status = solver.solve(problem, *options, workspace, answer.solution);
  return answer;
}

TEST(WorkBudget, CountsWhatASolveTakesAndChangesNothing) {
  const ContactProblem problem = make_pile(300, 1);
  WorkBudget budget;
  const Answer free = solve_within(problem, nullptr), counted = solve_within(problem, &budget);
  EXPECT_EQ(counted.status, SolveStatus::kSolved);
  EXPECT_EQ(counted.solution.lambda, free.solution.lambda);
  EXPECT_EQ(counted.solution.iterations, free.solution.iterations);
  EXPECT_GT(budget.spent(), 1e6);  // a millisecond
  EXPECT_FALSE(budget.ended());
}

// Each share of what the whole solve takes ends it near there, with a point that is better than none. More work need
// not be better: what is best for the contacts that take part may not be so for those that were left out.
TEST(WorkBudget, EndsASolveWithItsBestPoint) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const ContactProblem problem = make_pile(300, seed);
    WorkBudget whole;
    ASSERT_EQ(solve_within(problem, &whole).status, SolveStatus::kSolved);
    const double at_zero = certify(problem, VectorX::Zero(problem.nrow())).natv_relative;
    for (const double share : {0.01, 0.1, 0.3, 0.6}) {
      WorkBudget budget(share * whole.spent());
      const Answer answer = solve_within(problem, &budget);
      EXPECT_EQ(answer.status, SolveStatus::kMaxIterations) << seed << " " << share;
      EXPECT_TRUE(budget.ended());
      EXPECT_LT(budget.spent(), (share + 0.25) * whole.spent()) << seed << " " << share;
      EXPECT_LT(certify(problem, answer.solution.lambda).natv_relative, 0.5 * at_zero) << seed << " " << share;
    }
  }
}

TEST(WorkBudget, IsSharedByTheSolvesThatHaveIt) {
  const ContactProblem problem = make_pile(300, 1);
  WorkBudget whole;
  solve_within(problem, &whole);
  WorkBudget budget(1.5 * whole.spent());
  EXPECT_EQ(solve_within(problem, &budget).status, SolveStatus::kSolved);
  EXPECT_EQ(solve_within(problem, &budget).status, SolveStatus::kMaxIterations);
  EXPECT_LT(budget.spent(), 1.75 * whole.spent());
  const double spent = budget.spent();
  EXPECT_EQ(solve_within(problem, &budget).status, SolveStatus::kMaxIterations);
  EXPECT_LT(budget.spent() - spent, 0.05 * whole.spent());  // a few sweeps
}

}  // namespace
}  // namespace touchstone
