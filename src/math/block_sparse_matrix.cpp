#include "touchstone/math/block_sparse_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace touchstone {

void BlockSparseMatrix::set_pattern(const std::vector<int>& row_partition, const std::vector<int>& col_partition,
                                    std::vector<std::pair<int, int>>& pattern) {
  std::sort(pattern.begin(), pattern.end());
  pattern.erase(std::unique(pattern.begin(), pattern.end()), pattern.end());
  row_begin.assign(row_partition.begin(), row_partition.end());
  col_begin.assign(col_partition.begin(), col_partition.end());
  start.assign(row_begin.size(), 0);
  col.clear();
  offset.clear();
  offset.push_back(0);
  all_3x3 = true;
  for (const auto& [i, j] : pattern) {
    const int m = row_size(i), n = col_size(j);
    all_3x3 = all_3x3 && m == 3 && n == 3;
    ++start[static_cast<std::size_t>(i) + 1];
    col.push_back(j);
    offset.push_back(offset.back() + static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
  }
  for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
  values.assign(offset.back() + kPadding, 0.0);
}

void BlockSparseMatrix::set_zero() { std::fill(values.begin(), values.end(), 0.0); }

bool BlockSparseMatrix::same_pattern(const BlockSparseMatrix& other) const {
  return row_begin == other.row_begin && col_begin == other.col_begin && start == other.start && col == other.col;
}

int BlockSparseMatrix::find(int i, int j) const {
  const auto first = col.begin() + start[i], last = col.begin() + start[i + 1];
  const auto found = std::lower_bound(first, last, j);
  return found != last && *found == j ? static_cast<int>(found - col.begin()) : -1;
}

void BlockSparseMatrix::multiply(const double* x, double* y) const {
  std::fill(y, y + rows(), 0.0);
  multiply_add(x, y);
}

namespace {

// Scalar rows that are multiplied at once, so that they share x and one sum over lanes.
constexpr int kTogether = 4;

// y[0 .. 4) += the product of four rows of n numbers each, one after another, with x.
void add_full_rows(const double* a, int n, const double* x, double* y) {
  const double *b = a + n, *c = b + n, *d = c + n;
  Lanes sums[kTogether] = {};
  int k = 0;
  for (; k + 4 <= n; k += 4) {
    const Lanes factor = load_lanes(x + k);
    sums[0] += load_lanes(a + k) * factor;
    sums[1] += load_lanes(b + k) * factor;
    sums[2] += load_lanes(c + k) * factor;
    sums[3] += load_lanes(d + k) * factor;
  }
  Lanes total = load_lanes(y) + sum_each(sums[0], sums[1], sums[2], sums[3]);
  for (; k < n; ++k) total += Lanes{a[k], b[k], c[k], d[k]} * broadcast(x[k]);
  store_lanes(total, y);
}

// y += the product of full rows of blocks of three with x, `blocks` of them, one after another; they share what is read
// of x. May read kPadding numbers beyond the last.
template <int blocks>
void add_full_rows_3(const double* panel, int n, const double* x, double* y) {
  Lanes even[blocks], odd[blocks];  // two chains of additions for each
  for (int b = 0; b < blocks; ++b) even[b] = odd[b] = Lanes{};
  const std::ptrdiff_t next = 3 * static_cast<std::ptrdiff_t>(n);
  int c = 0;
  for (; c + 2 <= n; c += 2, panel += 6) {
    const Lanes first = broadcast(x[c]), second = broadcast(x[c + 1]);
    for (int b = 0; b < blocks; ++b) {
      even[b] += load_lanes(panel + b * next) * first;
      odd[b] += load_lanes(panel + b * next + 3) * second;
    }
  }
  const Lanes last = broadcast(c < n ? x[c] : 0.0);
  if (c == n) panel -= 3;  // nothing is left: anything will do
  for (int b = 0; b < blocks; ++b) {
    const Lanes sum = even[b] + odd[b] + load_lanes(panel + b * next) * last;
    for (int r = 0; r < 3; ++r) y[3 * b + r] += sum[r];
  }
}

// How many block rows from i on have three rows and all columns, at most kTogether.
int count_full_rows_3(const BlockSparseMatrix& M, int i) {
  int count = 0;
  while (count < kTogether && i + count < M.block_rows() && M.row_size(i + count) == 3 &&
         M.start[i + count + 1] - M.start[i + count] == M.block_cols())
    ++count;
  return count;
}

}  // namespace

void BlockSparseMatrix::multiply_add(const double* x, double* y) const {
  if (all_3x3 && static_cast<std::int64_t>(entries()) < static_cast<std::int64_t>(block_rows()) * block_cols()) {
    for (int i = 0; i < block_rows(); ++i) {
      const Lanes sum = row_product_3x3(*this, i, x, Lanes{0.0, 0.0, 0.0, 0.0});
      for (int r = 0; r < 3; ++r) y[3 * i + r] += sum[r];
    }
    return;
  }
  for (int i = 0; i < block_rows();) {
    const bool are_scalars = i + kTogether <= block_rows() && row_begin[i + kTogether] - row_begin[i] == kTogether;
    if (are_scalars && start[i + kTogether] - start[i] == kTogether * block_cols()) {
      add_full_rows(data(start[i]), cols(), x, y + row_begin[i]);
      i += kTogether;
    } else if (const int count = count_full_rows_3(*this, i); count > 0) {
      constexpr decltype(&add_full_rows_3<1>) kProducts[] = {add_full_rows_3<1>, add_full_rows_3<2>, add_full_rows_3<3>,
                                                             add_full_rows_3<4>};
      kProducts[count - 1](data(start[i]), cols(), x, y + row_begin[i]);
      i += count;
    } else {
      add_row_product(i, x, y + row_begin[i]);
      ++i;
    }
  }
}

namespace {

// sum of a[k] x[k]
double dot_product(const double* a, const double* x, int n) {
  Lanes even{0.0, 0.0, 0.0, 0.0}, odd{0.0, 0.0, 0.0, 0.0};
  int k = 0;
  for (; k + 8 <= n; k += 8) {
    even += load_lanes(a + k) * load_lanes(x + k);
    odd += load_lanes(a + k + 4) * load_lanes(x + k + 4);
  }
  if (k + 4 <= n) {
    even += load_lanes(a + k) * load_lanes(x + k);
    k += 4;
  }
  even += odd;
  double sum = (even[0] + even[1]) + (even[2] + even[3]);
  for (; k < n; ++k) sum += a[k] * x[k];
  return sum;
}

// y += (panel of m <= 8 rows and n columns) x. May read kPadding numbers beyond the panel.
void add_panel_product(const double* panel, int m, int n, const double* x, double* y) {
  if (m > 8) {  // blocks of a Jacobian, not of G
    for (int c = 0; c < n; ++c, panel += m) {
      for (int r = 0; r < m; ++r) y[r] += panel[r] * x[c];
    }
    return;
  }
  // Three chains of additions each hide the latency of the others.
  Lanes low[3] = {}, high[3] = {};
  const auto add = [&](int chain, double value, const double* column) {
    const Lanes factor = broadcast(value);
    low[chain] += load_lanes(column) * factor;
    if (m > 4) high[chain] += load_lanes(column + 4) * factor;
  };
  int c = 0;
  for (; c + 3 <= n; c += 3, panel += 3 * m) {
    for (int chain = 0; chain < 3; ++chain) add(chain, x[c + chain], panel + chain * m);
  }
  for (; c < n; ++c, panel += m) add(0, x[c], panel);
  low[0] += low[1] + low[2];
  high[0] += high[1] + high[2];
  for (int r = 0; r < m; ++r) y[r] += r < 4 ? low[0][r] : high[0][r - 4];
}

}  // namespace

void BlockSparseMatrix::add_row_product(int i, const double* x, double* y) const {
  const int m = row_size(i);
  if (m == 3) {
    const Lanes sum = row_product_3(*this, i, x, Lanes{0.0, 0.0, 0.0, 0.0});
    for (int r = 0; r < 3; ++r) y[r] += sum[r];
    return;
  }
  const double* panel = data(start[i]);
  for (int k = start[i]; k < start[i + 1];) {
    const ColumnRun run = next_run(*this, start[i + 1], k);
    const int columns = run.end - run.first;
    if (m == 1) {
      y[0] += dot_product(panel, x + run.first, columns);
    } else {
      add_panel_product(panel, m, columns, x + run.first, y);
    }
    panel += m * columns;
  }
}

void BlockSparseMatrix::multiply_transpose_add(const double* x, double* y) const {
  for (int i = 0; i < block_rows(); ++i) add_row_transpose_product(i, x + row_begin[i], y);
}

void BlockSparseMatrix::add_row_transpose_product(int i, const double* x, double* y) const {
  const int m = row_size(i);
  if (m == 3) {
    const double *block = data(start[i]), x0 = x[0], x1 = x[1], x2 = x[2];
    for (int k = start[i]; k < start[i + 1]; ++k) {
      double* target = y + col_begin[col[k]];
      const int columns = col_size(col[k]);
      for (int c = 0; c < columns; ++c, block += 3) target[c] += block[0] * x0 + block[1] * x1 + block[2] * x2;
    }
    return;
  }
  for (int k = start[i]; k < start[i + 1]; ++k) {
    const double* block = data(k);
    for (int c = col_begin[col[k]]; c < col_begin[col[k] + 1]; ++c, block += m) {
      double sum = 0.0;
      for (int r = 0; r < m; ++r) sum += block[r] * x[r];
      y[c] += sum;
    }
  }
}

VectorX BlockSparseMatrix::operator*(const ConstVectorRef& x) const {
  VectorX y(rows());
  multiply(x.data(), y.data());
  return y;
}

MatrixX BlockSparseMatrix::dense() const {
  MatrixX result = MatrixX::Zero(rows(), cols());
  for (int i = 0; i < block_rows(); ++i) {
    for (int k = start[i]; k < start[i + 1]; ++k) {
      result.block(row_begin[i], col_begin[col[k]], row_size(i), col_size(col[k])) = block(i, k);
    }
  }
  return result;
}

void BlockDiagonal::set_partition(const std::vector<int>& row_begin) {
  offset.resize(row_begin.size());
  offset[0] = 0;
  for (std::size_t i = 1; i < row_begin.size(); ++i) {
    const auto size = static_cast<std::size_t>(row_begin[i] - row_begin[i - 1]);
    offset[i] = offset[i - 1] + size * size;
  }
  values.assign(offset.back(), 0.0);
}

double relative_skew(const BlockSparseMatrix& M) {
  double largest = 0.0, skew = 0.0;
  for (int i = 0; i < M.block_rows(); ++i) {
    for (int k = M.start[i]; k < M.start[i + 1]; ++k) {
      const auto block = M.block(i, k);
      const double size = block.size() > 0 ? block.lpNorm<Eigen::Infinity>() : 0.0;
      largest = std::max(largest, size);
      const int mirror = M.find(M.col[k], i);
      if (mirror < 0) {
        skew = std::max(skew, size);
      } else if (mirror >= k) {
        skew = std::max(skew, (block - M.block(M.col[k], mirror).transpose()).lpNorm<Eigen::Infinity>());
      }
    }
  }
  return largest > 0.0 ? skew / largest : 0.0;
}

}  // namespace touchstone
