// What Le Lidec et al. (2024) say about families of methods, as tests: conditioning, internal forces, warm starts.
#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <Eigen/QR>

#include "solver_support.hpp"
#include "touchstone/contact/generate.hpp"

namespace touchstone {
namespace {

using test::solve;
using test::Solved;

// A stack with a mass ratio of 1e6: Gauss-Seidel hardly moves, whatever the model; methods that factor G converge.
TEST(Conditioning, StopsGaussSeidelOnly) {
  const ContactProblem problem = make_box_stack(4, 1e6);
  for (const char* solver : {"lcp-pgs", "ccp-pgs", "raisim", "raisim-ds", "nbgs", "ncp-pgs", "ncp-prox"}) {
    const Solved s = solve(solver, problem, {"max_iterations=2000"});
    EXPECT_NE(s.status, SolveStatus::kSolved) << solver;
    EXPECT_GT(s.residuals.model_natv_relative, 1e-5) << solver;
  }
  for (const char* solver : {"ccp-admm", "ncp-admm"}) {
    const Solved s = solve(solver, problem, {"max_iterations=2000"});
    EXPECT_EQ(s.status, SolveStatus::kSolved) << solver << ": " << s.solution.message;
    EXPECT_LE(s.residuals.model_natv_relative, 1.001e-8) << solver;
  }
  for (const char* solver : {"lcp-staggered", "ncp-staggered"}) {
    const Solved s = solve(solver, problem, {"max_iterations=200"});
    EXPECT_EQ(s.status, SolveStatus::kSolved) << solver << ": " << s.solution.message;
    EXPECT_LE(s.residuals.model_natv_relative, 1.001e-8) << solver;
  }
  // Newton solves its regularised model.
  const Solved s = solve("ccp-newton", problem, {"max_iterations=200"});
  EXPECT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
  EXPECT_GT(s.solution.shift, 0.0);
}

// The part of the impulses that moves nothing: lambda minus its projection on the range of J.
double internal_force(const ContactProblem& problem, const VectorX& lambda) {
  const MatrixX J = problem.primal.J.dense();
  const Eigen::CompleteOrthogonalDecomposition<MatrixX> decomposition(J);
  return (lambda - J * decomposition.solve(lambda)).norm() / lambda.norm();
}

// A cube at rest on four points: Gauss-Seidel serves the corners in order and leaves impulses that cancel each other;
// ADMM from a cold start does not.
TEST(InternalForces, ComeFromGaussSeidel) {
  const ContactProblem problem = make_box_stack(3);
  for (const char* solver : {"nbgs", "ncp-pgs", "ccp-pgs", "raisim-ds"}) {
    const Solved s = solve(solver, problem, {"max_iterations=50000"});
    ASSERT_EQ(s.status, SolveStatus::kSolved) << solver;
    EXPECT_GT(internal_force(problem, s.solution.lambda), 1e-3) << solver;
  }
  for (const char* solver : {"ncp-admm", "ccp-admm"}) {
    const Solved s = solve(solver, problem, {"max_iterations=5000"});
    ASSERT_EQ(s.status, SolveStatus::kSolved) << solver;
    EXPECT_LE(internal_force(problem, s.solution.lambda), 1e-5) << solver;
  }
}

// The next step of a simulation is nearly the same problem.
TEST(WarmStart, ReducesIterations) {
  const ContactProblem problem = make_pile(60, 7);
  ContactProblem next = problem;
  next.primal.v_free *= 1.01;
  for (const char* solver : {"lcp-pgs", "lcp-staggered", "ccp-pgs", "ccp-admm", "nbgs", "ncp-pgs", "ncp-staggered",
                             "ncp-admm", "ncp-prox"}) {
    const Solved before = solve(solver, problem, {"max_iterations=20000"});
    const Solved cold = solve(solver, next, {"max_iterations=20000"});
    const Solved warm = solve(solver, next, {"max_iterations=20000", "warm_start=true"}, &before.solution);
    ASSERT_EQ(cold.status, SolveStatus::kSolved) << solver;
    ASSERT_EQ(warm.status, SolveStatus::kSolved) << solver;
    EXPECT_LT(warm.solution.iterations, cold.solution.iterations) << solver;
  }
}

// All rules of ADMM find the same answer.
TEST(Admm, AllPenaltyRulesAgree) {
  const ContactProblem problem = make_pile(60, 3);
  const Solved reference = solve("nbgs", problem, {"relative_tolerance=1e-10", "max_iterations=50000"});
  ASSERT_EQ(reference.status, SolveStatus::kSolved);
  const std::vector<std::vector<std::string>> variants = {{"penalty=fixed", "rho=0.1"},
                                                          {"penalty=linear"},
                                                          {"penalty=spectral"},
                                                          {"penalty=spectral", "over_relaxation=1.5"},
                                                          {"penalty=spectral", "acceleration=true"},
                                                          {"penalty=fixed", "rho=0.1", "acceleration=true"},
                                                          {"preconditioning=false"}};
  for (std::vector<std::string> options : variants) {
    const std::string name = options[0] + " " + (options.size() > 1 ? options.back() : "");
    options.emplace_back("max_iterations=20000");
    const Solved s = solve("ncp-admm", problem, options);
    EXPECT_EQ(s.status, SolveStatus::kSolved) << name << ": " << s.solution.message;
    EXPECT_LE((s.solution.v - reference.solution.v).lpNorm<Eigen::Infinity>(), 1e-6) << name;
    if (options[0] == "penalty=fixed") {
      EXPECT_EQ(s.solution.factorizations, 1) << name;
    }
  }
}

TEST(Prox, BothSchemesAgree) {
  const ContactProblem problem = make_random_problem({.contacts = 6, .condition = 20.0}, 1);
  const Solved sor = solve("ncp-prox", problem, {"max_iterations=50000"});
  const Solved jacobi = solve("ncp-prox", problem, {"scheme=jacobi", "max_iterations=50000"});
  ASSERT_EQ(sor.status, SolveStatus::kSolved);
  ASSERT_EQ(jacobi.status, SolveStatus::kSolved);
  EXPECT_LE((sor.solution.u - jacobi.solution.u).lpNorm<Eigen::Infinity>(), 1e-6);
  EXPECT_LT(sor.solution.iterations, jacobi.solution.iterations);
}

}  // namespace
}  // namespace touchstone
