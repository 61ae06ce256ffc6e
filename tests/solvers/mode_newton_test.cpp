// Newton's method with guessed modes on contacts with torsion and rolling.
#include "touchstone/solvers/newton/mode_newton.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "solver_support.hpp"

namespace touchstone {
namespace {

// Feet of a robot: `count` contacts of dimension 6 on few degrees of freedom.
ContactProblem make_feet(std::mt19937& random, int count) {
  std::normal_distribution<double> normal;
  ContactProblem problem;
  const double friction[] = {1.0, 1.0, 5e-3, 1e-4, 1e-4};
  for (int i = 0; i < count; ++i) problem.blocks.add_coulomb(friction, 5);
  const int rows = 6 * count, dofs = 4 * count;
  MatrixX J(rows, dofs);
  for (double& x : J.reshaped()) x = 0.3 * normal(random);
  VectorX g(rows);
  for (int r = 0; r < rows; ++r) g[r] = r % 6 == 5 ? -0.5 - std::abs(normal(random)) : 0.3 * normal(random);
  MatrixX G = J * J.transpose() + 0.05 * MatrixX::Identity(rows, rows);
  problem.dual.set(std::move(G), std::move(g));
  problem.dual.symmetric = true;
  problem.time_step = 0.005;
  return problem;
}

struct Count {
  int solved = 0, steps = 0;
};

// From the solution of a problem whose free velocities differ by a fifth, with its slips.
void follow(const ContactProblem& problem, const Solution& before, bool locally, Count& count) {
  DualProblem dual;
  ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
  VectorX lambda, u, known = before.u.cwiseQuotient(dual.u_scale);
  scale_lambda(dual, before.lambda, lambda);
  compute_velocity(dual, lambda, u);
  LocalContacts contacts;
  contacts.prepare(dual);
  NewtonSystem system;
  system.prepare(dual);
  ModeNewton modes;
  const double tolerance = 1e-6 * dual.velocity_scale;
  const ModeNewtonSettings settings{.tolerance = tolerance,
                                    .max_steps = 6,
                                    .damping = 1e-4,
                                    .patience = kInfinity,
                                    .known_slip = true,
                                    .contacts = locally ? &contacts : nullptr};
  const double start = natv(dual, ContactModel::kNcp, lambda, u);
  const double value = modes.run(dual, system, lambda, known, settings, start, lambda, u);
  count.solved += value <= tolerance ? 1 : 0;
  count.steps += modes.steps();
}

TEST(ModeNewton, LocalSolutionsKnowTheModesOfRollingContacts) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  Count by_projection, by_solution;
  constexpr int kProblems = 100;
  for (int k = 0; k < kProblems; ++k) {
    ContactProblem problem = make_feet(random, 3 + k % 4);
    const test::Solved before = test::solve("auto", problem, {});
    ASSERT_EQ(before.status, SolveStatus::kSolved);
    for (double& x : problem.dual.g) x *= 1.0 + 0.2 * normal(random);
    follow(problem, before.solution, false, by_projection);
    follow(problem, before.solution, true, by_solution);
  }
  EXPECT_GE(by_solution.solved, 90);    // 98
  EXPECT_LE(by_projection.solved, 50);  // 28
  EXPECT_LT(by_solution.steps, by_projection.steps);
}

}  // namespace
}  // namespace touchstone
