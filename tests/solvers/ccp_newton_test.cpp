// ccp-newton: exact on compliant problems, near the convex model on hard ones, equal to MuJoCo's pyramid.
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>
#include <Eigen/LU>

#include "solver_support.hpp"
#include "touchstone/contact/generate.hpp"

namespace touchstone {
namespace {

using test::solve;
using test::Solved;

ContactProblem compliant(ContactProblem problem, double R) {
  problem.R.resize(problem.nrow());
  for (int r = 0; r < problem.nrow(); ++r) problem.R[r] = R * (1.0 + 0.3 * (r % 3));
  return problem;
}

TEST(CcpNewton, IsExactWhereTheProblemIsCompliant) {
  for (const double R : {1e-1, 1e-3, 1e-5}) {
    const Solved s = solve("ccp-newton", compliant(make_pile(60, 3), R), {});
    ASSERT_EQ(s.status, SolveStatus::kSolved) << R << ": " << s.solution.message;
    EXPECT_EQ(s.solution.shift, 0.0);
    EXPECT_LE(s.residuals.model_natv_relative, 1.0001e-8) << R;
    EXPECT_LE(s.solution.iterations, 100) << R;
  }
}

// The shift is reported, and the answer tends to the convex model with it.
TEST(CcpNewton, ShiftsHardRows) {
  const ContactProblem problem = make_cube({0.0, 1.0, 0.0}, {.friction = 0.95});
  double last = 1.0;
  for (const char* alpha : {"alpha=1e-3", "alpha=1e-5", "alpha=1e-7"}) {
    const Solved s = solve("ccp-newton", problem, {alpha});
    ASSERT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
    EXPECT_GT(s.solution.shift, 0.0);
    const double error = std::abs(s.solution.v[1] - 0.520726) + std::abs(s.solution.v[2] - 0.494689);
    EXPECT_LT(error, 0.02 * last + 2e-6) << alpha;
    last = error;
  }
}

TEST(CcpNewton, AllBlocks) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const RandomProblemOptions mixed{.contacts = 6,
                                     .equalities = 2,
                                     .limits = 3,
                                     .boxes = 3,
                                     .mixed_contacts = true,
                                     .hyperstaticity = seed % 2 == 0 ? 1.0 : 1.2};
    const ContactProblem problem = make_random_problem(mixed, seed);
    const Solved s = solve("ccp-newton", problem, {"alpha=1e-3"});
    ASSERT_EQ(s.status, SolveStatus::kSolved) << seed << ": " << s.solution.message;
    // The same shift put into G by hand makes the answer exact.
    ContactProblem shifted = problem;
    for (int r = 0; r < problem.nrow(); ++r) shifted.dual.G_dense(r, r) *= 1.0 + 1e-3;
    EXPECT_LE(certify(shifted, s.solution.lambda, ContactModel::kCcp).model_natv_relative, 1.01e-8) << seed;
  }
}

// The skew part is small against the shift here, and the answer is right for the matrix as given.
TEST(CcpNewton, NonsymmetricMatrix) {
  const ContactProblem problem = make_random_problem({.contacts = 5, .skew = 1e-4}, 4);
  const Solved s = solve("ccp-newton", problem, {"alpha=1e-2"});
  ASSERT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
  ContactProblem shifted = problem;
  for (int r = 0; r < problem.nrow(); ++r) shifted.dual.G_dense(r, r) *= 1.0 + 1e-2;
  EXPECT_LE(certify(shifted, s.solution.lambda, ContactModel::kCcp).model_natv_relative, 1.01e-8);
}

// The pyramid written out: an edge is a limit with row n +- mu t and compliance 2 mu^2 R_n.
TEST(CcpNewton, PyramidEqualsItsEdges) {
  const double R = 1e-3, mu = 0.5;
  ContactProblem problem = make_cube({0.3, 0.7, 0.0}, {.friction = mu});
  problem.R = VectorX::Constant(problem.nrow(), R);
  const Solved s = solve("ccp-newton", problem, {"cone=pyramidal", "relative_tolerance=1e-10"});
  ASSERT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;

  ContactProblem edges;
  edges.primal = problem.primal;
  edges.time_step = problem.time_step;
  std::vector<JacobianBlock> jacobian;
  MatrixX E = MatrixX::Zero(16, 12);
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 4; ++j) {
      const int block = edges.blocks.add_nonnegative();
      E(4 * k + j, 3 * k + 2) = 1.0;
      E(4 * k + j, 3 * k + j / 2) = j % 2 == 0 ? mu : -mu;
      jacobian.push_back({block, 0, E.row(4 * k + j) * problem.primal.J.dense()});
    }
  }
  edges.R = VectorX::Constant(16, 2.0 * mu * mu * R);
  edges.set_jacobian(jacobian);
  const Solved direct = solve("ccp-admm", edges, {"relative_tolerance=1e-11", "max_iterations=50000"});
  ASSERT_EQ(direct.status, SolveStatus::kSolved);
  const VectorX expected = E.transpose() * direct.solution.lambda;
  EXPECT_LE((s.solution.lambda - expected).lpNorm<Eigen::Infinity>(), 1e-8);
}

TEST(CcpNewton, WarmStartReducesIterations) {
  const ContactProblem problem = compliant(make_pile(60, 3), 1e-3);
  const Solved cold = solve("ccp-newton", problem, {});
  const Solved warm = solve("ccp-newton", problem, {"warm_start=true"}, &cold.solution);
  ASSERT_EQ(warm.status, SolveStatus::kSolved);
  EXPECT_LE(warm.solution.iterations, 1);
  EXPECT_GE(cold.solution.iterations, 3);
}

TEST(CcpNewton, Interface) {
  test::expect_no_allocation("ccp-newton", make_cube({0.3, 0.4, 0.0}));
  test::expect_invalid_problems_are_named("ccp-newton");
  test::expect_invariances("ccp-newton", compliant(make_pile(30, 4), 0.0), 1e-7);
}

}  // namespace
}  // namespace touchstone
