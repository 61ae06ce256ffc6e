#include "touchstone/math/dense_factor.hpp"

#include <random>

#include <gtest/gtest.h>
#include <Eigen/LU>

#include "support/allocation_guard.hpp"
#include "touchstone/math/types.hpp"

namespace touchstone {
namespace {

MatrixX random_matrix(int n, std::mt19937& random) {
  std::normal_distribution<double> normal;
  return MatrixX::NullaryExpr(n, n, [&] { return normal(random); });
}

void fill(const MatrixX& M, bool lower, DenseFactor& factor) {
  factor.resize(static_cast<int>(M.rows()));
  for (int c = 0; c < M.cols(); ++c) {
    for (int r = lower ? c : 0; r < M.rows(); ++r) factor.column(c)[r] = M(r, c);
  }
}

// Sizes around the tiles of the kernels.
TEST(DenseFactor, SolvesWithAndWithoutASymmetricPart) {
  std::mt19937 random(5);
  for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 30, 31, 48, 49, 95, 96, 97, 150}) {
    const MatrixX root = random_matrix(n, random);
    const MatrixX symmetric = root * root.transpose() + MatrixX::Identity(n, n);
    const VectorX b = VectorX::LinSpaced(n, -1.0, 2.0);
    for (const int pivots : {0, 1, n / 2, n - 1, n}) {
      MatrixX M = symmetric, extra = MatrixX::Zero(n, n);
      extra.bottomRightCorner(n - pivots, n - pivots) = random_matrix(n - pivots, random);
      M += extra;
      DenseFactor factor;
      if (pivots == 0) {
        fill(M, false, factor);
      } else {
        fill(symmetric, true, factor);
        ASSERT_TRUE(factor.eliminate(pivots));
        for (int c = pivots; c < n; ++c) {
          for (int r = pivots; r < n; ++r) factor.column(c)[r] += extra(r, c);
        }
      }
      ASSERT_TRUE(factor.factorize());
      VectorX x = b;
      factor.solve(x.data());
      EXPECT_LT((M * x - b).lpNorm<Eigen::Infinity>(), 1e-10 * M.lpNorm<Eigen::Infinity>() * x.norm())
          << n << " rows, " << pivots << " symmetric";
    }
  }
}

TEST(DenseFactor, SaysWhatCannotBeFactored) {
  DenseFactor factor;
  fill(-MatrixX::Identity(3, 3), true, factor);
  EXPECT_FALSE(factor.eliminate(3));
  fill(MatrixX::Zero(3, 3), false, factor);
  EXPECT_FALSE(factor.factorize());
  factor.resize(0);
  EXPECT_TRUE(factor.factorize());
}

TEST(DenseFactor, KeepsItsMemory) {
  std::mt19937 random(5);
  const MatrixX M = random_matrix(40, random), smaller = M.topLeftCorner(20, 20);
  DenseFactor factor;
  fill(M, false, factor);
  ASSERT_TRUE(factor.factorize());
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  const test::AllocationGuard guard;
  fill(smaller, false, factor);
  EXPECT_TRUE(factor.factorize());
  EXPECT_EQ(guard.allocations(), 0u);
}

}  // namespace
}  // namespace touchstone
