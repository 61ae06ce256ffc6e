// Cost of chains and ladders in maximal coordinates: linear in links and loops.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/long_models.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/maximal.hpp"
#include "touchstone/math/block_sparse_symbolic.hpp"
#include "touchstone/sim/simulator.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone {
namespace {

const std::vector<double> kSizes{10, 32, 100, 316, 1000};

// A chain falls; a ladder is blown sideways, or impulses of the step before would do without a solve.
Simulator simulator_of(bool is_ladder, int n) {
  Simulator sim(to_maximal(is_ladder ? *test::ladder(n) : *test::chain(n)), SimulatorOptions{.time_step = 1e-3});
  if (!is_ladder) return sim;
  for (Vector6& wrench : sim.input().applied_wrench) wrench[0] = 0.5;
  return sim;
}

// Of a step that starts with the impulses of the one before: multiplications of a factorisation of G and numbers in G
// and J; and the sweeps and Newton steps of the solver, as `auto` counts them.
struct Counted {
  double matrices = 0.0, solver = 0.0;
};

Counted counted_work(bool is_ladder, int n) {
  Simulator sim = simulator_of(is_ladder, n);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(sim.step().status, StepStatus::kOk);
  StepContext& s = sim.context();
  Counted counted{.matrices = static_cast<double>(s.constraints.J.size()), .solver = s.solver.work()};
  for (int i = 0; i < s.solver.islands().count(); ++i) {
    const BlockSparseMatrix& G = s.solver.islands()[i].problem.dual.G_sparse;
    BlockSparseSymbolic symbolic;
    symbolic.analyze(G);
    counted.matrices += symbolic.multiplications() + static_cast<double>(G.values.size());
  }
  return counted;
}

TEST(MaximalCost, WorkIsLinearInLinksAndLoops) {
  for (const bool is_ladder : {false, true}) {
    std::vector<double> matrices, solver;
    for (const double n : kSizes) {
      const Counted counted = counted_work(is_ladder, static_cast<int>(n));
      matrices.push_back(counted.matrices);
      solver.push_back(counted.solver);
    }
    EXPECT_LT(test::log_slope(kSizes, matrices), 1.07) << is_ladder;
    EXPECT_NEAR(matrices[4] / matrices[2], 10.0, 0.3) << is_ladder;  // 1,000 and 100
    EXPECT_NEAR(solver[4] / solver[2], 10.0, 0.3) << is_ladder;
    // A chain of 10 is so small that its loops are eliminated densely, which `auto` does not count.
    const std::ptrdiff_t first = is_ladder ? 0 : 1;
    const auto from = [first](const std::vector<double>& all) { return std::vector(all.begin() + first, all.end()); };
    EXPECT_LT(test::log_slope(from(kSizes), from(solver)), 1.05) << is_ladder;
  }
}

// TOUCHSTONE_LONG=1: processor time of a step against the number of links and loops, as a table.
TEST(MaximalCost, TimeIsLinearInLinksAndLoops) {
  if (std::getenv("TOUCHSTONE_LONG") == nullptr) GTEST_SKIP() << "set TOUCHSTONE_LONG=1";
  for (const bool is_ladder : {false, true}) {
    std::vector<double> times;
    for (const double n : kSizes) {
      Simulator sim = simulator_of(is_ladder, static_cast<int>(n));
      sim.step(3);
      double best = std::numeric_limits<double>::infinity();
      const int steps = std::max(2, static_cast<int>(100 / n));
      for (int trial = 0; trial < 10; ++trial) {
        const std::clock_t begin = std::clock();
        for (int k = 0; k < steps; ++k) ASSERT_EQ(sim.step().status, StepStatus::kOk);
        best = std::min(best, 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / steps);
      }
      fmt::print("{} {}: {:.4f} ms\n", is_ladder ? "ladder" : "chain", n, best);
      times.push_back(best);
    }
    const double slope = test::log_slope(kSizes, times);
    fmt::print("slope of log-log {:.3f}\n", slope);
    EXPECT_LT(slope, 1.15);
  }
}

}  // namespace
}  // namespace touchstone
