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

// x <- L^-1 x with the columns [first, end) of L; `scaled`: the diagonal is that of the factor, else it is one.
void DenseFactor::solve_lower(int first, int end, bool scaled, double* x) const {
  for (int k = first; k < end;) {
    const int count = end - k >= kGroup ? kGroup : 1, next = k + count;
    for (int j = k; j < next; ++j) {
      if (scaled) x[j] *= inverse_[at(j)];
      const double* own = values_.data() + at(j) * at(leading_);
      for (int i = j + 1; i < next; ++i) x[i] -= x[j] * own[i];
    }
    const double* columns = values_.data() + at(k) * at(leading_) + next;
    if (count == kGroup) {
      subtract_group(n_ - next, x + k, columns, leading_, x + next);
    } else {
      subtract(n_ - next, x[k], columns, x + next);
    }
    k = next;
  }
}

// x <- U^-1 x for the rows and columns from `first` on.
void DenseFactor::solve_upper(int first, double* x) const {
  for (int end = n_; end > first;) {
    const int count = end - first >= kGroup ? kGroup : 1, begin = end - count;
    for (int j = end - 1; j >= begin; --j) {
      x[j] *= inverse_[at(j)];
      const double* own = values_.data() + at(j) * at(leading_);
      for (int i = begin; i < j; ++i) x[i] -= x[j] * own[i];
    }
    const double* columns = values_.data() + at(begin) * at(leading_) + first;
    if (count == kGroup) {
      subtract_group(begin - first, x + begin, columns, leading_, x + first);
    } else {
      subtract(begin - first, x[begin], columns, x + first);
    }
    end = begin;
  }
}

// x <- L^-T x with the first pivots_ columns of L.
void DenseFactor::solve_transposed(double* x) const {
  for (int end = pivots_; end > 0;) {
    const int count = end >= kGroup ? kGroup : 1, begin = end - count;
    const double* columns = values_.data() + at(begin) * at(leading_);
    if (count == kGroup) {
      subtract_dots(n_ - end, columns + end, leading_, x + end, x + begin);
    } else {
      for (int i = end; i < n_; ++i) x[begin] -= columns[i] * x[i];
    }
    for (int j = end - 1; j >= begin; --j) {
      const double* own = values_.data() + at(j) * at(leading_);
      for (int i = j + 1; i < end; ++i) x[j] -= own[i] * x[i];
      x[j] *= inverse_[at(j)];
    }
    end = begin;
  }
}

void DenseFactor::solve(double* x) const {
  solve_lower(0, pivots_, true, x);
  double* rest = x + pivots_;
  for (int k = 0; k < n_ - pivots_; ++k) std::swap(rest[k], rest[exchange_[at(k)]]);
  solve_lower(pivots_, n_, false, x);
  solve_upper(pivots_, x);
  solve_transposed(x);
}

}  // namespace touchstone
