// What every solver must do, by model: the properties of the interface, the values of simple scenes, agreement with
// each other and with a direct solve.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <Eigen/QR>

#include "solver_support.hpp"
#include "touchstone/contact/generate.hpp"

namespace touchstone {
namespace {

using test::solve;
using test::Solved;

std::string test_name(const std::string& solver) {
  std::string name = solver;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Enough iterations; and Gauss-Seidel without the falling relaxation of RaiSim, which makes it ten times slower.
std::vector<std::string> patient(const std::string& solver, const char* tolerance = "1e-8") {
  std::vector<std::string> options = {"max_iterations=100000", std::string("relative_tolerance=") + tolerance};
  if (solver == "raisim-ds") options.emplace_back("relaxation_min=1");
  return options;
}

std::vector<std::string> with(std::vector<std::string> options, const char* option) {
  options.emplace_back(option);
  return options;
}

// --- all solvers that reach the residual of their model ---

class AnySolver : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Family, AnySolver,
                         ::testing::Values("lcp-pgs", "lcp-lemke", "lcp-dantzig", "lcp-staggered", "ccp-pgs",
                                           "ccp-admm", "raisim-ds", "ncp-staggered", "ncp-admm", "ncp-prox"),
                         [](const auto& test) { return test_name(test.param); });

TEST_P(AnySolver, RandomProblemsOfAllBlocks) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const ContactProblem problem = make_random_problem({.contacts = 6,
                                                        .equalities = 2,
                                                        .limits = 3,
                                                        .boxes = 3,
                                                        .mixed_contacts = true,
                                                        .hyperstaticity = seed % 2 == 0 ? 1.0 : 1.2,
                                                        .skew = seed % 3 == 0 ? 1e-3 : 0.0},
                                                       seed);
    const Solved s = solve(GetParam(), problem, patient(GetParam()));
    EXPECT_EQ(s.status, SolveStatus::kSolved) << seed << ": " << s.solution.message;
    EXPECT_LE(s.residuals.model_natv_relative, 1.0001e-8) << seed;
  }
}

TEST_P(AnySolver, EqualitiesAloneEqualADirectSolve) {
  const ContactProblem problem = make_random_problem({.contacts = 0, .equalities = 6, .hyperstaticity = 1.3}, 5);
  const Solved s = solve(GetParam(), problem, patient(GetParam(), "1e-11"));
  EXPECT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
  const Eigen::CompleteOrthogonalDecomposition<MatrixX> direct(problem.dual.G_dense);
  const VectorX expected = problem.dual.G_dense * direct.solve(-problem.dual.g);
  EXPECT_LE((problem.dual.G_dense * s.solution.lambda - expected).norm(), 1e-9);
}

TEST_P(AnySolver, WarmStartReducesIterations) {
  const ContactProblem problem = make_pile(60, 1);
  const Solved cold = solve(GetParam(), problem, patient(GetParam()));
  ASSERT_EQ(cold.status, SolveStatus::kSolved) << cold.solution.message;
  const Solved warm = solve(GetParam(), problem, with(patient(GetParam()), "warm_start=true"), &cold.solution);
  EXPECT_EQ(warm.status, SolveStatus::kSolved);
  EXPECT_EQ(warm.solution.iterations, 0);
}

TEST_P(AnySolver, AllocatesNothingTheSecondTime) { test::expect_no_allocation(GetParam(), make_cube({0.3, 0.4, 0.0})); }

TEST_P(AnySolver, InvalidProblemsAreNamed) { test::expect_invalid_problems_are_named(GetParam()); }

TEST_P(AnySolver, HistoryEndsAtTheResult) {
  const Solved s = solve(GetParam(), make_cube({0.0, 1.0, 0.0}), with(patient(GetParam()), "record_history=true"));
  ASSERT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
  const bool one_shot = GetParam() == std::string("lcp-lemke");  // pivots have no residual
  ASSERT_EQ(static_cast<int>(s.solution.history.size()), one_shot ? 1 : s.solution.iterations);
  EXPECT_NEAR(s.solution.history.back(), s.residuals.model_natv_relative, 1e-11);
}

// Two problems side by side are solved as each of them alone: blocks that do not touch do not matter to each other.
TEST_P(AnySolver, IslandsDoNotMixUp) {
  const RandomProblemOptions mixed{.contacts = 3, .equalities = 1, .limits = 1, .boxes = 1, .mixed_contacts = true};
  const ContactProblem a = make_random_problem(mixed, 11), b = make_random_problem(mixed, 12);
  ContactProblem both = a;
  for (int i = 0; i < b.nblock(); ++i) {
    const int r = b.blocks.row[i], m = b.blocks.size(i);
    switch (b.blocks.type[i]) {
      case BlockType::kEquality:
        both.blocks.add_equality(m);
        break;
      case BlockType::kNonNegative:
        both.blocks.add_nonnegative();
        break;
      case BlockType::kBox:
        both.blocks.add_box(b.blocks.lo[r], b.blocks.hi[r]);
        break;
      case BlockType::kCoulomb:
        both.blocks.add_coulomb(b.blocks.mu.data() + r, m - 1);
        break;
    }
  }
  MatrixX G = MatrixX::Zero(both.nrow(), both.nrow());
  G.topLeftCorner(a.nrow(), a.nrow()) = a.dual.G_dense;
  G.bottomRightCorner(b.nrow(), b.nrow()) = b.dual.G_dense;
  VectorX g(both.nrow());
  g << a.dual.g, b.dual.g;
  both.dual.set(G, g);
  const std::vector<std::string> precise = patient(GetParam(), "1e-10");
  const Solved s = solve(GetParam(), both, precise), s_a = solve(GetParam(), a, precise),
               s_b = solve(GetParam(), b, precise);
  ASSERT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
  EXPECT_LE((s.solution.u.head(a.nrow()) - s_a.solution.u).lpNorm<Eigen::Infinity>(), 1e-7);
  EXPECT_LE((s.solution.u.tail(b.nrow()) - s_b.solution.u).lpNorm<Eigen::Infinity>(), 1e-7);
}

// --- the convex model ---

class ConvexSolver : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Family, ConvexSolver, ::testing::Values("ccp-pgs", "ccp-admm"),
                         [](const auto& test) { return test_name(test.param); });

// A sliding contact lifts off with v_n = mu |v_t|.
TEST_P(ConvexSolver, SlidingCubeLiftsOff) {
  struct Case {
    double speed, mu, tangential, normal;
  };
  for (const Case& c : {Case{1.0, 0.95, 0.520726, 0.494689}, Case{3.0, 0.9, 1.652581, 1.487323}}) {
    const ContactProblem problem = make_cube({0.0, c.speed, 0.0}, {.friction = c.mu});
    const Solved s = solve(GetParam(), problem, patient(GetParam(), "1e-10"));
    ASSERT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
    EXPECT_NEAR(s.solution.v[1], c.tangential, 1e-6);
    EXPECT_NEAR(s.solution.v[2], c.normal, 1e-6);
    for (int k = 0; k < 4; ++k) {
      const auto u = s.solution.u.segment<3>(3 * k);
      EXPECT_NEAR(u[2], c.mu * u.head<2>().norm(), 1e-8);
    }
  }
}

TEST_P(ConvexSolver, Invariances) { test::expect_invariances(GetParam(), make_pile(30, 4), 1e-7); }

// The objective at the answer is not above that of any other point of the cone.
TEST_P(ConvexSolver, MinimisesTheObjective) {
  const ContactProblem problem = make_random_problem({.contacts = 5, .mixed_contacts = true}, 8);
  const Solved s = solve(GetParam(), problem, patient(GetParam(), "1e-10"));
  ASSERT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
  const auto objective = [&](const VectorX& x) {
    return 0.5 * x.dot(problem.dual.G_dense * x) + problem.dual.g.dot(x);
  };
  const double best = objective(s.solution.lambda);
  VectorX other(problem.nrow());
  for (int trial = 0; trial < 200; ++trial) {
    other = s.solution.lambda + std::pow(0.5, trial % 20) * VectorX::Random(problem.nrow());
    project(problem.blocks, other.data(), other.data());
    EXPECT_GE(objective(other), best - 1e-9);
  }
}

// --- the true model ---

class NcpFamily : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Family, NcpFamily,
                         ::testing::Values("nbgs", "ncp-pgs", "ncp-admm", "raisim-ds", "ncp-staggered", "ncp-prox"),
                         [](const auto& test) { return test_name(test.param); });

// Friction takes mu g h from the sliding speed, and nothing lifts off.
TEST_P(NcpFamily, SlidingCube) {
  for (const auto& [speed, mu] : {std::pair{1.0, 0.95}, {3.0, 0.9}}) {
    const ContactProblem problem = make_cube({0.0, speed, 0.0}, {.friction = mu});
    const Solved s = solve(GetParam(), problem, patient(GetParam(), "1e-10"));
    ASSERT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
    EXPECT_NEAR(s.solution.v[1], speed - mu * 9.81e-3, 1e-9);
    EXPECT_NEAR(s.solution.v[2], 0.0, 1e-9);
  }
}

TEST_P(NcpFamily, SphereStack) {
  const Solved s = solve(GetParam(), make_sphere_stack({1.0, 100.0}), patient(GetParam()));
  ASSERT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
  EXPECT_NEAR(s.solution.lambda[2], 101 * 9.81e-3, 1e-5);
  EXPECT_NEAR(s.solution.lambda[5], 100 * 9.81e-3, 1e-5);
}

TEST_P(NcpFamily, BoxStack) {
  const Solved s = solve(GetParam(), make_box_stack(5), patient(GetParam()));
  ASSERT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
  double ground = 0.0, all = 0.0;
  for (int k = 0; k < 20; ++k) {
    all += s.solution.lambda[3 * k + 2];
    if (k < 4) ground += s.solution.lambda[3 * k + 2];
  }
  EXPECT_NEAR(ground, 5 * 9.81e-3, 1e-6);
  EXPECT_NEAR(all, 15 * 9.81e-3, 1e-5);
}

TEST_P(NcpFamily, Invariances) {
  // RaiSim's relaxation needs more sweeps than the pile gets here.
  const bool slow = GetParam() == std::string("raisim-ds");
  test::expect_invariances(GetParam(), slow ? make_cube({0.3, 0.4, 0.0}) : make_pile(30, 4), 1e-7);
}

// Well posed: G positive definite and friction moderate, so that the velocities are unique.
TEST_P(NcpFamily, AgreesWithTheExactGaussSeidel) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const ContactProblem problem = make_random_problem({.contacts = 6,
                                                        .equalities = 1,
                                                        .limits = 2,
                                                        .boxes = 2,
                                                        .mixed_contacts = true,
                                                        .condition = 20.0,
                                                        .min_friction = 0.1,
                                                        .max_friction = 0.5},
                                                       100 + seed);
    const Solved reference = solve("nbgs", problem, {"relative_tolerance=1e-11", "max_iterations=50000"});
    const Solved s = solve(GetParam(), problem, patient(GetParam(), "1e-10"));
    ASSERT_EQ(s.status, SolveStatus::kSolved) << seed << ": " << s.solution.message;
    EXPECT_LE((s.solution.u - reference.solution.u).lpNorm<Eigen::Infinity>(), 1e-7) << seed;
  }
}

// --- single solvers ---

// Tsounis et al. 2025, Tab. I runs PGS-CCP with De Saxce's correction, and then it solves the NCP.
TEST(CcpPgs, WithDeSaxceSolvesTheNcp) {
  const ContactProblem problem = make_cube({0.0, 1.0, 0.0}, {.friction = 0.95});
  const Solved s = solve("ccp-pgs", problem, {"de_saxce=true", "relative_tolerance=1e-10", "max_iterations=50000"});
  ASSERT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
  EXPECT_LE(s.residuals.natv_relative, 1.0001e-10);
  EXPECT_NEAR(s.solution.v[1], 0.990681, 1e-6);
  EXPECT_NEAR(s.solution.v[2], 0.0, 1e-9);
}

}  // namespace
}  // namespace touchstone
