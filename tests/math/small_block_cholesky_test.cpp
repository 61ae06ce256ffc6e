#include "touchstone/math/small_block_cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"

namespace touchstone {
namespace {

struct Random {
  std::mt19937 engine;
  double number() { return std::uniform_real_distribution<double>(-1.0, 1.0)(engine); }
  int below(int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); }
};

// Blocks of one to six rows, coupled at random; positive definite by its diagonal.
struct System {
  std::vector<int> row_begin{0};
  std::vector<std::pair<int, int>> pairs;
  MatrixX M;

  System(int blocks, int couplings, Random& random, bool full) {
    for (int i = 0; i < blocks; ++i) row_begin.push_back(row_begin.back() + (full ? 6 : 1 + random.below(6)));
    for (int k = 0; k < couplings && blocks > 1; ++k) {
      const int i = random.below(blocks), j = random.below(blocks);
      if (i != j) pairs.emplace_back(i, j);
    }
    M = MatrixX::Zero(row_begin.back(), row_begin.back());
    const auto add = [&](int i, int j) {
      for (int r = row_begin[i]; r < row_begin[i + 1]; ++r) {
        for (int c = row_begin[j]; c < row_begin[j + 1]; ++c) M(r, c) = M(c, r) = random.number();
      }
    };
    for (int i = 0; i < blocks; ++i) add(i, i);
    for (const auto& [i, j] : pairs) add(i, j);
    M.diagonal().array() += 1.0 + M.cwiseAbs().rowwise().sum().array();
  }

  void fill(SmallBlockCholesky& factor) const {
    constexpr int kSix = SmallBlockCholesky::kSize;
    factor.begin(row_begin);
    for (const auto& [i, j] : pairs) factor.couple(i, j);
    factor.order();
    factor.set_zero();
    const auto write = [&](int i, int j, double* target) {
      for (int r = 0; r < row_begin[i + 1] - row_begin[i]; ++r) {
        for (int c = 0; c < row_begin[j + 1] - row_begin[j]; ++c)
          target[c * kSix + r] = M(row_begin[i] + r, row_begin[j] + c);
      }
    };
    for (int i = 0; i + 1 < static_cast<int>(row_begin.size()); ++i) write(i, i, factor.diagonal(i));
    for (const auto& [i, j] : pairs) {
      const auto [later, earlier] = factor.comes_before(i, j) ? std::pair(j, i) : std::pair(i, j);
      write(later, earlier, factor.coupling(later, earlier));
    }
  }
};

// One factor for patterns that come and go, up to a whole word of blocks.
TEST(SmallBlockCholesky, SolvesAsDense) {
  Random random{std::mt19937(5)};
  SmallBlockCholesky factor;
  for (const int blocks : {1, 2, 7, 40, 63, 64, 3}) {
    for (int trial = 0; trial < 8; ++trial) {
      const System system(blocks, trial * blocks, random, trial % 2 == 0);
      system.fill(factor);
      EXPECT_NEAR(factor.largest_diagonal(), std::max(1.0, system.M.diagonal().maxCoeff()), 1e-14);
      ASSERT_TRUE(factor.factorize()) << blocks;
      VectorX x(system.M.rows());
      for (double& value : x) value = random.number();
      const VectorX right = x;
      factor.solve(x.data());
      EXPECT_LE((system.M * x - right).norm(), 1e-13 * right.norm()) << blocks << ' ' << trial;
    }
  }
}

TEST(SmallBlockCholesky, ShiftsAndSeesWhatIsIndefinite) {
  Random random{std::mt19937(6)};
  System system(5, 6, random, true);
  system.M.diagonal().array() -= 100.0;
  SmallBlockCholesky factor;
  system.fill(factor);
  EXPECT_FALSE(factor.factorize());
  system.fill(factor);
  factor.shift(100.0);
  ASSERT_TRUE(factor.factorize());
  system.M.diagonal().array() += 100.0;
  VectorX x = VectorX::Ones(system.M.rows());
  factor.solve(x.data());
  EXPECT_LE((system.M * x - VectorX::Ones(x.size())).norm(), 1e-12);
  system.M(3, 3) = std::nan("");
  system.fill(factor);
  EXPECT_FALSE(factor.factorize());
}

TEST(SmallBlockCholesky, AllocatesNothing) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  Random random{std::mt19937(7)};
  const System large(30, 90, random, true), other(30, 20, random, true);
  SmallBlockCholesky factor;
  large.fill(factor);
  other.fill(factor);
  ASSERT_TRUE(factor.factorize());
  const test::AllocationGuard guard;
  large.fill(factor);
  ASSERT_TRUE(factor.factorize());
  other.fill(factor);
  EXPECT_EQ(guard.allocations(), 0U);
}

}  // namespace
}  // namespace touchstone
