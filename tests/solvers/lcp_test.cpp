// The solvers of the LCP: the friction pyramid, exact answers by enumeration, and the bias of the pyramid.
#include <cmath>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <Eigen/LU>

#include "solver_support.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/solvers/lcp/pyramid.hpp"

namespace touchstone {
namespace {

using test::solve;
using test::Solved;

constexpr double kPi = 3.14159265358979323846;

TEST(Pyramid, ProjectsOnThePolygon) {
  const double mu[2] = {0.5, 0.8};
  for (const int facets : {8, 12, 32}) {
    const Pyramid pyramid(facets);
    for (int k = 0; k < 200; ++k) {
      const Vector2 point(std::cos(0.37 * k) * 0.02 * k, std::sin(0.37 * k) * 0.02 * k);
      Vector2 nearest;
      pyramid.project_pair(mu, 1.0, point.data(), nearest.data());
      // Inside all facets, and no corner is further along the residual: the conditions of a projection.
      double reach = -1e9;
      for (int j = 0; j < facets; ++j) {
        const double angle = 2.0 * kPi * j / facets;
        EXPECT_LE(std::cos(angle) * nearest[0] / mu[0] + std::sin(angle) * nearest[1] / mu[1], 1.0 + 1e-12);
        const Vector2 corner(mu[0] * pyramid.corner(j)[0], mu[1] * pyramid.corner(j)[1]);
        reach = std::max(reach, (point - nearest).dot(corner - nearest));
      }
      EXPECT_LE(reach, 1e-12) << facets << " " << k;
    }
  }
}

TEST(Pyramid, OfFourFacetsHasTheResidualOfTheCertificate) {
  const ContactProblem problem =
      make_random_problem({.contacts = 6, .equalities = 1, .limits = 1, .boxes = 1, .mixed_contacts = true}, 3);
  DualProblem dual;
  ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
  const VectorX lambda = VectorX::Random(dual.nrow());
  VectorX u;
  compute_velocity(dual, lambda, u);
  EXPECT_NEAR(pyramid_natv(dual, Pyramid(4), lambda, u), natv(dual, ContactModel::kLcp, lambda, u), 1e-15);
}

class LcpFamily : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Family, LcpFamily, ::testing::Values("lcp-pgs", "lcp-lemke", "lcp-dantzig", "lcp-staggered"),
                         [](const auto& test) {
                           std::string name = test.param;
                           name[3] = '_';
                           return name;
                         });

// Two frictionless contacts, a limit and a box: each row is at zero, free, or at a bound. All cases are tried.
TEST_P(LcpFamily, EqualsEnumeration) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    ContactProblem problem = make_random_problem({.contacts = 1, .equalities = 0, .limits = 2, .boxes = 2}, seed);
    const int n = problem.nrow();
    const MatrixX& G = problem.dual.G_dense;
    const VectorX& g = problem.dual.g;
    const double mu = problem.blocks.mu[4];
    const double* lo = problem.blocks.lo.data();
    const double* hi = problem.blocks.hi.data();
    ASSERT_EQ(n, 7);  // 2 limits, 2 boxes, [t1, t2, n]
    VectorX expected;
    int found = 0;
    for (int code = 0; code < 4 * 9 * 9 * 2; ++code) {
      // Modes: 0 free (u = 0), 1 at the lower end, 2 at the upper end.
      const int mode[7] = {code % 2,      code / 2 % 2,   code / 4 % 3,  code / 12 % 3,
                           code / 36 % 3, code / 108 % 3, code / 324 % 2};
      MatrixX M = MatrixX::Zero(n, n);
      VectorX rhs = VectorX::Zero(n);
      for (int r = 0; r < n; ++r) {
        if (mode[r] == 0) {
          M.row(r) = G.row(r);
          rhs[r] = -g[r];
          continue;
        }
        M(r, r) = 1.0;
        if (r == 2 || r == 3) rhs[r] = mode[r] == 1 ? lo[r] : hi[r];
        if (r == 4 || r == 5) M(r, 6) = mode[r] == 1 ? mu : -mu;
      }
      const VectorX lambda = M.partialPivLu().solve(rhs), u = G * lambda + g;
      bool good = true;
      for (int r = 0; r < n; ++r) {
        const double low = r == 2 || r == 3 ? lo[r] : r == 4 || r == 5 ? -mu * lambda[6] : 0.0;
        const double high = r == 2 || r == 3 ? hi[r] : r == 4 || r == 5 ? mu * lambda[6] : 1e300;
        good = good && lambda[r] >= low - 1e-12 && lambda[r] <= high + 1e-12;
        if (mode[r] == 1) good = good && u[r] >= -1e-12;
        if (mode[r] == 2) good = good && u[r] <= 1e-12;
      }
      if (!good) continue;
      ++found;
      expected = lambda;
    }
    ASSERT_GE(found, 1) << seed;
    const Solved s = solve(GetParam(), problem, {"relative_tolerance=1e-10", "max_iterations=100000"});
    EXPECT_EQ(s.status, SolveStatus::kSolved) << seed << ": " << s.solution.message;
    EXPECT_LE((s.solution.lambda - expected).lpNorm<Eigen::Infinity>(), 1e-8) << seed;
  }
}

// Friction of the sliding cube at an angle to the axes, relative to straight against the motion, in degrees.
double deviation(const char* solver, double angle, const std::vector<std::string>& options) {
  const Vector3 direction(std::cos(angle), std::sin(angle), 0.0);
  const Solved s = solve(solver, make_cube(direction, {.friction = 0.5}), options);
  EXPECT_EQ(s.status, SolveStatus::kSolved) << solver << ": " << s.solution.message;
  const Vector3 change = s.solution.v.head<3>() - direction;
  const double across = direction.x() * change.y() - direction.y() * change.x();
  return std::atan2(std::abs(across), -(direction.x() * change.x() + direction.y() * change.y())) * 180.0 / kPi;
}

// Le Lidec et al. 2024, Fig. 6: friction is drawn towards the corners of the pyramid. 4 facets: the corner at 45
// degrees takes it all; 8 facets: the corner at 22.5 degrees.
TEST_P(LcpFamily, PyramidBiasesTheFriction) {
  const std::vector<std::string> precise = {"relative_tolerance=1e-10", "max_iterations=100000"};
  std::vector<std::string> octagon = precise;
  octagon.emplace_back("facets=8");
  for (const double degrees : {20.0, 25.0, 30.0}) {
    const double angle = degrees * kPi / 180.0;
    EXPECT_NEAR(deviation(GetParam(), angle, precise), 45.0 - degrees, 1e-3);
    EXPECT_NEAR(deviation(GetParam(), angle, octagon), std::abs(22.5 - degrees), 1e-3);
    EXPECT_LE(deviation("nbgs", angle, precise), 1e-4);
    EXPECT_LE(deviation("ccp-admm", angle, precise), 1e-4);
  }
}

// With many facets the answer tends to that of the cone.
TEST_P(LcpFamily, ManyFacetsApproachTheCone) {
  const Vector3 velocity(std::cos(0.4), std::sin(0.4), 0.0);
  const ContactProblem problem = make_cube(velocity, {.friction = 0.5});
  const Solved cone = solve("nbgs", problem, {"relative_tolerance=1e-10", "max_iterations=20000"});
  const auto error = [&](const char* facets) {
    const Solved s = solve(GetParam(), problem, {facets, "relative_tolerance=1e-9", "max_iterations=100000"});
    EXPECT_EQ(s.status, SolveStatus::kSolved) << s.solution.message;
    return (s.solution.v - cone.solution.v).norm() / (0.5 * 9.81e-3);
  };
  // Friction acts at the corner nearest to the motion: off by at most pi / k, too long by 1 / cos(pi / k).
  EXPECT_LE(error("facets=8"), kPi / 8 + 0.1);
  EXPECT_LE(error("facets=32"), kPi / 32 + 0.01);
}

TEST_P(LcpFamily, RefusesAPyramidWithoutSymmetry) {
  const Solved s = solve(GetParam(), make_cube({1.0, 0.0, 0.0}), {"facets=6"});
  EXPECT_EQ(s.status, SolveStatus::kUnsupported);
  EXPECT_NE(s.solution.message.find("multiple of 4"), std::string::npos);
}

TEST(PivotingSolvers, RefuseWhatIsTooLarge) {
  const ContactProblem problem = make_pile(400, 1);
  for (const char* solver : {"lcp-lemke", "lcp-dantzig"}) {
    const Solved s = solve(solver, problem, {});
    EXPECT_EQ(s.status, SolveStatus::kUnsupported);
    EXPECT_NE(s.solution.message.find("more than 1000"), std::string::npos) << s.solution.message;
  }
}

// Pivoting is exact: the residual is rounding. Where masses differ by 1,000, rounding of the tableau shows: residuals
// of 4e-8 were seen with one compiler, below 1e-10 with another.
TEST(PivotingSolvers, LemkeIsExact) {
  for (const double ratio : {1.0, 10.0}) {
    const Solved s = solve("lcp-lemke", make_box_stack(4, ratio), {"relative_tolerance=1e-10"});
    EXPECT_EQ(s.status, SolveStatus::kSolved) << ratio << ": " << s.solution.message;
    EXPECT_LE(s.residuals.model_natv_relative, 1e-10) << ratio;
  }
}

}  // namespace
}  // namespace touchstone
