// RaiSim's contact model: what it keeps, what it violates, and what De Saxce's correction repairs.
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>
#include <Eigen/LU>

#include "solver_support.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/solvers/gauss_seidel/raisim.hpp"

namespace touchstone {
namespace {

using test::solve;
using test::Solved;

constexpr double kPi = 3.14159265358979323846;

// The answer of a sliding contact against a sweep over all angles of the friction on the ellipse u_n = 0.
TEST(Raisim, SlidingMinimisesTheObjectiveOverTheEllipse) {
  int sliding = 0;
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const ContactProblem problem = make_random_problem({.contacts = 1, .condition = 30.0}, seed);
    DualProblem dual;
    ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
    const Matrix3 A = Eigen::Map<const Matrix3>(dual.diagonal_block(0));
    const Vector3 b = dual.g;
    const double mu = dual.blocks.mu[0];
    const Vector3 stick = -A.partialPivLu().solve(b);
    if (b[2] >= 0.0 || stick.head<2>().norm() <= mu * stick[2]) continue;
    ++sliding;
    Vector3 lambda = Vector3::Zero();
    solve_raisim_contact(dual, false, 0, dual.g.data(), lambda.data());
    EXPECT_NEAR(lambda.head<2>().norm(), mu * lambda[2], 1e-10 * lambda[2]);
    EXPECT_NEAR(A.row(2).dot(lambda) + b[2], 0.0, 1e-7);
    const auto objective = [&](const Vector3& x) { return 0.5 * x.dot(A * x) + b.dot(x); };
    const double best = objective(lambda);
    for (int k = 0; k < 3600; ++k) {
      const double c = std::cos(2 * kPi * k / 3600), s = std::sin(2 * kPi * k / 3600);
      const double r = -b[2] / (A(2, 2) / mu + A(2, 0) * c + A(2, 1) * s);
      if (r <= 0.0) continue;
      EXPECT_GE(objective({r * c, r * s, r / mu}), best - 1e-7 * std::abs(best)) << seed;
    }
  }
  EXPECT_GT(sliding, 200);
}

// Le Lidec et al. 2024, (24): with coupled directions friction does not oppose the motion. With De Saxce's correction
// it does.
TEST(Raisim, ViolatesMaximumDissipation) {
  ContactProblem problem;
  problem.blocks.add_coulomb(0.5);
  MatrixX G(3, 3);
  G << 1.0, 0.0, 0.3, 0.0, 1.0, 0.0, 0.3, 0.0, 1.0;
  problem.dual.set(G, VectorX(Vector3(1.0, 2.0, -1.0)));
  const Solved s = solve("raisim", problem, {"max_iterations=5000"});
  ASSERT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
  EXPECT_LE(s.residuals.signorini, 1e-7);
  EXPECT_LE(s.residuals.coulomb, 1e-9);
  EXPECT_GT(s.residuals.natv_relative, 1e-3);
  const auto across = [](const Solved& solved) {
    const VectorX& l = solved.solution.lambda;
    const VectorX& u = solved.solution.u;
    return std::abs(l[0] * u[1] - l[1] * u[0]) / (l.head<2>().norm() * u.head<2>().norm());
  };
  EXPECT_GT(across(s), 0.01);
  // The motion it predicts: u_t ~ -lambda_t - mu^2 lambda_n G_nt / G_nn.
  const VectorX& l = s.solution.lambda;
  const Vector2 predicted(-l[0] - 0.25 * l[2] * 0.3, -l[1]);
  EXPECT_NEAR(predicted[0] * s.solution.u[1] - predicted[1] * s.solution.u[0], 0.0, 1e-6);
  EXPECT_GT(predicted.dot(s.solution.u.head<2>()), 0.0);

  const Solved repaired = solve("raisim-ds", problem, {"max_iterations=5000"});
  ASSERT_EQ(repaired.status, SolveStatus::kSolved) << repaired.solution.message;
  EXPECT_LE(repaired.residuals.natv_relative, 1.0001e-8);
  EXPECT_LE(across(repaired), 1e-7);
}

// Where normal and tangential directions are not coupled the model is the NCP.
TEST(Raisim, IsExactWithoutCoupling) {
  ContactProblem problem;
  problem.blocks.add_coulomb(0.5);
  problem.dual.set(MatrixX(Matrix3::Identity()), VectorX(Vector3(1.0, 2.0, -1.0)));
  const Solved s = solve("raisim", problem, {});
  EXPECT_EQ(s.status, SolveStatus::kSolved);
  EXPECT_LE(s.residuals.natv_relative, 1e-8);
}

TEST(Raisim, StopsAtItsFixedPoint) {
  const ContactProblem problem = make_random_problem(
      {.contacts = 6, .equalities = 2, .limits = 3, .boxes = 3, .mixed_contacts = true, .skew = 1e-3}, 2);
  const Solved s = solve("raisim", problem, {"max_iterations=20000"});
  ASSERT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
  EXPECT_LE(s.residuals.coulomb, 1e-9);
  const Solved again = solve("raisim", problem, {"warm_start=true", "max_iterations=3"}, &s.solution);
  EXPECT_EQ(again.status, SolveStatus::kSolved);
  EXPECT_LE((again.solution.lambda - s.solution.lambda).lpNorm<Eigen::Infinity>(), 1e-7);
}

// The early stop takes fewer sweeps and leaves a larger error.
TEST(Raisim, EarlyStopIsEarly) {
  const ContactProblem problem = make_pile(60, 1);
  const Solved full = solve("raisim-ds", problem, {"max_iterations=20000"});
  const Solved early = solve("raisim-ds-es", problem, {"max_iterations=20000", "objective_tolerance=1e-6"});
  ASSERT_EQ(full.status, SolveStatus::kSolved) << full.solution.message;
  ASSERT_EQ(early.status, SolveStatus::kSolved) << early.solution.message;
  EXPECT_LT(early.solution.iterations, full.solution.iterations);
  EXPECT_LE(early.residuals.natv_relative, 0.1);
  EXPECT_GT(early.residuals.natv_relative, full.residuals.natv_relative);
}

TEST(Raisim, AllocateNothingTheSecondTime) {
  test::expect_no_allocation("raisim", make_cube({0.3, 0.4, 0.0}));
  test::expect_no_allocation("raisim-ds-es", make_cube({0.3, 0.4, 0.0}));
}

TEST(Raisim, InvalidProblemsAreNamed) {
  test::expect_invalid_problems_are_named("raisim");
  test::expect_invalid_problems_are_named("raisim-ds-es");
}

}  // namespace
}  // namespace touchstone
