// ncp-ipm, ncp-newton and auto on problems with known answers, on generated families and on sequences.
#include <cmath>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <Eigen/QR>

#include "solver_support.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/solvers/newton/coulomb_path.hpp"

namespace touchstone {
namespace {

using test::solve;
using test::Solved;

std::string test_name(const ::testing::TestParamInfo<const char*>& test) {
  std::string name = test.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

class PathSolver : public ::testing::TestWithParam<const char*> {
 protected:
  void expect_solved(const std::string& what, const ContactProblem& problem) {
    const Solved s = solve(GetParam(), problem, {});
    EXPECT_EQ(s.status, SolveStatus::kSolved) << what << ": " << s.solution.message;
    EXPECT_LE(s.residuals.natv_relative, 1.0001e-8) << what;
    EXPECT_EQ(s.solution.shift, 0.0) << what;
  }
};
INSTANTIATE_TEST_SUITE_P(Ncp, PathSolver, ::testing::Values("ncp-ipm", "ncp-newton", "auto"), test_name);

// Every contact twice.
ContactProblem duplicated(const ContactProblem& problem) {
  ContactProblem result = problem;
  result.blocks.clear();
  result.row_length.clear();
  std::vector<JacobianBlock> jacobian;
  const BlockSparseMatrix& J = problem.primal.J;
  for (int copy = 0; copy < 2; ++copy) {
    for (int i = 0; i < problem.nblock(); ++i) {
      const int block = result.blocks.add_coulomb(problem.blocks.mu[problem.blocks.row[i]]);
      for (int k = J.start[i]; k < J.start[i + 1]; ++k) jacobian.push_back({block, J.col[k], J.block(i, k)});
    }
  }
  result.set_jacobian(jacobian);
  return result;
}

ContactProblem with_friction(ContactProblem problem, double mu) {
  for (int i = 0; i < problem.nblock(); ++i) {
    for (int r = problem.blocks.row[i]; r < problem.blocks.row[i + 1] - 1; ++r) problem.blocks.mu[r] = mu;
  }
  return problem;
}

// The friction takes mu g h from the sliding speed.
TEST_P(PathSolver, SlidingCube) {
  for (const auto& [speed, mu] : {std::pair{1.0, 0.95}, {3.0, 0.9}}) {
    const ContactProblem problem = make_cube({0.0, speed, 0.0}, {.friction = mu});
    const Solved s = solve(GetParam(), problem, {"relative_tolerance=1e-10"});
    EXPECT_EQ(s.status, SolveStatus::kSolved);
    EXPECT_NEAR(s.solution.v[1], speed - mu * 9.81e-3, 1e-9);
    EXPECT_NEAR(s.solution.v[2], 0.0, 1e-9);
    double weight = 0.0;
    for (int k = 0; k < 4; ++k) weight += s.solution.lambda[3 * k + 2];
    EXPECT_NEAR(weight, 9.81e-3, 1e-9);
  }
}

TEST_P(PathSolver, SphereStack) {
  const Solved s = solve(GetParam(), make_sphere_stack({1.0, 100.0}), {});
  EXPECT_EQ(s.status, SolveStatus::kSolved);
  EXPECT_NEAR(s.solution.lambda[2], 101 * 9.81e-3, 1e-6);
  EXPECT_NEAR(s.solution.lambda[5], 100 * 9.81e-3, 1e-6);
}

// One contact of every kind in every mode, against the exact local solve.
TEST_P(PathSolver, SingleContactsAgreeWithTheLocalSolution) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const ContactProblem problem = make_random_problem(
        {.contacts = 1, .mixed_contacts = seed % 2 == 0, .condition = 30.0, .min_friction = seed % 5 == 0 ? 0.0 : 0.1},
        seed);
    const Solved s = solve(GetParam(), problem, {"relative_tolerance=1e-10"});
    const Solved exact = solve("nbgs", problem, {"relative_tolerance=1e-11"});
    EXPECT_EQ(s.status, SolveStatus::kSolved) << seed;
    EXPECT_LE((s.solution.lambda - exact.solution.lambda).norm(), 1e-7 * (1.0 + exact.solution.lambda.norm())) << seed;
  }
}

TEST_P(PathSolver, RandomProblemsOfAllBlocks) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    expect_solved("seed " + std::to_string(seed),
                  make_random_problem({.contacts = seed % 4 == 0 ? 25 : 7,
                                       .equalities = 2,
                                       .limits = 3,
                                       .boxes = 3,
                                       .mixed_contacts = true,
                                       .condition = seed % 5 == 0 ? 1e6 : 100.0,
                                       .hyperstaticity = seed % 2 == 0 ? 1.0 : 1.6,
                                       .skew = seed % 3 == 0 && seed % 5 != 0 ? 1e-3 : 0.0,
                                       .min_friction = seed % 7 == 0 ? 0.0 : 0.2},
                                      seed));
  }
}

TEST_P(PathSolver, BoxesWithInfiniteAndEqualBounds) {
  ContactProblem problem = make_random_problem({.contacts = 4, .boxes = 6}, 3);
  problem.blocks.lo[0] = -kInfinity;
  problem.blocks.hi[1] = kInfinity;
  problem.blocks.lo[2] = -kInfinity;
  problem.blocks.hi[2] = kInfinity;
  problem.blocks.lo[3] = problem.blocks.hi[3] = 0.25;
  problem.blocks.lo[4] = problem.blocks.hi[4] = 0.0;
  const Solved s = solve(GetParam(), problem, {});
  EXPECT_EQ(s.status, SolveStatus::kSolved);
  EXPECT_LE(s.residuals.natv_relative, 1.0001e-8);
  EXPECT_EQ(s.solution.lambda[3], 0.25);
}

TEST_P(PathSolver, EqualitiesAloneEqualADirectSolve) {
  const ContactProblem problem = make_random_problem({.contacts = 0, .equalities = 6, .hyperstaticity = 1.3}, 5);
  const Solved s = solve(GetParam(), problem, {"relative_tolerance=1e-11"});
  EXPECT_EQ(s.status, SolveStatus::kSolved);
  const Eigen::CompleteOrthogonalDecomposition<MatrixX> direct(problem.dual.G_dense);
  const VectorX expected = problem.dual.G_dense * direct.solve(-problem.dual.g);
  EXPECT_LE((problem.dual.G_dense * s.solution.lambda - expected).norm(), 1e-9);
}

TEST_P(PathSolver, StacksOfLargeMassRatio) {
  for (const double ratio : {1.0, 1e2, 1e4, 1e6}) {
    // Upwards heavier is the hard direction; smoothing Newton alone is not asked for the extreme.
    if (ratio > 1e5 && std::string(GetParam()) == "ncp-newton") continue;
    expect_solved("stack " + std::to_string(ratio), make_box_stack(5, ratio));
    expect_solved("stack " + std::to_string(1.0 / ratio), make_box_stack(5, 1.0 / ratio));
  }
}

TEST_P(PathSolver, HyperstaticWalls) {
  expect_solved("wall", make_wall(200));
  expect_solved("wall without friction", with_friction(make_wall(200), 0.0));
  expect_solved("wall, mu = 2", with_friction(make_wall(200), 2.0));
  expect_solved("wall, every contact twice", duplicated(make_wall(100)));
}

TEST_P(PathSolver, PilesAndChains) {
  for (std::uint32_t seed = 0; seed < 4; ++seed) expect_solved("pile", make_pile(90, seed));
  expect_solved("pile without friction", with_friction(make_pile(90, 5), 0.0));
  expect_solved("pile, every contact twice", duplicated(make_pile(60, 6)));
  expect_solved("chain", make_chain(60));
}

TEST_P(PathSolver, WarmStartSavesSteps) {
  const ContactProblem problem = make_pile(90, 1);
  const Solved cold = solve(GetParam(), problem, {});
  ASSERT_EQ(cold.status, SolveStatus::kSolved);
  const Solved warm = solve(GetParam(), problem, {"warm_start=true"}, &cold.solution);
  EXPECT_EQ(warm.status, SolveStatus::kSolved);
  EXPECT_EQ(warm.solution.factorizations, 0);
}

TEST_P(PathSolver, AllocatesNothingTheSecondTime) {
  test::expect_no_allocation(GetParam(), make_pile(60, 2));
  test::expect_no_allocation(GetParam(), make_wall(60));
}

TEST_P(PathSolver, Invariances) { test::expect_invariances(GetParam(), make_pile(30, 4), 1e-7); }

TEST_P(PathSolver, InvalidProblemsAreNamed) { test::expect_invalid_problems_are_named(GetParam()); }

TEST_P(PathSolver, IsDeterministic) {
  const ContactProblem problem = make_pile(120, 3);
  const Solved first = solve(GetParam(), problem, {}), second = solve(GetParam(), problem, {});
  EXPECT_EQ(first.solution.lambda, second.solution.lambda);
}

// Each problem differs a little from the one before: the answers stay accurate, mostly with few factorisations.
TEST(Auto, PerturbedSequence) {
  const auto solver = make_solver("auto");
  const auto options = solver->make_options();
  options->warm_start = true;
  const auto workspace = solver->make_workspace();
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (ContactProblem problem : {make_box_stack(5), make_wall(100), make_pile(150, 8)}) {
    const VectorX v_free = problem.primal.v_free;
    Solution solution;
    for (int step = 0; step < 40; ++step) {
      for (int k = 0; k < v_free.size(); ++k) problem.primal.v_free[k] = v_free[k] * (1.0 + 1e-3 * normal(random));
      EXPECT_EQ(solver->solve(problem, *options, *workspace, solution), SolveStatus::kSolved) << step;
      EXPECT_LE(certify(problem, solution.lambda).natv_relative, 1.0001e-8) << step;
    }
  }
}

// A wall that rests needs one factorisation; one that moves is solved as before.
TEST(Auto, BodiesAtRestTakeOneFactorisation) {
  const std::vector<std::string> strict{"relative_tolerance=1e-9"};
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  for (const int contacts : {200, 300, 400}) {
    ContactProblem problem = make_wall(contacts);
    const test::Solved resting = test::solve("auto", problem, strict);
    EXPECT_EQ(resting.status, SolveStatus::kSolved) << contacts;
    EXPECT_LE(resting.residuals.natv_relative, 1.0001e-9) << contacts;
    EXPECT_STREQ(resting.solution.stage.name, "splitting at rest") << contacts;
    EXPECT_EQ(resting.solution.factorizations, 1) << contacts;
    for (double& v : problem.primal.v_free) v += 1e-2 * normal(random);
    const test::Solved moving = test::solve("auto", problem, strict);
    EXPECT_EQ(moving.status, SolveStatus::kSolved) << contacts;
    EXPECT_LE(moving.residuals.natv_relative, 1.0001e-9) << contacts;
  }
}

// Impulses that are off by a per cent and the velocities of the solution: these tell modes and slips, and a few
// steps are enough.
TEST(Auto, KnownVelocitiesTellTheModes) {
  const auto solver = make_solver("auto");
  const auto options = solver->make_options();
  options->warm_start = true;
  options->relative_tolerance = 1e-6;
  for (const char* whole : {"reduce=false", "islands=false"}) set_option(*options, whole);
  const auto workspace = solver->make_workspace();
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  int factorizations = 0;
  for (const std::uint32_t seed : {3u, 5u, 7u, 9u, 11u}) {
    const ContactProblem problem = make_pile(40, seed);
    Solution exact, solution;
    ASSERT_EQ(solver->solve(problem, *options, *workspace, exact), SolveStatus::kSolved) << seed;
    solution.lambda = exact.lambda;
    for (double& x : solution.lambda) x *= 1.0 + 1e-2 * normal(random);
    workspace->known_velocity = &exact.u;
    EXPECT_EQ(solver->solve(problem, *options, *workspace, solution), SolveStatus::kSolved) << seed;
    workspace->known_velocity = nullptr;
    EXPECT_LE(certify(problem, solution.lambda).natv_relative, 1.0001e-6) << seed;
    EXPECT_STREQ(solution.stage.name, "known modes") << seed;
    factorizations += solution.factorizations;
  }
  EXPECT_LE(factorizations, 3 * 5);
}

TEST(Auto, VelocitiesThatAreWrongDoNoHarm) {
  const auto solver = make_solver("auto");
  const auto options = solver->make_options();
  options->warm_start = true;
  const auto workspace = solver->make_workspace();
  for (const double value : {std::nan(""), kInfinity, -1e300, 1e3, 0.0}) {
    const ContactProblem problem = make_pile(60, 5);
    const VectorX known = VectorX::Constant(problem.nrow(), value);
    Solution solution;
    solution.lambda.setConstant(problem.nrow(), 1e-3);
    workspace->known_velocity = &known;
    EXPECT_EQ(solver->solve(problem, *options, *workspace, solution), SolveStatus::kSolved) << value;
    EXPECT_LE(certify(problem, solution.lambda).natv_relative, 1.0001e-8) << value;
  }
  const VectorX other_size = VectorX::Zero(2);
  workspace->known_velocity = &other_size;
  Solution solution;
  EXPECT_EQ(solver->solve(make_pile(60, 5), *options, *workspace, solution), SolveStatus::kSolved);
}

// A resting box on four contacts: about half of the impulse of Gauss-Seidel is internal; here next to none.
TEST(Auto, ImpulsesOfAnOffCentreBoxAreOfMinimumNorm) {
  SceneBuilder scene;
  const int box = scene.add_box(1.0, {0.1, 0.05, 0.5}, Vector3::Constant(0.5), {0.0, 0.0, -0.1});
  for (const double x : {-0.5, 0.5}) {
    for (const double y : {-0.5, 0.5}) scene.add_contact(-1, box, {x, y, 0.0}, Vector3::UnitZ());
  }
  const ContactProblem problem = scene.finish();
  const Solved s = solve("auto", problem, {});
  ASSERT_EQ(s.status, SolveStatus::kSolved);
  DualProblem dual;
  ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
  VectorX scaled;
  scale_lambda(dual, s.solution.lambda, scaled);
  // All contacts stick: the impulse of minimum (scaled) norm with u = 0.
  const VectorX smallest = Eigen::CompleteOrthogonalDecomposition<MatrixX>(dual.G.dense()).solve(-dual.g);
  EXPECT_LE((scaled - smallest).norm(), 1e-3 * smallest.norm());
}

// Two islands give the answers of each alone.
TEST(Auto, SolvesIslandsApart) {
  SceneBuilder scene;
  for (int k = 0; k < 6; ++k) {
    const double x = 3.0 * k;
    const int box = scene.add_box(1.0 + k, {x, 0, 0.5}, Vector3::Constant(0.5), {0.2 * k, 0.0, -0.1});
    for (const double dx : {-0.5, 0.5}) {
      for (const double dy : {-0.5, 0.5}) scene.add_contact(-1, box, {x + dx, dy, 0.0}, Vector3::UnitZ());
    }
  }
  const ContactProblem problem = scene.finish();
  const Solved apart = solve("auto", problem, {"relative_tolerance=1e-10"});
  const Solved together = solve("auto", problem, {"relative_tolerance=1e-10", "islands=false", "reduce=false"});
  EXPECT_EQ(apart.status, SolveStatus::kSolved);
  EXPECT_EQ(together.status, SolveStatus::kSolved);
  EXPECT_LE((apart.solution.v - together.solution.v).lpNorm<Eigen::Infinity>(), 1e-8);
}

// A wedge between two walls of opposite normals that both demand separation: no impulses exist. auto says so, and says
// what it added.
TEST(Auto, ReportsACompliance) {
  ContactProblem problem;
  problem.blocks.add_coulomb(0.5);
  problem.blocks.add_coulomb(0.5);
  MatrixX J(6, 3);
  J << 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, -1, 0, 0, 0, -1;
  VectorX g = J * Vector3(0.1, 0.0, 0.0);
  g[2] -= 1.0;
  g[5] -= 1.0;
  problem.dual.set(MatrixX(J * J.transpose()), g);
  const Solved s = solve("auto", problem, {});
  EXPECT_EQ(s.status, SolveStatus::kStalled);
  EXPECT_GT(s.solution.shift, 0.0);
  EXPECT_NE(s.solution.message.find("compliance"), std::string::npos) << s.solution.message;
  ContactProblem softened = problem;
  softened.dual.G_dense.diagonal().array() += s.solution.shift;
  EXPECT_LE(certify(softened, s.solution.lambda).natv_relative, 1e-6);
}

// H x = z, W W^-1 = 1, and the Jordan product against its division.
TEST(CoulombPath, ScalingMapsForceToSlack) {
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  for (int n = 1; n <= 5; ++n) {
    for (int trial = 0; trial < 50; ++trial) {
      double x[kMaxBlockSize], z[kMaxBlockSize], y[kMaxBlockSize];
      const auto interior = [&](double* v) {
        v[0] = 0.0;
        for (int k = 1; k <= n; ++k) {
          v[k] = normal(random);
          v[0] += v[k] * v[k];
        }
        v[0] = std::sqrt(v[0]) + std::abs(normal(random)) + 1e-3;
      };
      interior(x);
      interior(z);
      ConeScaling scaling;
      scaling.set(n, x, z);
      scaling.apply_hessian(n, x, y);
      for (int k = 0; k <= n; ++k) EXPECT_NEAR(y[k], z[k], 1e-9 * z[0]);
      scaling.apply(n, z, y);
      scaling.apply(n, y, y);
      for (int k = 0; k <= n; ++k) EXPECT_NEAR(y[k], x[k], 1e-9 * x[0]);
      for (int col = 0; col <= n; ++col) {
        double unit[kMaxBlockSize] = {};
        unit[col] = 1.0;
        scaling.apply_hessian(n, unit, y);
        for (int row = 0; row <= n; ++row)
          EXPECT_NEAR(y[row], scaling.hessian(row, col), 1e-9 * (1.0 + std::abs(y[row])));
      }
      jordan_product(n, x, z, y);
      jordan_divide(n, x, y, y);
      for (int k = 0; k <= n; ++k) EXPECT_NEAR(y[k], z[k], 1e-8 * z[0]);
    }
  }
}

}  // namespace
}  // namespace touchstone
