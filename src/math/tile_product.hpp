// Products of small dense matrices whose right factor has many zeros, as rows of constraints and derivatives of trees
// have: C += A B.
//
// Method: four columns of B at a time. Rows of B that are zero in all four are left out, the others are packed, and
// twelve rows of the four columns of C stay in registers until their sum is done. The order of the sums does not depend
// on addresses: the same numbers give the same bits.
#pragma once

#include <cstddef>
#include <vector>

#include "touchstone/math/aligned.hpp"
#include "touchstone/math/types.hpp"

namespace touchstone {

// A matrix by columns that begin at aligned addresses; its memory only grows. What is behind the last row of a column
// may be read and has no meaning.
class PaddedMatrix {
 public:
  using View = Eigen::Map<MatrixX, Eigen::Aligned32, Eigen::OuterStride<>>;
  using ConstView = Eigen::Map<const MatrixX, Eigen::Aligned32, Eigen::OuterStride<>>;

  // The old numbers are lost.
  View resize(int rows, int cols);
  View set_zero(int rows, int cols);
  int rows() const { return rows_; }
  int cols() const { return cols_; }
  int leading() const { return leading_; }  // from column to column
  double* col(int c) { return values_.data() + static_cast<std::ptrdiff_t>(c) * leading_; }
  const double* col(int c) const { return values_.data() + static_cast<std::ptrdiff_t>(c) * leading_; }
  View view() { return {values_.data(), rows_, cols_, Eigen::OuterStride<>(leading_)}; }
  ConstView view() const { return {values_.data(), rows_, cols_, Eigen::OuterStride<>(leading_)}; }

 private:
  AlignedVector values_ = AlignedVector(4);
  int rows_ = 0, cols_ = 0, leading_ = 4;
};

class TileProduct {
 public:
  // A right factor in memory: entry (i, j) at data[i by_row + j by_col].
  struct Right {
    const double* data;
    int rows, cols;
    std::ptrdiff_t by_row, by_col;
  };
  template <typename RowMajor>
  static Right by_rows(const RowMajor& B) {
    static_assert(RowMajor::IsRowMajor);
    return {B.data(), static_cast<int>(B.rows()), static_cast<int>(B.cols()), B.outerStride(), 1};
  }
  static Right plain(const PaddedMatrix& B) { return {B.col(0), B.rows(), B.cols(), 1, B.leading()}; }
  static Right transposed(const PaddedMatrix& B) { return {B.col(0), B.cols(), B.rows(), B.leading(), 1}; }

  // C += scale A B; C by columns, `leading` apart, as many rows as A has.
  void add(double scale, const PaddedMatrix& A, const Right& B, double* C, std::ptrdiff_t leading);
  void add(double scale, const PaddedMatrix& A, const Right& B, PaddedMatrix& C) {
    add(scale, A, B, C.col(0), C.leading());
  }
  // The same of a square C that is symmetric: half of it is computed, and put in its place twice.
  void add_symmetric(double scale, const PaddedMatrix& A, const Right& B, double* C, std::ptrdiff_t leading);
  void add_symmetric(double scale, const PaddedMatrix& A, const Right& B, PaddedMatrix& C) {
    add_symmetric(scale, A, B, C.col(0), C.leading());
  }

 private:
  void add_columns(double scale, const PaddedMatrix& A, int first_row, const Right& B, int column, int count, double* C,
                   std::ptrdiff_t leading);
  void pack(const Right& B, int column, int count);

  std::vector<int> row_;  // of B: those that are not zero
  AlignedVector packed_;  // their entries in the four columns
  int packed_count_ = 0;
};

}  // namespace touchstone
