// Matrices whose size changes from step to step: their memory only grows, so that a warm call allocates nothing.
#pragma once

#include "touchstone/math/aligned.hpp"
#include "touchstone/math/types.hpp"

namespace touchstone {

using RowMatrixX = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <typename Matrix>
class Growing {
 public:
  using View = Eigen::Map<Matrix, Eigen::Aligned32>;
  using ConstView = Eigen::Map<const Matrix, Eigen::Aligned32>;

  // The old numbers are lost.
  View resize(Eigen::Index rows, Eigen::Index cols) {
    rows_ = rows;
    cols_ = cols;
    const auto size = static_cast<std::size_t>(rows * cols);
    if (memory_.size() < size) memory_.resize(2 * size);
    return view();
  }
  View set_zero(Eigen::Index rows, Eigen::Index cols) {
    View result = resize(rows, cols);
    result.setZero();
    return result;
  }
  // The same numbers as fewer columns of a matrix that is stored by columns.
  void shrink(Eigen::Index rows, Eigen::Index cols) {
    rows_ = rows;
    cols_ = cols;
  }
  View view() { return View(memory_.data(), rows_, cols_); }
  ConstView view() const { return ConstView(memory_.data(), rows_, cols_); }
  Eigen::Index rows() const { return rows_; }
  Eigen::Index cols() const { return cols_; }

 private:
  AlignedVector memory_ = AlignedVector(8);
  Eigen::Index rows_ = 0, cols_ = 0;
};

}  // namespace touchstone
