// The path of falling compliance, through its turns: closed forms, all kinds of blocks, piles, bounds.
#include <cmath>

#include <gtest/gtest.h>

#include "solver_support.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/solvers/newton/compliance_path.hpp"

namespace touchstone {
namespace {

struct Followed {
  double before = 0.0, after = 0.0;  // natv relative to the velocity scale
  VectorX lambda;                    // in the problem's units
  int steps = 0, turns = 0;
};

// From impulses in the problem's units.
Followed follow(const ContactProblem& problem, const VectorX& start, int max_steps = 400,
                CompliancePath* kept = nullptr) {
  DualProblem dual;
  EXPECT_TRUE(prepare_dual(problem, {}, dual).usable());
  VectorX lambda, u;
  scale_lambda(dual, start, lambda);
  compute_velocity(dual, lambda, u);
  Followed result;
  const double given = natv(dual, ContactModel::kNcp, lambda, u);
  CompliancePath fresh;
  CompliancePath& path = kept != nullptr ? *kept : fresh;
  const double value = path.run(dual, {.max_steps = max_steps}, given, lambda, u);
  EXPECT_NEAR(value, natv(dual, ContactModel::kNcp, lambda, u), 1e-15 * (1.0 + value));
  result.before = given / dual.velocity_scale;
  result.after = value / dual.velocity_scale;
  unscale_lambda(dual, lambda, result.lambda);
  result.steps = path.steps();
  result.turns = path.turns();
  return result;
}

VectorX swept(const ContactProblem& problem, int sweeps) {
  return test::solve("nbgs", problem, {"max_iterations=" + std::to_string(sweeps)}).solution.lambda;
}

TEST(CompliancePath, OfACubeThatSlides) {
  const SceneOptions options;
  const ContactProblem problem = make_cube(Vector3(1.0, 0.0, 0.0), options);
  const Followed followed = follow(problem, VectorX::Zero(problem.nrow()));
  EXPECT_LE(followed.after, 1e-8);
  // Friction takes mu g h from the sliding speed.
  const VectorX v = next_velocity(problem, followed.lambda);
  EXPECT_NEAR(v[0], 1.0 - options.friction * options.gravity * options.time_step, 1e-9);
}

// Equalities, limits, boxes, contacts of all dimensions with anisotropic friction; from zero and from a few sweeps.
// What one run leaves behind does not show in the next.
TEST(CompliancePath, SolvesMixedProblems) {
  int solved = 0, runs = 0;
  CompliancePath used;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const RandomProblemOptions options{.contacts = 8,
                                       .equalities = 2,
                                       .limits = 3,
                                       .boxes = 4,
                                       .mixed_contacts = true,
                                       .hyperstaticity = seed % 2 == 0 ? 1.5 : 1.0};
    const ContactProblem problem = make_random_problem(options, seed);
    for (const int sweeps : {0, 5}) {
      const VectorX start = sweeps == 0 ? VectorX(VectorX::Zero(problem.nrow())) : swept(problem, sweeps);
      const Followed followed = follow(problem, start, 400, &used);
      EXPECT_EQ(followed.lambda, follow(problem, start).lambda) << seed;
      ++runs;
      if (followed.after <= 1e-6) {
        ++solved;
      } else {
        EXPECT_EQ(followed.after, followed.before) << seed << ", " << sweeps << " sweeps";
      }
    }
  }
  EXPECT_GE(solved, runs * 95 / 100);
}

// Where the curve turns back, the compliance must grow before it can fall.
TEST(CompliancePath, GoesThroughTurns) {
  for (const std::uint32_t seed : {1u, 3u}) {
    const ContactProblem problem = make_pile(1000, seed);
    const Followed followed = follow(problem, swept(problem, 500));
    EXPECT_GT(followed.before, 1e-3) << seed;
    EXPECT_LE(followed.after, 1e-6) << seed;
    EXPECT_GT(followed.turns, 0) << seed;
  }
}

TEST(CompliancePath, LeavesTheStartWhereStepsAreUsedUp) {
  const ContactProblem problem = make_pile(300, 1);
  const VectorX start = swept(problem, 20);
  const Followed followed = follow(problem, start, 3);
  EXPECT_LE(followed.steps, 3);
  EXPECT_EQ(followed.after, followed.before);
  EXPECT_LE((followed.lambda - start).lpNorm<Eigen::Infinity>(), 1e-12 * start.lpNorm<Eigen::Infinity>());
}

}  // namespace
}  // namespace touchstone
