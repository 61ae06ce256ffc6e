#include "touchstone/math/dense_factor.hpp"

#include <cstddef>
#include <utility>

#include "touchstone/base/index.hpp"
#include "touchstone/math/block_sparse_matrix.hpp"
#include "touchstone/math/dense_kernels.hpp"

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

void DenseFactor::solve(double* x) const {
  const double* F = values_.data();
  solve_lower(F, leading_, n_, 0, pivots_, inverse_.data(), x);
  double* rest = x + pivots_;
  for (int k = 0; k < n_ - pivots_; ++k) std::swap(rest[k], rest[exchange_[at(k)]]);
  solve_lower(F, leading_, n_, pivots_, n_, nullptr, x);
  solve_upper(F, leading_, n_, pivots_, inverse_.data(), x);
  solve_transposed(F, leading_, n_, pivots_, inverse_.data(), x);
}

}  // namespace touchstone
