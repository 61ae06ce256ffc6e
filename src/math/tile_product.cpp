#include "touchstone/math/tile_product.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"
#include "touchstone/math/block_sparse_matrix.hpp"

namespace touchstone {
namespace {

constexpr int kColumns = 4;  // of B and C, at a time
constexpr int kLanes = 4;

bool has_nonzero(Lanes a) {
  const auto differs = a != Lanes{};
  return (differs[0] | differs[1] | differs[2] | differs[3]) != 0;
}

// target[0 .. rows) += value.
void add_lanes(Lanes value, int rows, double* target) {
  if (rows >= kLanes) return store_lanes(load_lanes(target) + value, target);
  for (int i = 0; i < rows; ++i) target[i] += value[i];
}

// `vectors` lanes of rows, of which `rows` are there, in `columns` columns of C.
template <int vectors>
void add_block(double scale, const double* A, std::ptrdiff_t leading, const int* list, const double* packed, int count,
               int rows, int columns, double* C, std::ptrdiff_t C_leading) {
  Lanes sums[vectors][kColumns] = {};
  for (int k = 0; k < count; ++k) {
    const double* a = A + list[k] * leading;
    Lanes own[vectors];
    for (int i = 0; i < vectors; ++i) own[i] = load_lanes(a + kLanes * i);
    for (int c = 0; c < kColumns; ++c) {
      const Lanes b = broadcast(packed[kColumns * k + c]);
      for (int i = 0; i < vectors; ++i) sums[i][c] += own[i] * b;
    }
  }
  for (int c = 0; c < kColumns; ++c) {
    if (c == columns) break;
    for (int i = 0; i < vectors; ++i) {
      add_lanes(broadcast(scale) * sums[i][c], rows - kLanes * i, C + c * C_leading + kLanes * i);
    }
  }
}

}  // namespace

PaddedMatrix::View PaddedMatrix::resize(int rows, int cols) {
  rows_ = rows;
  cols_ = cols;
  leading_ = std::max(kLanes, (rows + kLanes - 1) / kLanes * kLanes);
  const std::size_t size = at(leading_) * at(cols);
  if (values_.size() < size) values_.resize(2 * size);
  return view();
}

PaddedMatrix::View PaddedMatrix::set_zero(int rows, int cols) {
  View result = resize(rows, cols);
  std::fill_n(values_.data(), at(leading_) * at(cols), 0.0);
  return result;
}

void TileProduct::pack(const Right& B, int column, int count) {
  packed_count_ = 0;
  if (B.rows == 0) return;  // it may have no data
  if (row_.size() < at(B.rows)) {
    row_.resize(2 * at(B.rows));
    packed_.resize(kColumns * row_.size());
  }
  int packed = 0;
  const double* entry = B.data + column * B.by_col;
  const bool is_whole = count == kColumns && B.by_col == 1;
  for (int k = 0; k < B.rows; ++k, entry += B.by_row) {
    Lanes own{};
    if (is_whole) {
      own = load_lanes(entry);
    } else {
      for (int c = 0; c < count; ++c) own[c] = entry[c * B.by_col];
    }
    if (!has_nonzero(own)) continue;
    row_[at(packed)] = k;
    store_lanes(own, packed_.data() + kColumns * at(packed));
    ++packed;
  }
  packed_count_ = packed;
}

void TileProduct::add_columns(double scale, const PaddedMatrix& A, int first_row, const Right& B, int column, int count,
                              double* C, std::ptrdiff_t leading) {
  pack(B, column, count);
  if (packed_count_ == 0) return;
  for (int row = first_row; row < A.rows();) {
    const int left = A.rows() - row, vectors = std::min(3, (left + kLanes - 1) / kLanes);
    const auto block = vectors == 3 ? &add_block<3> : vectors == 2 ? &add_block<2> : &add_block<1>;
    block(scale, A.col(0) + row, A.leading(), row_.data(), packed_.data(), packed_count_, left, count,
          C + row + column * leading, leading);
    row += kLanes * vectors;
  }
}

void TileProduct::add(double scale, const PaddedMatrix& A, const Right& B, double* C, std::ptrdiff_t leading) {
  for (int column = 0; column < B.cols; column += kColumns) {
    add_columns(scale, A, 0, B, column, std::min(kColumns, B.cols - column), C, leading);
  }
}

void TileProduct::add_symmetric(double scale, const PaddedMatrix& A, const Right& B, double* C,
                                std::ptrdiff_t leading) {
  for (int column = 0; column < B.cols; column += kColumns) {
    const int count = std::min(kColumns, B.cols - column);
    add_columns(scale, A, column, B, column, count, C, leading);
    for (int c = column; c < column + count; ++c) {
      for (int row = column + count; row < B.cols; ++row) C[c + row * leading] = C[row + c * leading];
    }
  }
}

}  // namespace touchstone
