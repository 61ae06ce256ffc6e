// The status follows the certificate, whatever the numbers of a problem: coefficients of friction without bound, units
// from one end of double precision to the other, rows that hardly matter, matrices that are not quite symmetric.
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "solvers/solver_support.hpp"
#include "support/dual_view.hpp"
#include "support/effort.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/solvers/references.hpp"

namespace touchstone {
namespace {

using test::dual_view;
using test::solve;
using test::Solved;
using testing::HasSubstr;

constexpr double kTolerance = 1.001e-8;

// Solvers that stop on something else than natv of their model.
bool promises(std::string_view name) {
  return name != "raisim" && name != "raisim-ds-es" && name != "ccp-newton" && !find_solver(name).law;
}

struct Named {
  std::string name;
  ContactProblem problem;
};

// Bodies that gravity holds on each other, so that a solution is known to exist, and random ones.
std::vector<Named> small_family() {
  std::vector<Named> all;
  all.push_back({"cube", make_cube({1.0, 0.3, 0.0})});
  if (test::whole_family()) {
    all.push_back({"stack", make_box_stack(2, 100.0)});
    all.push_back({"spheres", make_sphere_stack({1.0, 10.0, 3.0})});
  }
  for (std::uint32_t seed = test::whole_family() ? 1 : 2; seed <= 2; ++seed) {
    all.push_back({fmt::format("random {}", seed), make_random_problem({.contacts = 5,
                                                                        .equalities = 1,
                                                                        .limits = 2,
                                                                        .boxes = 1,
                                                                        .mixed_contacts = seed == 2,
                                                                        .hyperstaticity = 1.5},
                                                                       seed)});
  }
  return all;
}

std::vector<Named> family() {
  std::vector<Named> all = small_family();
  if (!test::whole_family()) return all;
  all.push_back({"chain", make_chain(20)});
  all.push_back({"pile", make_pile(60, 2)});
  all.push_back({"wall", make_wall(60)});
  return all;
}

void set_friction(ContactProblem& problem, double mu, bool mixed) {
  Blocks& blocks = problem.blocks;
  for (int i = 0; i < blocks.count(); ++i) {
    if (blocks.type[i] != BlockType::kCoulomb) continue;
    for (int r = blocks.row[i]; r < blocks.row[i + 1] - 1; ++r) blocks.mu[r] = mixed && i % 2 == 1 ? 0.0 : mu;
  }
}

void expect_honest(const CatalogueEntry& entry, const Solved& s, const std::string& what) {
  const bool solved = s.status == SolveStatus::kSolved;
  if (solved && promises(entry.name)) {
    EXPECT_LE(s.residuals.model_natv_relative, kTolerance) << entry.name << ' ' << what;
  }
  EXPECT_EQ(s.solution.message.empty(), solved) << entry.name << ' ' << what;
  EXPECT_TRUE(s.solution.lambda.allFinite()) << entry.name << ' ' << what;
}

TEST(Truth, SolveStopsAtTheTimeLimit) {
  const ContactProblem pile = make_pile(400, 3, 1e4);
  for (const CatalogueEntry& entry : solver_catalogue()) {
    const Stopwatch watch;
    const Solved s =
        solve(entry.name.data(), pile, {"max_iterations=1000000", "relative_tolerance=1e-15", "time_limit=0.02"});
    EXPECT_LT(watch.seconds(), 5.0) << entry.name;
    EXPECT_NE(s.status, SolveStatus::kMaxIterations) << entry.name;
    EXPECT_TRUE(s.solution.lambda.allFinite()) << entry.name;
  }
  // Nothing is left to chance when there is no time at all.
  const Solved none = solve("auto", make_wall(40), {"time_limit=0"});
  EXPECT_EQ(none.status, SolveStatus::kTimeLimit);
  EXPECT_THAT(none.solution.message, HasSubstr("time_limit"));
}

TEST(Truth, ReferencesNameAuthorsYearAndTitle) {
  for (const CatalogueEntry& entry : solver_catalogue()) {
    const std::string full = full_reference(entry.reference);
    EXPECT_FALSE(entry.reference.empty());
    const bool ours = entry.reference.starts_with("Touchstone");
    EXPECT_TRUE(ours || !cited_publications(entry.reference).empty()) << entry.name;
    for (const Publication* publication : cited_publications(entry.reference)) {
      EXPECT_THAT(full, HasSubstr(publication->title)) << entry.name;
      EXPECT_THAT(full, HasSubstr(publication->authors)) << entry.name;
      EXPECT_THAT(full, HasSubstr(std::to_string(publication->year))) << entry.name;
    }
  }
}

// Bodies that rest are solved whatever the coefficient. Piles of spheres and contacts of which every second one has no
// friction are hard from a coefficient of 10 on; there the answer is honest, and never "infeasible".
TEST(Truth, FrictionWithoutBoundIsNotInfeasible) {
  int solved = 0, tried = 0;
  for (const Named& named : family()) {
    for (const double mu : {1e3, 1e6, 1e12, 1e300}) {
      for (const bool mixed : {false, true}) {
        const std::string what = fmt::format("{} {} {}", named.name, mu, mixed);
        ContactProblem problem = named.problem;
        set_friction(problem, mu, mixed);
        const Solved s = solve("auto", problem, {});
        EXPECT_FALSE(s.solution.infeasible) << what;
        expect_honest(find_solver("auto"), s, what);
        const bool rests = named.name == "cube" || named.name == "stack" || named.name == "spheres";
        if (rests || named.name == "wall") {
          EXPECT_EQ(s.status, SolveStatus::kSolved) << what << s.solution.message;
        }
        ++tried;
        solved += s.status == SolveStatus::kSolved ? 1 : 0;
      }
    }
  }
  EXPECT_GE(solved, 4 * tried / 5) << "of " << tried;
}

TEST(Truth, EverySolverIsHonestAboutFrictionWithoutBound) {
  for (const Named& named : small_family()) {
    for (const double mu : {1e4, 1e12, 1e300}) {
      ContactProblem problem = named.problem;
      set_friction(problem, mu, mu == 1e12);
      for (const CatalogueEntry& entry : solver_catalogue()) {
        const Solved s = solve(entry.name.data(), problem, {"max_iterations=200"});
        expect_honest(entry, s, fmt::format("{} {}", named.name, mu));
      }
    }
  }
}

// A contact that approaches and slides, without impulse: with much friction the natural map of De Saxce's form divides
// the approach by mu and would call that solved.
TEST(Truth, MuchFrictionDoesNotHideAnApproach) {
  ContactProblem problem;
  problem.blocks.add_coulomb(1e12);
  problem.dual.set(MatrixX(MatrixX::Identity(3, 3)), Vector3(1.0, 0.0, -1.0));
  EXPECT_GE(certify(problem, VectorX(VectorX::Zero(3))).natv_relative, 0.5);
  EXPECT_LE(certify(problem, VectorX(Vector3(-1.0, 0.0, 1.0))).natv_relative, 1e-15);
}

void scale(ContactProblem& problem, double G, double g) {
  problem.dual.G_sparse.values = [&] {
    auto values = problem.dual.G_sparse.values;
    for (double& value : values) value *= G;
    return values;
  }();
  problem.dual.g *= g;
  for (double& bound : problem.blocks.lo) bound *= g / G;
  for (double& bound : problem.blocks.hi) bound *= g / G;
}

TEST(Truth, UnitsDoNotMatter) {
  for (const Named& named : family()) {
    ContactProblem original = dual_view(named.problem);
    original.time_step = 0.0;
    const Solved reference = solve("auto", original, {});
    ASSERT_EQ(reference.status, SolveStatus::kSolved) << named.name;
    for (const double G : {1e-200, 1e-150, 1e-80, 1e-20, 1.0, 1e20, 1e80, 1e150, 1e200}) {
      for (const double g : {1e-200, 1e-100, 1e-30, 1.0, 1e30, 1e100, 1e200}) {
        if (std::abs(std::log10(g) - std::log10(G)) > 290.0) continue;  // impulses beyond all numbers
        ContactProblem problem = original;
        scale(problem, G, g);
        const Solved s = solve("auto", problem, {});
        EXPECT_EQ(s.status, SolveStatus::kSolved) << named.name << ' ' << G << ' ' << g << ' ' << s.solution.message;
        EXPECT_LE(s.residuals.natv_relative, kTolerance) << named.name << ' ' << G << ' ' << g;
      }
    }
  }
}

TEST(Truth, EverySolverIsHonestInAnyUnits) {
  for (const Named& named : small_family()) {
    ContactProblem original = dual_view(named.problem);
    original.time_step = 0.0;
    for (const auto& [G, g] : {std::pair(1e-200, 1.0), std::pair(1e-200, 1e-200), std::pair(1e200, 1e-100),
                               std::pair(1e-310, 1e-12), std::pair(1e-300, 1e100), std::pair(1.0, 1e-310)}) {
      ContactProblem problem = original;
      scale(problem, G, g);
      for (const CatalogueEntry& entry : solver_catalogue()) {
        const Solved s = solve(entry.name.data(), problem, {"max_iterations=200"});
        expect_honest(entry, s, fmt::format("{} {} {}", named.name, G, g));
      }
    }
  }
}

// One block whose rows and columns are tiny, with a free velocity that is or is not.
TEST(Truth, EverySolverIsHonestAboutTinyRows) {
  for (const Named& named : small_family()) {
    const ContactProblem original = dual_view(named.problem);
    for (const double tiny : {1e-20, 1e-100, 1e-162}) {
      for (const bool free_too : {false, true}) {
        ContactProblem problem = original;
        BlockSparseMatrix& G = problem.dual.G_sparse;
        for (int i = 0; i < G.block_rows(); ++i) {
          for (int k = G.start[i]; k < G.start[i + 1]; ++k)
            G.block(i, k) *= (i == 0 ? tiny : 1.0) * (G.col[k] == 0 ? tiny : 1.0);
        }
        if (free_too) problem.dual.g.head(problem.blocks.size(0)) *= tiny;
        for (const CatalogueEntry& entry : solver_catalogue()) {
          const Solved s = solve(entry.name.data(), problem, {"max_iterations=200"});
          expect_honest(entry, s, fmt::format("{} {} {}", named.name, tiny, free_too));
          if (entry.name == "auto" && free_too && tiny >= 1e-100) {
            EXPECT_EQ(s.status, SolveStatus::kSolved) << named.name << ' ' << tiny << s.solution.message;
          }
        }
      }
    }
  }
}

// Skew parts of 0.1 to 10 % of the largest entry, over all the matrix, on a symmetric part that stays as it is.
ContactProblem with_skew(const ContactProblem& original, double skew, std::uint32_t seed) {
  ContactProblem problem = original;
  BlockSparseMatrix& G = problem.dual.G_sparse;
  double largest = 0.0;
  for (const double value : G.values) largest = std::max(largest, std::abs(value));
  std::uint32_t state = seed;
  const auto random = [&] {
    state = state * 1664525U + 1013904223U;
    return static_cast<double>(state >> 8U) / (1U << 23U) - 1.0;
  };
  for (int i = 0; i < G.block_rows(); ++i) {
    for (int k = G.start[i]; k < G.start[i + 1]; ++k) {
      const int j = G.col[k];
      if (j < i) continue;
      auto block = G.block(i, k);
      auto mirror = G.block(j, G.find(j, i));
      for (int c = 0; c < block.cols(); ++c) {
        for (int r = 0; r < block.rows(); ++r) {
          if (j == i && r >= c) continue;
          const double part = skew * largest * random();
          block(r, c) += part;
          mirror(c, r) -= part;
        }
      }
    }
  }
  return problem;
}

TEST(Truth, UnsymmetricProblemsAreSolvedAsGivenWithAWarning) {
  int solved = 0, tried = 0;
  for (const Named& named : small_family()) {
    const ContactProblem original = dual_view(named.problem);
    for (const double skew : {0.001, 0.013, 0.05, 0.0999}) {
      const ContactProblem problem = with_skew(original, skew, 7);
      for (const CatalogueEntry& entry : solver_catalogue()) {
        const std::string what = fmt::format("{} {}", named.name, skew);
        const Solved s = solve(entry.name.data(), problem, {"max_iterations=200"});
        EXPECT_NE(s.status, SolveStatus::kInvalidProblem) << entry.name << ' ' << what << s.solution.message;
        expect_honest(entry, s, what);
        if (entry.law) continue;  // they need the primal view, which is symmetric
        EXPECT_THAT(s.solution.warning, HasSubstr("not symmetric")) << entry.name << ' ' << what;
        if (entry.name == "auto") {
          EXPECT_EQ(s.status, SolveStatus::kSolved) << what << s.solution.message;
        }
        ++tried;
        solved += s.status == SolveStatus::kSolved ? 1 : 0;
      }
    }
    EXPECT_TRUE(solve("auto", original, {}).solution.warning.empty());
    EXPECT_EQ(solve("auto", with_skew(original, 0.3, 7), {}).status, SolveStatus::kInvalidProblem) << named.name;
  }
  EXPECT_GE(solved, tried / 2) << "of " << tried;
}

TEST(Auto, SaysWhichStageFinished) {
  const ContactProblem cube = make_cube({1.0, 0.3, 0.0});
  const Solved cold = solve("auto", cube, {});
  EXPECT_GT(cold.solution.stage.number, 0);
  EXPECT_STRNE(cold.solution.stage.name, "");
  const Solved warm = solve("auto", cube, {"warm_start=true"}, &cold.solution);
  EXPECT_EQ(warm.solution.stage.number, 0);
  EXPECT_STREQ(warm.solution.stage.name, "start");
  EXPECT_EQ(solve("ncp-pgs", cube, {}).solution.stage.number, -1);
  for (const Named& named : family()) {
    EXPECT_GT(solve("auto", named.problem, {}).solution.stage.number, 0) << named.name;
  }
}

}  // namespace
}  // namespace touchstone
