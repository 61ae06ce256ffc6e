#include "touchstone/math/dense_factor.hpp"

#include <utility>

#include "touchstone/base/index.hpp"
#include "touchstone/math/dense_kernels.hpp"
#include "touchstone/math/types.hpp"

namespace touchstone {
void DenseFactor::resize(int n) {
  n_ = n;
  leading_ = (n + 3) / 4 * 4;
  pivots_ = 0;
  const std::size_t size = at(n) * at(leading_);
  if (values_.size() < size) values_.resize(size);
  if (exchange_.size() < at(n)) {
    exchange_.resize(at(n));
    inverse_.resize(at(n));
  }
}

bool DenseFactor::eliminate(int pivots) {
  if (!partial_cholesky(values_.data(), leading_, n_, pivots)) return false;
  pivots_ = pivots;
  for (int c = pivots; c < n_; ++c) {
    for (int r = c + 1; r < n_; ++r) column(r)[c] = column(c)[r];
  }
  return true;
}

bool DenseFactor::factorize() {
  const int rest = n_ - pivots_;
  if (rest > 0 && !partial_lu(column(pivots_) + pivots_, leading_, rest, rest, exchange_.data())) return false;
  for (int k = 0; k < n_; ++k) inverse_[at(k)] = 1.0 / column(k)[k];
  return true;
}

namespace {

// x[0 .. n) -= factor * column[0 .. n)
void subtract(int n, double factor, const double* __restrict column, double* __restrict x) {
  for (int i = 0; i < n; ++i) x[i] -= factor * column[i];
}

double dot(int n, const double* a, const double* b) {
  return Eigen::Map<const VectorX>(a, n).dot(Eigen::Map<const VectorX>(b, n));
}

}  // namespace

void DenseFactor::solve(double* x) const {
  const double* column = values_.data();
  for (int k = 0; k < pivots_; ++k, column += leading_) {
    x[k] *= inverse_[at(k)];
    subtract(n_ - k - 1, x[k], column + k + 1, x + k + 1);
  }
  double* rest = x + pivots_;
  for (int k = 0; k < n_ - pivots_; ++k) std::swap(rest[k], rest[exchange_[at(k)]]);
  for (int k = pivots_; k < n_; ++k, column += leading_) subtract(n_ - k - 1, x[k], column + k + 1, x + k + 1);
  for (int k = n_ - 1; k >= pivots_; --k) {
    column -= leading_;
    x[k] *= inverse_[at(k)];
    subtract(k - pivots_, x[k], column + pivots_, x + pivots_);
  }
  for (int k = pivots_ - 1; k >= 0; --k) {
    column -= leading_;
    x[k] = (x[k] - dot(n_ - k - 1, column + k + 1, x + k + 1)) * inverse_[at(k)];
  }
}

}  // namespace touchstone
