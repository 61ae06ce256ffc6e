#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Cholesky>
#include <Eigen/LU>

#include "support/allocation_guard.hpp"
#include "touchstone/math/block_sparse_cholesky.hpp"
#include "touchstone/math/block_sparse_lu.hpp"

namespace touchstone {
namespace {

class BlockSparseTest : public ::testing::Test {
 protected:
  double number() { return normal_(random_); }
  int integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  VectorX vector(int n) {
    return VectorX::NullaryExpr(n, [&] { return number(); });
  }

  // Random blocks on a symmetric random pattern with about `links` neighbours a row; diagonally dominant on demand.
  BlockSparseMatrix matrix(int blocks, int links, bool symmetric, int size = 0) {
    std::vector<int> partition{0};
    for (int i = 0; i < blocks; ++i) partition.push_back(partition.back() + (size > 0 ? size : integer(1, 6)));
    std::vector<std::pair<int, int>> pattern;
    for (int i = 0; i < blocks; ++i) {
      pattern.emplace_back(i, i);
      for (int k = 0; k < links; ++k) {
        // Mostly near neighbours, as in a pile.
        const int j = integer(0, 4) == 0 ? integer(0, blocks - 1) : std::min(blocks - 1, i + integer(1, 4));
        pattern.emplace_back(i, j);
        pattern.emplace_back(j, i);
      }
    }
    BlockSparseMatrix M;
    M.set_pattern(partition, partition, pattern);
    for (int i = 0; i < blocks; ++i) {
      for (int k = M.start[i]; k < M.start[i + 1]; ++k) {
        const int j = M.col[k];
        if (symmetric && j < i) {
          M.block(i, k) = M.block(j, M.find(j, i)).transpose();
          continue;
        }
        auto block = M.block(i, k);
        block = MatrixX::NullaryExpr(block.rows(), block.cols(), [&] { return number(); });
        if (symmetric && i == j) block = (block + block.transpose()).eval();
      }
    }
    for (int i = 0; i < blocks; ++i) {
      M.block(i, M.find(i, i)).diagonal().array() += 6.0 * (M.start[i + 1] - M.start[i]) + 6.0;
    }
    return M;
  }

  std::mt19937 random_{21};
  std::normal_distribution<double> normal_;
};

TEST_F(BlockSparseTest, ProductsAsDense) {
  for (const int size : {0, 3}) {
    const BlockSparseMatrix M = matrix(20, 2, false, size);
    EXPECT_EQ(M.all_3x3, size == 3);
    const MatrixX dense = M.dense();
    const VectorX x = vector(M.rows());
    VectorX y = M * x, z = VectorX::Zero(M.rows());
    EXPECT_LE((y - dense * x).norm(), 1e-12 * y.norm());
    M.multiply_transpose_add(x.data(), z.data());
    EXPECT_LE((z - dense.transpose() * x).norm(), 1e-12 * z.norm());
    EXPECT_NEAR(relative_skew(M), (dense - dense.transpose()).cwiseAbs().maxCoeff() / dense.cwiseAbs().maxCoeff(),
                1e-15);
  }
  EXPECT_EQ(relative_skew(matrix(20, 2, true)), 0.0);
}

// Robots that are one tree: every row is full, and most are single ones, which are multiplied four at a time.
TEST_F(BlockSparseTest, ProductsOfFullRowsAsDense) {
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<int> partition{0};
    std::vector<std::pair<int, int>> pattern;
    const int blocks = integer(1, 24);
    for (int i = 0; i < blocks; ++i) {
      partition.push_back(partition.back() + (integer(0, 4) == 0 ? integer(2, 6) : 1));
      for (int j = 0; j < blocks; ++j) {
        if (trial % 2 == 0 || i == j || integer(0, 9) > 0) pattern.emplace_back(i, j);
      }
    }
    BlockSparseMatrix M;
    M.set_pattern(partition, partition, pattern);
    for (std::size_t k = 0; k < M.offset.back(); ++k) M.values[k] = number();
    const VectorX x = vector(M.rows()), start = vector(M.rows());
    VectorX y = start;
    M.multiply_add(x.data(), y.data());
    EXPECT_LE((y - start - M.dense() * x).norm(), 1e-13 * (1.0 + M.dense().norm()) * (1.0 + x.norm())) << trial;
  }
}

TEST_F(BlockSparseTest, CholeskyAsDense) {
  BlockSparseCholesky cholesky;
  for (const int blocks : {1, 2, 9, 30, 100, 200}) {
    for (const int size : {0, 3}) {
      const BlockSparseMatrix M = matrix(blocks, 1 + blocks % 3, true, size);
      BlockDiagonal extra;
      extra.set_partition(M.row_begin);
      MatrixX dense = M.dense() + 0.7 * MatrixX::Identity(M.rows(), M.rows());
      for (int i = 0; i < blocks; ++i) {
        const int m = M.row_size(i);
        const MatrixX root = MatrixX::NullaryExpr(m, m, [&] { return number(); });
        Eigen::Map<MatrixX>(extra.data(i), m, m) = root * root.transpose();
        dense.block(M.row_begin[i], M.row_begin[i], m, m) += root * root.transpose();
      }
      ASSERT_TRUE(cholesky.factorize(M, 0.7, &extra)) << blocks;
      const VectorX b = vector(M.rows()), expected = dense.llt().solve(b);
      VectorX x = b;
      cholesky.solve(x);
      EXPECT_LE((x - expected).norm(), 1e-12 * expected.norm()) << blocks << " " << size;
      // Other values, same pattern.
      ASSERT_TRUE(cholesky.factorize(M, 5.0));
      x = b;
      cholesky.solve(x);
      EXPECT_LE((M * x + 5.0 * x - b).norm(), 1e-12 * b.norm());
    }
  }
}

TEST_F(BlockSparseTest, LuAsDense) {
  BlockSparseLu lu;
  for (const int blocks : {1, 2, 9, 30, 100, 200}) {
    for (const int size : {0, 3}) {
      const BlockSparseMatrix M = matrix(blocks, 1 + blocks % 3, false, size);
      BlockDiagonal extra;
      extra.set_partition(M.row_begin);
      MatrixX dense = M.dense() + 0.1 * MatrixX::Identity(M.rows(), M.rows());
      for (int i = 0; i < blocks; ++i) {
        const int m = M.row_size(i);
        Eigen::Map<MatrixX> block(extra.data(i), m, m);
        block = MatrixX::NullaryExpr(m, m, [&] { return number(); });
        dense.block(M.row_begin[i], M.row_begin[i], m, m) += block;
      }
      ASSERT_TRUE(lu.factorize(M, 0.1, &extra)) << blocks;
      const VectorX b = vector(M.rows()), expected = dense.partialPivLu().solve(b);
      VectorX x = b;
      lu.solve(x);
      EXPECT_LE((x - expected).norm(), 1e-11 * expected.norm()) << blocks << " " << size;
      x *= 1.0 + 1e-6;
      const double before = lu.refine(M, 0.1, &extra, b, x);
      EXPECT_NEAR(before, 1e-6 * b.lpNorm<Eigen::Infinity>(), 1e-9 * b.norm());
      EXPECT_LE((x - expected).norm(), 1e-12 * expected.norm()) << blocks << " " << size;
    }
  }
}

// Exchanges of rows within a supernode: the diagonal of a block vanishes.
// One after the other, with the same symbolic factors.
TEST_F(BlockSparseTest, LuWithAndWithoutSymmetry) {
  for (const int blocks : {1, 8, 60, 200}) {
    BlockSparseLu lu;
    BlockSparseMatrix M = matrix(blocks, 3, true);
    const VectorX b = vector(M.rows());
    const auto expect_solution = [&] {
      const VectorX expected = (M.dense() + 0.5 * MatrixX::Identity(M.rows(), M.rows())).partialPivLu().solve(b);
      VectorX x = b;
      lu.solve(x);
      EXPECT_LT((x - expected).norm(), 1e-12 * expected.norm()) << blocks;
    };
    ASSERT_TRUE(lu.factorize_symmetric(M, 0.5));
    expect_solution();
    EXPECT_FALSE(lu.factorize_symmetric(M, -1e3)) << blocks;
    for (double& value : M.values) value += 0.1 * number();
    ASSERT_TRUE(lu.factorize(M, 0.5));
    expect_solution();
  }
}

TEST_F(BlockSparseTest, LuExchangesRowsWithinBlocks) {
  for (const int blocks : {5, 60}) {
    BlockSparseMatrix M = matrix(blocks, 2, false, 3);
    for (int i = 0; i < blocks; ++i) {
      const int k = M.find(i, i);
      const Matrix3 rows = M.block(i, k);
      M.block(i, k) << rows.row(1), rows.row(2), rows.row(0);
      M.block(i, k)(0, 0) = 0.0;
    }
    BlockSparseLu lu;
    ASSERT_TRUE(lu.factorize(M));
    const VectorX b = vector(M.rows()), expected = M.dense().partialPivLu().solve(b);
    VectorX x = b;
    lu.solve(x);
    EXPECT_LE((x - expected).norm(), 1e-10 * expected.norm()) << blocks;
  }
}

TEST_F(BlockSparseTest, FailuresAreReported) {
  BlockSparseMatrix M = matrix(40, 2, true, 3);
  BlockSparseCholesky cholesky;
  EXPECT_TRUE(cholesky.factorize(M));
  EXPECT_FALSE(cholesky.factorize(M, -1000.0));
  for (double& value : M.values) value = 0.0;
  BlockSparseLu lu;
  EXPECT_FALSE(lu.factorize(M));
  for (double& value : M.values) value = std::nan("");
  EXPECT_FALSE(lu.factorize(M));
  EXPECT_FALSE(cholesky.factorize(M));
}

TEST_F(BlockSparseTest, NothingIsAllocatedWhileThePatternHolds) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  const BlockSparseMatrix M = matrix(300, 3, true);
  BlockSparseCholesky cholesky;
  BlockSparseLu lu;
  const VectorX b = vector(M.rows());
  VectorX x = b;
  ASSERT_TRUE(cholesky.factorize(M) && lu.factorize(M));
  lu.refine(M, 0.0, nullptr, b, x);
  const test::AllocationGuard guard;
  ASSERT_TRUE(cholesky.factorize(M, 1.0) && lu.factorize(M, 1.0));
  cholesky.solve(x);
  lu.solve(x);
  lu.refine(M, 1.0, nullptr, b, x);
  EXPECT_EQ(guard.allocations(), 0u);
}

// The fill of a chain is linear in its length; minimum degree finds it whatever the numbering.
TEST_F(BlockSparseTest, FillOfATreeStaysLinear) {
  constexpr int kBlocks = 2000;
  std::vector<int> label(kBlocks), partition{0};
  for (int i = 0; i < kBlocks; ++i) {
    label[static_cast<std::size_t>(i)] = i;
    partition.push_back(3 * (i + 1));
  }
  std::shuffle(label.begin(), label.end(), random_);
  std::vector<std::pair<int, int>> pattern;
  for (int i = 0; i < kBlocks; ++i) {
    pattern.emplace_back(i, i);
    if (i == 0) continue;
    const int a = label[static_cast<std::size_t>(i)], b = label[static_cast<std::size_t>((i - 1) / 2)];
    pattern.emplace_back(a, b);
    pattern.emplace_back(b, a);
  }
  BlockSparseMatrix M;
  M.set_pattern(partition, partition, pattern);
  BlockSparseSymbolic symbolic;
  symbolic.analyze(M);
  EXPECT_LE(symbolic.lower_values, 60u * kBlocks);  // without merging it would be 18 numbers a block
}

}  // namespace
}  // namespace touchstone
