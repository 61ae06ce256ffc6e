#include "touchstone/math/dense_factor.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "touchstone/base/index.hpp"
#include "touchstone/math/block_sparse_matrix.hpp"
#include "touchstone/math/dense_kernels.hpp"
#include "touchstone/math/lanes.hpp"
#include "touchstone/math/padded_kernels.hpp"

namespace touchstone {
namespace {

// DenseFactor::solve, on a copy of x that has room behind it.
void solve_padded(const double* F, int leading, int n, int pivots, const int* exchange, const double* inverse,
                  double* x) {
  alignas(32) double y[padded::kMostRows + padded::kRoom];
  std::copy_n(x, n, y);
  std::fill_n(y + n, padded::kRoom, 0.0);
  padded::solve_lower(F, leading, n, 0, pivots, inverse, y);
  if (pivots < n) {
    const double* rest = F + static_cast<std::ptrdiff_t>(pivots) * (leading + 1);
    padded::exchange_and_solve_lower(rest, leading, n - pivots, exchange, y + pivots);
    solve_upper(F, leading, n, pivots, inverse, y);
  }
  padded::solve_transposed(F, leading, n, pivots, inverse, y);
  std::copy_n(y, n, x);
}

// The upper triangle of a symmetric matrix from its lower one, four by four entries at a time.
void mirror(double* F, int leading, int n) {
  const auto column = [&](int c) { return F + static_cast<std::ptrdiff_t>(c) * leading; };
  const auto copy = [&](int row, int c) { column(row)[c] = column(c)[row]; };
  for (int c = 0; c < n; c += 4) {
    const int end = std::min(c + 4, n);
    for (int k = c; k < end; ++k) {
      for (int row = k + 1; row < end; ++row) copy(row, k);
    }
    int row = end;
    for (; row + 4 <= n; row += 4) {
      Lanes block[4];
      for (int k = 0; k < 4; ++k) block[k] = load_lanes(column(c + k) + row);
      transpose(block);
      for (int k = 0; k < 4; ++k) store_lanes(block[k], column(row + k) + c);
    }
    for (; row < n; ++row) {
      for (int k = c; k < end; ++k) copy(row, k);
    }
  }
}

}  // namespace

void DenseFactor::resize(int n) {
  n_ = n;
  leading_ = padded::leading_of(n);
  pivots_ = 0;
  const std::size_t size = at(n) * at(leading_);
  if (values_.size() < size) values_.resize(size);
  if (exchange_.size() < at(n)) {
    exchange_.resize(at(n));
    inverse_.resize(at(n));
  }
  for (int c = 0; c < n; ++c) {
    if (leading_ >= n + 4) store_lanes(Lanes{}, column(c) + n);
    store_lanes(Lanes{}, column(c) + leading_ - 4);  // maybe with the last row, which has no value yet
  }
}

bool DenseFactor::eliminate(int pivots) {
  const bool done = n_ <= padded::kMostRows ? padded::eliminate(values_.data(), leading_, n_, pivots, inverse_.data())
                                            : partial_cholesky(values_.data(), leading_, n_, pivots);
  if (!done) return false;
  pivots_ = pivots;
  if (pivots < n_) mirror(column(pivots) + pivots, leading_, n_ - pivots);
  return true;
}

bool DenseFactor::factorize() {
  const int rest = n_ - pivots_;
  if (n_ <= padded::kMostRows) {
    return padded::factorize(column(pivots_) + pivots_, leading_, rest, exchange_.data(), inverse_.data() + pivots_);
  }
  if (rest > 0 && !partial_lu(column(pivots_) + pivots_, leading_, rest, rest, exchange_.data())) return false;
  for (int k = 0; k < n_; ++k) inverse_[at(k)] = 1.0 / column(k)[k];
  return true;
}

void DenseFactor::solve(double* x) const {
  const double* F = values_.data();
  if (n_ <= padded::kMostRows) return solve_padded(F, leading_, n_, pivots_, exchange_.data(), inverse_.data(), x);
  solve_lower(F, leading_, n_, 0, pivots_, inverse_.data(), x);
  double* rest = x + pivots_;
  for (int k = 0; k < n_ - pivots_; ++k) std::swap(rest[k], rest[exchange_[at(k)]]);
  solve_lower(F, leading_, n_, pivots_, n_, nullptr, x);
  solve_upper(F, leading_, n_, pivots_, inverse_.data(), x);
  solve_transposed(F, leading_, n_, pivots_, inverse_.data(), x);
}

}  // namespace touchstone
