// The Gauss-Seidel family on problems with known answers.
#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <Eigen/QR>

#include "solver_support.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/solvers/gauss_seidel/anderson.hpp"
#include "touchstone/solvers/gauss_seidel/local_contact.hpp"
#include "touchstone/solvers/gauss_seidel/nbgs.hpp"

namespace touchstone {
namespace {

using test::solve;
using test::Solved;

class NcpSolver : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(GaussSeidel, NcpSolver, ::testing::Values("nbgs", "ncp-pgs"),
                         [](const auto& test) { return test.index == 0 ? "nbgs" : "ncp_pgs"; });

// The friction takes mu g h from the sliding speed.
TEST_P(NcpSolver, SlidingCube) {
  for (const auto& [speed, mu] : {std::pair{1.0, 0.95}, {3.0, 0.9}}) {
    const ContactProblem problem = make_cube({0.0, speed, 0.0}, {.friction = mu});
    const Solved s = solve(GetParam(), problem, {"relative_tolerance=1e-10", "max_iterations=5000"});
    EXPECT_EQ(s.status, SolveStatus::kSolved);
    EXPECT_LE(s.residuals.natv_relative, 1e-10);
    const double expected = speed - mu * 9.81e-3;
    EXPECT_NEAR(s.solution.v[1], expected, 1e-9);
    EXPECT_NEAR(s.solution.v[2], 0.0, 1e-9);
    for (int k = 0; k < 4; ++k) EXPECT_NEAR(s.solution.u.segment<3>(3 * k).norm(), expected, 1e-9);
    double weight = 0.0;
    for (int k = 0; k < 4; ++k) weight += s.solution.lambda[3 * k + 2];
    EXPECT_NEAR(weight, 9.81e-3, 1e-9);
  }
}

// The interfaces carry 101 and 100 m g h.
TEST_P(NcpSolver, SphereStack) {
  const Solved s = solve(GetParam(), make_sphere_stack({1.0, 100.0}), {"max_iterations=10000"});
  EXPECT_EQ(s.status, SolveStatus::kSolved);
  EXPECT_NEAR(s.solution.lambda[2], 101 * 9.81e-3, 1e-5);
  EXPECT_NEAR(s.solution.lambda[5], 100 * 9.81e-3, 1e-5);
  EXPECT_LE(s.solution.v.norm(), 1e-8);
}

TEST_P(NcpSolver, BoxStack) {
  const Solved s = solve(GetParam(), make_box_stack(5), {"max_iterations=20000"});
  EXPECT_EQ(s.status, SolveStatus::kSolved);
  double ground = 0.0, all = 0.0;
  for (int k = 0; k < 20; ++k) {
    all += s.solution.lambda[3 * k + 2];
    if (k < 4) ground += s.solution.lambda[3 * k + 2];
  }
  EXPECT_NEAR(ground, 5 * 9.81e-3, 1e-6);
  EXPECT_NEAR(all, 15 * 9.81e-3, 1e-5);
}

TEST_P(NcpSolver, RandomProblemsOfAllBlocks) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    const ContactProblem problem = make_random_problem({.contacts = 8,
                                                        .equalities = 2,
                                                        .limits = 3,
                                                        .boxes = 3,
                                                        .mixed_contacts = true,
                                                        .hyperstaticity = seed % 2 == 0 ? 1.0 : 1.5,
                                                        .skew = seed % 3 == 0 ? 1e-3 : 0.0},
                                                       seed);
    const Solved s = solve(GetParam(), problem, {"max_iterations=20000"});
    EXPECT_EQ(s.status, SolveStatus::kSolved) << seed;
    EXPECT_LE(s.residuals.natv_relative, 1.0001e-8) << seed;
  }
}

TEST_P(NcpSolver, EqualitiesAloneEqualADirectSolve) {
  const ContactProblem problem = make_random_problem({.contacts = 0, .equalities = 6, .hyperstaticity = 1.3}, 5);
  const Solved s = solve(GetParam(), problem, {"relative_tolerance=1e-12", "max_iterations=20000"});
  EXPECT_EQ(s.status, SolveStatus::kSolved);
  const Eigen::CompleteOrthogonalDecomposition<MatrixX> direct(problem.dual.G_dense);
  const VectorX expected = problem.dual.G_dense * direct.solve(-problem.dual.g);
  EXPECT_LE((problem.dual.G_dense * s.solution.lambda - expected).norm(), 1e-10);
}

TEST_P(NcpSolver, WarmStartSavesSweeps) {
  const ContactProblem problem = make_pile(90, 1);
  const Solved cold = solve(GetParam(), problem, {});
  ASSERT_EQ(cold.status, SolveStatus::kSolved);
  const Solved warm = solve(GetParam(), problem, {"warm_start=true"}, &cold.solution);
  EXPECT_EQ(warm.status, SolveStatus::kSolved);
  EXPECT_EQ(warm.solution.iterations, 0);
}

TEST_P(NcpSolver, AllocatesNothingTheSecondTime) { test::expect_no_allocation(GetParam(), make_pile(60, 2)); }

TEST_P(NcpSolver, Invariances) { test::expect_invariances(GetParam(), make_pile(30, 4), 1e-7); }

TEST_P(NcpSolver, InvalidProblemsAreNamed) { test::expect_invalid_problems_are_named(GetParam()); }

TEST_P(NcpSolver, HistoryEndsAtTheResult) {
  const Solved s = solve(GetParam(), make_cube({0.0, 1.0, 0.0}), {"record_history=true"});
  ASSERT_EQ(static_cast<int>(s.solution.history.size()), s.solution.iterations);
  EXPECT_NEAR(s.solution.history.back(), s.residuals.natv_relative, 1e-12);
}

// A mass ratio of 1e6 is beyond Gauss-Seidel; it says so.
TEST_P(NcpSolver, SaysWhenItDoesNotConverge) {
  const Solved s = solve(GetParam(), make_box_stack(5, 1e6), {"max_iterations=200"});
  EXPECT_EQ(s.status, SolveStatus::kMaxIterations);
  EXPECT_GT(s.residuals.natv_relative, 1e-6);
  EXPECT_FALSE(s.solution.message.empty());
}

// Each mode of a single contact, for every dimension, is met to rounding by one local solve.
TEST(LocalContacts, AreExact) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const ContactProblem problem = make_random_problem(
        {.contacts = 1, .mixed_contacts = seed % 2 == 0, .condition = 30.0, .min_friction = seed % 5 == 0 ? 0.0 : 0.1},
        seed);
    DualProblem dual;
    ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
    LocalContacts contacts;
    contacts.prepare(dual);
    VectorX lambda = VectorX::Zero(dual.nrow()), u = dual.g;
    // The proximal shift of dimensions 4 and 6 needs a second pass.
    for (int pass = 0; pass < 2; ++pass) {
      contacts(0, u.data(), lambda.data());
      compute_velocity(dual, lambda, u);
    }
    EXPECT_LE(natv(dual, ContactModel::kNcp, lambda, u), 2e-12 * dual.velocity_scale) << seed;
  }
}

// A planar loop: a 5x5 block of rank 2 gets the smallest impulse.
TEST(Nbgs, RankDeficientEqualityHasMinimumNorm) {
  const MatrixX J = MatrixX::Random(5, 2);
  ContactProblem problem;
  problem.blocks.add_equality(5);
  problem.dual.set(MatrixX(J * J.transpose()), VectorX(J * Vector2(1.0, -2.0)));
  const Solved s = solve("nbgs", problem, {"relative_tolerance=1e-12"});
  EXPECT_EQ(s.status, SolveStatus::kSolved);
  const VectorX expected = Eigen::CompleteOrthogonalDecomposition<MatrixX>(problem.dual.G_dense).solve(-problem.dual.g);
  EXPECT_LE((s.solution.lambda - expected).norm(), 1e-9 * expected.norm());
}

// The tridiagonal form of a symmetric block gives what the LU of the same block gives.
TEST(LocalContactsTest, SymmetricBlocksAreSolvedLikeOthers) {
  std::srand(5);
  int sliding = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const int m = trial % 2 == 0 ? 4 : 6;
    const MatrixX J = MatrixX::Random(m, m + trial % 3);
    VectorX mu = VectorX::Random(m - 1).cwiseAbs() + VectorX::Constant(m - 1, 1e-3);
    mu *= std::pow(10.0, -(trial % 4));
    if (trial % 5 == 0) mu[0] = 0.0;
    ContactProblem problem;
    problem.blocks.add_coulomb(mu.data(), m - 1);
    VectorX g = VectorX::Random(m);
    g[m - 1] -= 1.0;
    problem.dual.set(MatrixX(J * J.transpose()), g);
    VectorX answer[2];
    for (const bool symmetric : {false, true}) {
      problem.dual.symmetric = symmetric;
      DualProblem dual;
      ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
      LocalContacts contacts;
      contacts.prepare(dual);
      VectorX& lambda = answer[symmetric ? 1 : 0];
      lambda.setZero(m);
      VectorX u;
      for (int k = 0; k < 3; ++k) {
        compute_velocity(dual, lambda, u);
        contacts(0, u.data(), lambda.data());
      }
      compute_velocity(dual, lambda, u);
      EXPECT_LE(natv(dual, ContactModel::kNcp, lambda, u), 1e-9 * dual.velocity_scale) << trial;
      sliding += symmetric && u.head(m - 1).norm() > 1e-6 ? 1 : 0;
    }
    EXPECT_LE((answer[0] - answer[1]).norm(), 1e-8 * (1.0 + answer[0].norm())) << trial;
  }
  EXPECT_GT(sliding, 100);
}

// Of a linear iteration with n eigenvalues the mixture of n + 1 images is the fixed point, but for rounding and
// restarts; the plain iteration takes 18,000 steps as far.
TEST(AndersonTest, SlowLinearIterationsEndSoon) {
  const Eigen::VectorXd rates = (Eigen::VectorXd(5) << 0.999, 0.99, -0.9, 0.5, 0.1).finished();
  const MatrixX Q = Eigen::HouseholderQR<MatrixX>(MatrixX::Random(5, 5)).householderQ();
  const MatrixX M = Q * rates.asDiagonal() * Q.transpose();
  const VectorX fixed = VectorX::Random(5);
  Anderson anderson;
  anderson.start(5);
  VectorX x = VectorX::Zero(5), image;
  for (int k = 0; k < 40; ++k) {
    image = fixed + M * (x - fixed);
    anderson.mix(x, image);
    x = image;
  }
  EXPECT_LE((x - fixed).norm(), 1e-8);
}

// After a start anew nothing is left of what came before: the same numbers as from the first.
TEST(AndersonTest, StartsAnew) {
  const VectorX a = VectorX::Random(7), b = VectorX::Random(7);
  const auto run = [&](Anderson& anderson) {
    anderson.start(7);
    VectorX x = a;
    for (int k = 0; k < 25; ++k) {
      VectorX image = 0.9 * x.array().sin().matrix() + b;
      anderson.mix(x, image);
      x = image;
    }
    return x;
  };
  Anderson first, second;
  const VectorX once = run(first);
  const VectorX again = run(first), other = run(second);
  EXPECT_EQ(once, again);
  EXPECT_EQ(once, other);
  EXPECT_LE((0.9 * once.array().sin().matrix() + b - once).norm(), 1e-9);
}

}  // namespace
}  // namespace touchstone
