#include "touchstone/math/dense_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "touchstone/math/types.hpp"

namespace touchstone {
namespace {

constexpr int kTile = 48;  // 48 x 48 doubles: three tiles fit into the first-level cache and into Eigen's stack buffers

using Block = Eigen::Map<MatrixX, 0, Eigen::OuterStride<>>;

Block block(double* F, int leading, int row, int col, int rows, int cols) {
  return {F + row + static_cast<std::ptrdiff_t>(col) * leading, rows, cols, Eigen::OuterStride<>(leading)};
}

// C -= A B, in tiles.
void subtract_product(const Block& A, const Block& B, Block& C) {
  for (int j = 0; j < C.cols(); j += kTile) {
    const int nj = std::min(kTile, static_cast<int>(C.cols()) - j);
    for (int i = 0; i < C.rows(); i += kTile) {
      const int ni = std::min(kTile, static_cast<int>(C.rows()) - i);
      C.block(i, j, ni, nj).noalias() -= A.middleRows(i, ni) * B.middleCols(j, nj);
    }
  }
}

// Unblocked Cholesky of the leading k x k block, columns updated to row n.
bool cholesky_panel(double* F, int leading, int n, int k) {
  for (int j = 0; j < k; ++j) {
    double* column = F + static_cast<std::ptrdiff_t>(j) * leading;
    const double pivot = column[j];
    if (!(pivot > 0.0) || !std::isfinite(pivot)) return false;
    const double root = std::sqrt(pivot), inverse = 1.0 / root;
    column[j] = root;
    for (int i = j + 1; i < n; ++i) column[i] *= inverse;
    for (int c = j + 1; c < k; ++c) {
      double* target = F + static_cast<std::ptrdiff_t>(c) * leading;
      const double factor = column[c];
      for (int i = c; i < n; ++i) target[i] -= factor * column[i];
    }
  }
  return true;
}

// Unblocked LU of columns 0 .. k of an n-row panel; rows below `limit` are never exchanged. Exchanges apply to the
// panel.
bool lu_panel(double* F, int leading, int n, int limit, int k, int* exchange) {
  for (int j = 0; j < k; ++j) {
    double* column = F + static_cast<std::ptrdiff_t>(j) * leading;
    int best = j;
    for (int i = j + 1; i < limit; ++i) {
      if (std::abs(column[i]) > std::abs(column[best])) best = i;
    }
    exchange[j] = best;
    if (best != j) {
      for (int c = 0; c < k; ++c) {
        double* other = F + static_cast<std::ptrdiff_t>(c) * leading;
        std::swap(other[j], other[best]);
      }
    }
    const double pivot = column[j];
    if (pivot == 0.0 || !std::isfinite(pivot)) return false;
    const double inverse = 1.0 / pivot;
    for (int i = j + 1; i < n; ++i) column[i] *= inverse;
    for (int c = j + 1; c < k; ++c) {
      double* target = F + static_cast<std::ptrdiff_t>(c) * leading;
      const double factor = target[j];
      if (factor == 0.0) continue;
      for (int i = j + 1; i < n; ++i) target[i] -= factor * column[i];
    }
  }
  return true;
}

}  // namespace

bool partial_cholesky(double* F, int leading, int n, int pivots) {
  for (int k = 0; k < pivots; k += kTile) {
    const int width = std::min(kTile, pivots - k);
    double* panel = F + k + static_cast<std::ptrdiff_t>(k) * leading;
    if (!cholesky_panel(panel, leading, n - k, width)) return false;
    // The rest, tile column by tile column, lower part only.
    for (int j = k + width; j < n; j += kTile) {
      const int nj = std::min(kTile, n - j);
      const Block left = block(F, leading, j, k, nj, width);
      for (int i = j; i < n; i += kTile) {
        const int ni = std::min(kTile, n - i);
        block(F, leading, i, j, ni, nj).noalias() -= block(F, leading, i, k, ni, width) * left.transpose();
      }
    }
  }
  return true;
}

bool partial_lu(double* F, int leading, int n, int pivots, int* exchange) {
  for (int k = 0; k < pivots; k += kTile) {
    const int width = std::min(kTile, pivots - k);
    double* panel = F + k + static_cast<std::ptrdiff_t>(k) * leading;
    if (!lu_panel(panel, leading, n - k, pivots - k, width, exchange + k)) return false;
    for (int j = k; j < k + width; ++j) {
      exchange[j] += k;
      if (exchange[j] == j) continue;
      for (int c = 0; c < n; ++c) {
        if (c >= k && c < k + width) continue;
        double* column = F + static_cast<std::ptrdiff_t>(c) * leading;
        std::swap(column[j], column[exchange[j]]);
      }
    }
    const int rest = n - k - width;
    if (rest == 0) continue;
    // U12 = L11^-1 F12 column by column, then the rest.
    const Block lower = block(F, leading, k, k, width, width);
    for (int j = 0; j < rest; j += kTile) {
      const int nj = std::min(kTile, rest - j);
      Block upper = block(F, leading, k, k + width + j, width, nj);
      lower.triangularView<Eigen::UnitLower>().solveInPlace(upper);
    }
    Block trailing = block(F, leading, k + width, k + width, rest, rest);
    subtract_product(block(F, leading, k + width, k, rest, width), block(F, leading, k, k + width, width, rest),
                     trailing);
  }
  return true;
}

}  // namespace touchstone
