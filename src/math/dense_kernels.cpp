#include "touchstone/math/dense_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "touchstone/math/block_sparse_matrix.hpp"
#include "touchstone/math/types.hpp"

namespace touchstone {
namespace {

constexpr int kDirect = 96;  // rows: up to here a matrix stays in the cache and is worked on as one panel
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

constexpr int kPivots = 4;  // eliminated at once: what they subtract from four columns stays in registers

// C -= A B for four columns of A and up to four of C; B[c] has the coefficients of column c.
template <int columns>
void subtract_rank4(const double* A, int leading, const double B[kPivots][kPivots], double* C, int rows) {
  Lanes factor[columns][kPivots];
  for (int c = 0; c < columns; ++c) {
    for (int p = 0; p < kPivots; ++p) factor[c][p] = broadcast(B[c][p]);
  }
  const double *a0 = A, *a1 = A + leading, *a2 = a1 + leading, *a3 = a2 + leading;
  int i = 0;
  for (; i + 4 <= rows; i += 4) {
    const Lanes x0 = load_lanes(a0 + i), x1 = load_lanes(a1 + i), x2 = load_lanes(a2 + i), x3 = load_lanes(a3 + i);
    for (int c = 0; c < columns; ++c) {
      double* target = C + static_cast<std::ptrdiff_t>(c) * leading + i;
      Lanes value = load_lanes(target);
      value -= x0 * factor[c][0];
      value -= x1 * factor[c][1];
      value -= x2 * factor[c][2];
      value -= x3 * factor[c][3];
      store_lanes(value, target);
    }
  }
  for (; i < rows; ++i) {
    for (int c = 0; c < columns; ++c) {
      double& value = C[static_cast<std::ptrdiff_t>(c) * leading + i];
      value -= a0[i] * B[c][0];
      value -= a1[i] * B[c][1];
      value -= a2[i] * B[c][2];
      value -= a3[i] * B[c][3];
    }
  }
}

void subtract_rank4(const double* A, int leading, const double B[kPivots][kPivots], double* C, int rows, int columns) {
  if (columns == 4) return subtract_rank4<4>(A, leading, B, C, rows);
  if (columns == 3) return subtract_rank4<3>(A, leading, B, C, rows);
  if (columns == 2) return subtract_rank4<2>(A, leading, B, C, rows);
  subtract_rank4<1>(A, leading, B, C, rows);
}

// Unblocked Cholesky of the leading k x k block, columns updated to row n.
bool cholesky_columns(double* F, int leading, int n, int k) {
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

// Cholesky of the leading k x k block, with what it subtracts from the columns up to `width`, to row n.
bool cholesky_panel(double* F, int leading, int n, int k, int width) {
  for (int first = 0; first < k; first += kPivots) {
    const int pivots = std::min(kPivots, k - first);
    double* own = F + first + static_cast<std::ptrdiff_t>(first) * leading;
    if (!cholesky_columns(own, leading, n - first, pivots)) return false;
    if (pivots < kPivots) {  // the last few, one by one
      for (int p = 0; p < pivots; ++p) {
        const double* column = F + static_cast<std::ptrdiff_t>(first + p) * leading;
        for (int c = first + pivots; c < width; ++c) {
          double* target = F + static_cast<std::ptrdiff_t>(c) * leading;
          for (int i = c; i < n; ++i) target[i] -= column[c] * column[i];
        }
      }
      continue;
    }
    for (int c = first + pivots; c < width; c += 4) {
      const int columns = std::min(4, width - c);
      const double* row = F + c + static_cast<std::ptrdiff_t>(first) * leading;
      double B[4][kPivots];
      for (int q = 0; q < columns; ++q) {
        for (int p = 0; p < kPivots; ++p) B[q][p] = row[q + static_cast<std::ptrdiff_t>(p) * leading];
      }
      subtract_rank4(row, leading, B, F + c + static_cast<std::ptrdiff_t>(c) * leading, n - c, columns);
    }
  }
  return true;
}

// Unblocked LU of columns 0 .. k of an n-row panel; only rows below `limit` are exchanged. Exchanges apply to the
// panel.
bool lu_columns(double* F, int leading, int n, int limit, int k, int* exchange) {
  for (int j = 0; j < k; ++j) {
    double* column = F + static_cast<std::ptrdiff_t>(j) * leading;
    double largest = std::abs(column[j]);
    for (int i = j + 1; i < limit; ++i) largest = std::max(largest, std::abs(column[i]));
    int best = j;  // the first one that is the largest; where there is a NaN, the diagonal
    if (largest > std::abs(column[j])) {
      best = j + 1;
      while (std::abs(column[best]) != largest) ++best;
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

// Exchanges rows of the columns [begin, end) as `count` pivots from `first` on did.
void exchange_rows(double* F, int leading, int begin, int end, int first, int count, const int* exchange) {
  for (int j = first; j < first + count; ++j) {
    if (exchange[j] == j) continue;
    double *own = F + j, *other = F + exchange[j];
    for (int c = begin; c < end; ++c) {
      const std::ptrdiff_t column = static_cast<std::ptrdiff_t>(c) * leading;
      std::swap(own[column], other[column]);
    }
  }
}

// LU of columns 0 .. k of an n-row panel of `width` columns, with what they subtract from the others. Exchanges apply
// to the panel.
bool lu_panel(double* F, int leading, int n, int limit, int k, int width, int* exchange) {
  for (int first = 0; first < k; first += kPivots) {
    const int pivots = std::min(kPivots, k - first);
    double* own = F + first + static_cast<std::ptrdiff_t>(first) * leading;
    if (!lu_columns(own, leading, n - first, limit - first, pivots, exchange + first)) return false;
    for (int j = first; j < first + pivots; ++j) exchange[j] += first;
    exchange_rows(F, leading, 0, first, first, pivots, exchange);
    exchange_rows(F, leading, first + pivots, width, first, pivots, exchange);
    const int below = n - first - pivots;
    for (int c = first + pivots; c < width; c += 4) {
      const int columns = std::min(4, width - c);
      double B[4][kPivots] = {};
      for (int q = 0; q < columns; ++q) {
        double* x = F + first + static_cast<std::ptrdiff_t>(c + q) * leading;
        for (int p = 0; p < pivots; ++p) {
          for (int r = 0; r < p; ++r) x[p] -= own[p + static_cast<std::ptrdiff_t>(r) * leading] * x[r];
          B[q][p] = x[p];
        }
      }
      double* target = F + first + pivots + static_cast<std::ptrdiff_t>(c) * leading;
      if (pivots == kPivots) {
        subtract_rank4(own + pivots, leading, B, target, below, columns);
        continue;
      }
      for (int q = 0; q < columns; ++q, target += leading) {
        for (int p = 0; p < pivots; ++p) {
          const double* column = own + pivots + static_cast<std::ptrdiff_t>(p) * leading;
          for (int i = 0; i < below; ++i) target[i] -= B[q][p] * column[i];
        }
      }
    }
  }
  return true;
}

}  // namespace

bool partial_cholesky(double* F, int leading, int n, int pivots) {
  if (n <= kDirect) return cholesky_panel(F, leading, n, pivots, n);
  for (int k = 0; k < pivots; k += kTile) {
    const int width = std::min(kTile, pivots - k);
    double* panel = F + k + static_cast<std::ptrdiff_t>(k) * leading;
    if (!cholesky_panel(panel, leading, n - k, width, width)) return false;
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
  if (n <= kDirect) return lu_panel(F, leading, n, pivots, pivots, n, exchange);
  for (int k = 0; k < pivots; k += kTile) {
    const int width = std::min(kTile, pivots - k);
    double* panel = F + k + static_cast<std::ptrdiff_t>(k) * leading;
    if (!lu_panel(panel, leading, n - k, pivots - k, width, width, exchange + k)) return false;
    for (int j = k; j < k + width; ++j) exchange[j] += k;
    exchange_rows(F, leading, 0, k, k, width, exchange);
    exchange_rows(F, leading, k + width, n, k, width, exchange);
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

namespace {

constexpr int kGroup = 4;  // columns that are used together: x is read and written once for all of them

// x[0 .. n) -= the columns times their factors.
void subtract_group(int n, const double* factor, const double* columns, int leading, double* __restrict x) {
  const double *a = columns, *b = a + leading, *c = b + leading, *d = c + leading;
  for (int i = 0; i < n; ++i) x[i] -= (a[i] * factor[0] + b[i] * factor[1]) + (c[i] * factor[2] + d[i] * factor[3]);
}

void subtract(int n, double factor, const double* __restrict column, double* __restrict x) {
  for (int i = 0; i < n; ++i) x[i] -= factor * column[i];
}

// y[0 .. 4) -= columns' x[0 .. n).
void subtract_dots(int n, const double* columns, int leading, const double* x, double* y) {
  Lanes sums[kGroup] = {};
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    const Lanes own = load_lanes(x + i);
    for (int c = 0; c < kGroup; ++c)
      sums[c] += load_lanes(columns + static_cast<std::ptrdiff_t>(c) * leading + i) * own;
  }
  for (int c = 0; c < kGroup; ++c) {
    y[c] -= sum(sums[c]);
    for (int k = i; k < n; ++k) y[c] -= columns[static_cast<std::ptrdiff_t>(c) * leading + k] * x[k];
  }
}

}  // namespace

void solve_lower(const double* F, int leading, int n, int first, int end, const double* inverse, double* x) {
  for (int k = first; k < end;) {
    const int count = end - k >= kGroup ? kGroup : 1, next = k + count;
    for (int j = k; j < next; ++j) {
      if (inverse != nullptr) x[j] *= inverse[j];
      const double* own = F + static_cast<std::ptrdiff_t>(j) * leading;
      for (int i = j + 1; i < next; ++i) x[i] -= x[j] * own[i];
    }
    const double* columns = F + static_cast<std::ptrdiff_t>(k) * leading + next;
    if (count == kGroup) {
      subtract_group(n - next, x + k, columns, leading, x + next);
    } else {
      subtract(n - next, x[k], columns, x + next);
    }
    k = next;
  }
}

void solve_upper(const double* F, int leading, int n, int first, const double* inverse, double* x) {
  for (int end = n; end > first;) {
    const int count = end - first >= kGroup ? kGroup : 1, begin = end - count;
    for (int j = end - 1; j >= begin; --j) {
      x[j] *= inverse[j];
      const double* own = F + static_cast<std::ptrdiff_t>(j) * leading;
      for (int i = begin; i < j; ++i) x[i] -= x[j] * own[i];
    }
    const double* columns = F + static_cast<std::ptrdiff_t>(begin) * leading + first;
    if (count == kGroup) {
      subtract_group(begin - first, x + begin, columns, leading, x + first);
    } else {
      subtract(begin - first, x[begin], columns, x + first);
    }
    end = begin;
  }
}

void solve_transposed(const double* F, int leading, int n, int pivots, const double* inverse, double* x) {
  for (int end = pivots; end > 0;) {
    const int count = end >= kGroup ? kGroup : 1, begin = end - count;
    const double* columns = F + static_cast<std::ptrdiff_t>(begin) * leading;
    if (count == kGroup) {
      subtract_dots(n - end, columns + end, leading, x + end, x + begin);
    } else {
      for (int i = end; i < n; ++i) x[begin] -= columns[i] * x[i];
    }
    for (int j = end - 1; j >= begin; --j) {
      const double* own = F + static_cast<std::ptrdiff_t>(j) * leading;
      for (int i = j + 1; i < end; ++i) x[j] -= own[i] * x[i];
      x[j] *= inverse[j];
    }
    end = begin;
  }
}

}  // namespace touchstone
