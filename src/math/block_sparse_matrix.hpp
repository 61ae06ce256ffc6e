// A sparse matrix of small dense blocks: block rows compressed (block-CSR), sizes of block rows and columns free.
//
// The rows of a contact problem come in blocks of 1 to 6, its columns too (the Delassus matrix G) or in blocks as large
// as a kinematic tree (the Jacobian J). When all blocks are 3x3, the usual case, products take a path with four lanes.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "touchstone/math/aligned.hpp"
#include "touchstone/math/types.hpp"
#include "touchstone/math/vec3.hpp"

namespace touchstone {

struct BlockSparseMatrix {
  using Block = Eigen::Map<MatrixX>;
  using ConstBlock = Eigen::Map<const MatrixX>;

  std::vector<int> row_begin{0};       // block_rows + 1: first scalar row of a block row, then their number
  std::vector<int> col_begin{0};       // block_cols + 1: first scalar column of a block column, then their number
  std::vector<int> start{0};           // block_rows + 1: first entry of a block row
  std::vector<int> col;                // entries: block column, ascending within a block row
  std::vector<std::size_t> offset{0};  // entries + 1: where the values of an entry begin
  AlignedVector values = {0, 0, 0};    // column-major blocks one after another, then kPadding zeros
  bool all_3x3 = false;                // set_pattern: every block is 3x3, so offset[k] = 9 k

  // Values behind the last block, so that a column of three may be read as four lanes.
  static constexpr std::size_t kPadding = 3;

  int block_rows() const { return static_cast<int>(row_begin.size()) - 1; }
  int block_cols() const { return static_cast<int>(col_begin.size()) - 1; }
  int rows() const { return row_begin.back(); }
  int cols() const { return col_begin.back(); }
  int entries() const { return static_cast<int>(col.size()); }
  int row_size(int i) const { return row_begin[i + 1] - row_begin[i]; }
  int col_size(int j) const { return col_begin[j + 1] - col_begin[j]; }

  // Takes the pattern of `entries` (pairs of block row and block column; sorted here, duplicates removed) and sets all
  // values to zero. Reuses memory: the same or a smaller pattern allocates nothing.
  void set_pattern(const std::vector<int>& row_partition, const std::vector<int>& col_partition,
                   std::vector<std::pair<int, int>>& pattern);
  void set_zero();
  bool same_pattern(const BlockSparseMatrix& other) const;

  // The entry at a block row and block column, or -1. Logarithmic in the length of the row.
  int find(int i, int j) const;

  double* data(int entry) { return values.data() + offset[entry]; }
  const double* data(int entry) const { return values.data() + offset[entry]; }
  Block block(int i, int entry) { return {data(entry), row_size(i), col_size(col[entry])}; }
  ConstBlock block(int i, int entry) const { return {data(entry), row_size(i), col_size(col[entry])}; }

  // y = M x, y += M x, y += M' x.
  void multiply(const double* x, double* y) const;
  void multiply_add(const double* x, double* y) const;
  void multiply_transpose_add(const double* x, double* y) const;
  VectorX operator*(const ConstVectorRef& x) const;

  // y[0 .. row_size(i)) += (block row i) x.
  void add_row_product(int i, const double* x, double* y) const;

  // y += (block row i)' x, x of row_size(i).
  void add_row_transpose_product(int i, const double* x, double* y) const;

  MatrixX dense() const;
};

// Square diagonal blocks, to be added to a matrix.
struct BlockDiagonal {
  std::vector<std::size_t> offset{0};  // blocks + 1
  AlignedVector values;                // column-major blocks one after another

  // Zero blocks of the sizes of a partition (first rows, then the number of rows).
  void set_partition(const std::vector<int>& row_begin);
  double* data(int block) { return values.data() + offset[block]; }
  const double* data(int block) const { return values.data() + offset[block]; }
};

// Four doubles from memory without alignment; only the first three mean something to the caller.
inline Lanes load_lanes(const double* p) {
  Lanes lanes;
  __builtin_memcpy(&lanes, p, sizeof lanes);
  return lanes;
}
inline void store_lanes(Lanes lanes, double* p) { __builtin_memcpy(p, &lanes, sizeof lanes); }

// acc + (block row i of an all-3x3 matrix) x. The fourth lane is rubbish.
inline Lanes row_product_3x3(const BlockSparseMatrix& M, int i, const double* x, Lanes acc) {
  Lanes other{0.0, 0.0, 0.0, 0.0};  // a second chain of additions hides the latency of the first
  const int* col = M.col.data();
  const double* block = M.values.data() + 9 * static_cast<std::size_t>(M.start[i]);
  for (int k = M.start[i]; k < M.start[i + 1]; ++k, block += 9) {
    const double* xj = x + 3 * col[k];
    acc += load_lanes(block) * broadcast(xj[0]);
    other += load_lanes(block + 3) * broadcast(xj[1]);
    acc += load_lanes(block + 6) * broadcast(xj[2]);
  }
  return acc + other;
}

// The scalar columns [first, end) of neighbouring blocks from entry k on. Since the blocks of a block row are
// column-major and lie side by side, they are one dense panel with these columns. k moves behind them.
struct ColumnRun {
  int first = 0, end = 0;
};
inline ColumnRun next_run(const BlockSparseMatrix& M, int last, int& k) {
  const int first = M.col[k], length = last - k;
  if (M.col[last - 1] - first + 1 == length) {  // all the rest, as in the row of a robot that is one tree
    k = last;
    return {M.col_begin[first], M.col_begin[first + length]};
  }
  int column = first + 1;
  for (++k; k < last && M.col[k] == column; ++k) ++column;
  return {M.col_begin[first], M.col_begin[column]};
}

// The same for a block row of three scalar rows, with blocks of any width.
inline Lanes row_product_3(const BlockSparseMatrix& M, int i, const double* x, Lanes acc) {
  if (M.all_3x3) return row_product_3x3(M, i, x, acc);
  Lanes second{}, third{}, fourth{};
  const double* column = M.data(M.start[i]);
  for (int k = M.start[i]; k < M.start[i + 1];) {
    const ColumnRun run = next_run(M, M.start[i + 1], k);
    int c = run.first;
    for (; c + 4 <= run.end; c += 4, column += 12) {
      acc += load_lanes(column) * broadcast(x[c]);
      second += load_lanes(column + 3) * broadcast(x[c + 1]);
      third += load_lanes(column + 6) * broadcast(x[c + 2]);
      fourth += load_lanes(column + 9) * broadcast(x[c + 3]);
    }
    for (; c < run.end; ++c, column += 3) acc += load_lanes(column) * broadcast(x[c]);
  }
  return (acc + second) + (third + fourth);
}

// Largest |M - M'| over largest |M|, for a matrix with equal row and column partitions and a symmetric pattern or not.
double relative_skew(const BlockSparseMatrix& M);
// Below this G counts as symmetric to solvers.
inline constexpr double kSkewOfSymmetric = 1e-14;

}  // namespace touchstone
