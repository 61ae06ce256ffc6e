// Lagged with contacts that stiffen as the step shrinks, against hard contact: the motion of one becomes that of the
// other, with the first order.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/convex_limit.hpp"
#include "support/effort.hpp"
#include "support/solo_compliance.hpp"

namespace touchstone::test {
namespace {

// Castro et al. 2025 have k and v_s as constants of the material. With k proportional to 1/h^2, v_s to h, and d to 1/h,
// so that a rebound (slower than 1/d) vanishes too, the contact of a step is Signorini's and Coulomb's within O(h).
TEST(ConvexLimit, LaggedBecomesHardContact) {
  std::mt19937 random(5);
  const int variants = whole_family() ? 2 : 1;
  for (const LimitCase kind : kLimitCases) {
    for (int variant = 0; variant < variants; ++variant) {
      const LimitOptions o = random_limit(kind, random);
      const std::vector<double> steps{4e-3, 2e-3, 1e-3, 5e-4};
      const LimitErrors e = limit_errors(o, steps);
      std::string line;
      for (std::size_t i = 0; i < steps.size(); ++i) line += fmt::format(" {:.2e}/{:.2e}", e.same_step[i], e.exact[i]);
      fmt::print("{} {}:{} m\n", to_string(kind), variant, line);
      // From step to step the moment of an event moves within it; over a factor of eight the order shows.
      const double order = std::log2(e.exact.front() / e.exact.back()) / 3.0;
      EXPECT_NEAR(order, 1.0, 0.1) << to_string(kind) << ' ' << variant;
      EXPECT_LT(e.exact.back(), 0.005 * e.way) << to_string(kind) << ' ' << variant;
      EXPECT_NEAR(std::log2(e.same_step.front() / e.same_step.back()) / 3.0, 1.0, 0.1)
          << to_string(kind) << ' ' << variant;
    }
  }
}

// Le Lidec et al. 2023, Fig. 14: compliance lets feet creep in proportion to it, and takes away the internal forces
// that rigid contacts leave to the solver.
TEST(ConvexLimit, ComplianceEndsTheJammingOfSolo) {
  const auto figures = solo_compliance({0.0, 1e-2, 2e-2, 4e-2});
  if (!figures) GTEST_SKIP() << "no robots; set TOUCHSTONE_DATA to the folder that holds models/";
  for (const ComplianceFigures& f : *figures)
    fmt::print("{:g}: creep {:.2e} m/s, jam {:.2e}, moved {:.2e} m/s, {}\n", f.share, f.creep, f.jam, f.moved,
               f.problems);
  const ComplianceFigures &rigid = figures->front(), &soft = figures->back();
  EXPECT_GT(rigid.problems, 3);
  EXPECT_GT(rigid.jam, 1e-2);
  EXPECT_LT(soft.jam, 1e-6);
  EXPECT_LT(rigid.creep, 1e-8);
  for (std::size_t i = 2; i < figures->size(); ++i)
    EXPECT_NEAR((*figures)[i].creep / (*figures)[i - 1].creep, 1.8, 0.2) << i;
  for (const ComplianceFigures& f : *figures) EXPECT_LT(f.moved, 1e-8) << f.share;
}

}  // namespace
}  // namespace touchstone::test
