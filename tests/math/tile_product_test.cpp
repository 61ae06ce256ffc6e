#include "touchstone/math/tile_product.hpp"

#include <algorithm>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"

namespace touchstone::test {
namespace {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Of which `share` is not zero.
template <typename Matrix>
Matrix random_sparse(int rows, int cols, double share, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::bernoulli_distribution is_there(share);
  Matrix result(rows, cols);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) result(i, j) = is_there(random) ? normal(random) : 0.0;
  }
  return result;
}

// What is behind the rows of a column must not count: NaN there.
PaddedMatrix padded(const MatrixX& values) {
  PaddedMatrix result;
  result.resize(static_cast<int>(values.rows()), static_cast<int>(values.cols()));
  std::fill_n(result.col(0), result.leading() * result.cols(), std::numeric_limits<double>::quiet_NaN());
  result.view() = values;
  return result;
}

// Sizes around the tiles of twelve rows and four columns, all layouts of the right factor.
TEST(TileProduct, IsTheProduct) {
  std::mt19937 random(3);
  TileProduct product;
  for (const int m : {1, 2, 3, 4, 5, 8, 11, 12, 13, 24, 37}) {
    for (const int k : {0, 1, 3, 8, 30}) {
      for (const int n : {1, 3, 4, 5, 9, 16}) {
        for (const double share : {0.05, 0.4, 1.0}) {
          const auto A = random_sparse<MatrixX>(m, k, 1.0, random), C = random_sparse<MatrixX>(m, n, 1.0, random);
          const auto B = random_sparse<RowMatrix>(k, n, share, random);
          const MatrixX expected = C - 0.5 * (A * B);
          const double bound = 1e-14 * (1.0 + expected.cwiseAbs().maxCoeff()) * (1 + k);
          const PaddedMatrix left = padded(A);
          MatrixX by_rows = C;
          product.add(-0.5, left, TileProduct::by_rows(B), by_rows.data(), by_rows.outerStride());
          PaddedMatrix plain = padded(C), transposed = padded(C);
          product.add(-0.5, left, TileProduct::plain(padded(B)), plain);
          product.add(-0.5, left, TileProduct::transposed(padded(B.transpose())), transposed);
          EXPECT_LE((by_rows - expected).cwiseAbs().maxCoeff(), bound) << m << " " << k << " " << n;
          EXPECT_EQ(by_rows, plain.view());
          EXPECT_EQ(by_rows, transposed.view());
        }
      }
    }
  }
}

TEST(TileProduct, OfSymmetricMatricesIsTheSame) {
  std::mt19937 random(4);
  TileProduct product;
  for (const int n : {1, 3, 4, 5, 12, 13, 30}) {
    const auto A = random_sparse<MatrixX>(n, 9, 0.3, random);
    const MatrixX root = random_sparse<MatrixX>(n, n, 1.0, random), C = root + root.transpose();
    const PaddedMatrix left = padded(A);
    PaddedMatrix out = padded(C);
    product.add_symmetric(2.0, left, TileProduct::transposed(left), out);
    EXPECT_LE((out.view() - C - 2.0 * A * A.transpose()).cwiseAbs().maxCoeff(), 1e-13) << n;
    EXPECT_EQ(out.view(), out.view().transpose()) << n;
  }
}

// A zero leaves its row out; what is no number does not vanish.
TEST(TileProduct, KeepsNaN) {
  MatrixX B = MatrixX::Zero(3, 4);
  B(1, 2) = std::numeric_limits<double>::quiet_NaN();
  PaddedMatrix out = padded(MatrixX::Zero(3, 4));
  TileProduct().add(1.0, padded(MatrixX::Ones(3, 3)), TileProduct::plain(padded(B)), out);
  EXPECT_TRUE(out.view().hasNaN());
}

TEST(TileProduct, AllocatesNothingWhenWarm) {
  if (!AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  const PaddedMatrix A = padded(MatrixX::Ones(20, 15)), B = padded(MatrixX::Ones(15, 9));
  PaddedMatrix C;
  TileProduct product;
  C.set_zero(20, 9);
  product.add(1.0, A, TileProduct::plain(B), C);
  const AllocationGuard guard;
  C.set_zero(20, 9);
  product.add(1.0, A, TileProduct::plain(B), C);
  EXPECT_EQ(guard.allocations(), 0u);
}

}  // namespace
}  // namespace touchstone::test
