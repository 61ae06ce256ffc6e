// Linear systems that say the same twice: the least solution, in the sense of weights.
#include <gtest/gtest.h>

#include "touchstone/sim/events/pivoted_solve.hpp"

namespace touchstone {
namespace {

// Four legs of a table, whose forces are found by the sum and two moments: three rows, the fourth is the sum of others.
void fill_table(PivotedSolve& system, double x, double y) {
  const double places[4][2] = {{1, 1}, {-1, 1}, {-1, -1}, {1, -1}};
  const auto row = [&](int i, int j) { return i == 0 ? 1.0 : i == 1 ? places[j][0] : i == 2 ? places[j][1] : 0.0; };
  system.begin(4);
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 3; ++i) system.G(i, j) = row(i, j);
    system.G(3, j) = row(0, j) + row(1, j) + row(2, j);
  }
  system.r(0) = 1.0;
  system.r(1) = x;
  system.r(2) = y;
  system.r(3) = 1.0 + x + y;
}

TEST(PivotedSolve, TakesTheLeastOfManySolutions) {
  PivotedSolve system;
  fill_table(system, 0.2, -0.1);
  EXPECT_EQ(system.solve(), 3);
  // (1 + x place_x + y place_y) / 4.
  EXPECT_NEAR(system.x(0), 0.25 * (1.0 + 0.2 - 0.1), 1e-12);
  EXPECT_NEAR(system.x(1), 0.25 * (1.0 - 0.2 - 0.1), 1e-12);
  EXPECT_NEAR(system.x(2), 0.25 * (1.0 - 0.2 + 0.1), 1e-12);
  EXPECT_NEAR(system.x(3), 0.25 * (1.0 + 0.2 + 0.1), 1e-12);
}

// What weighs little changes little: the force of a weak leg is nearly zero, and the others bear the load.
TEST(PivotedSolve, WeakOnesChangeLittle) {
  PivotedSolve system;
  fill_table(system, 0.0, 0.0);
  system.weight(1) = 1e-4;
  EXPECT_EQ(system.solve(), 3);
  EXPECT_NEAR(system.x(1), 0.0, 1e-6);
  EXPECT_NEAR(system.x(3), 0.0, 1e-6);
  EXPECT_NEAR(system.x(0), 0.5, 1e-6);
  EXPECT_NEAR(system.x(2), 0.5, 1e-6);
}

TEST(PivotedSolve, SolvesWhatIsRegular) {
  PivotedSolve system;
  system.begin(2);
  system.G(0, 0) = 2.0;
  system.G(0, 1) = 1.0;
  system.G(1, 0) = -1.0;
  system.G(1, 1) = 3.0;
  system.r(0) = 5.0;
  system.r(1) = 8.0;
  EXPECT_EQ(system.solve(), 2);
  EXPECT_NEAR(system.x(0), 1.0, 1e-12);
  EXPECT_NEAR(system.x(1), 3.0, 1e-12);
}

}  // namespace
}  // namespace touchstone
