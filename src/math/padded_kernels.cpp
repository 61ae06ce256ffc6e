#include "touchstone/math/padded_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "touchstone/math/block_sparse_matrix.hpp"
#include "touchstone/math/lanes.hpp"

namespace touchstone::padded {
namespace {

constexpr int kPanel =
    4;  // columns that are eliminated at once: what they subtract from four columns is added up in registers

double* column_of(double* F, int leading, int c) { return F + static_cast<std::ptrdiff_t>(c) * leading; }
const double* column_of(const double* F, int leading, int c) { return F + static_cast<std::ptrdiff_t>(c) * leading; }

// C -= A B for p columns of A and `columns` of C; the entry of B in row k and column c is B[k by_row + c by_column].
template <int p, int columns>
void subtract_product(const double* A, int leading, const double* B, int by_row, int by_column, double* C, int rows) {
  Lanes factor[columns][p];
  for (int c = 0; c < columns; ++c) {
    for (int k = 0; k < p; ++k) factor[c][k] = broadcast(B[k * by_row + c * by_column]);
  }
  for (int i = 0; i < rows; i += 4) {
    Lanes own[p];
    for (int k = 0; k < p; ++k) own[k] = load_lanes(A + k * leading + i);
    for (int c = 0; c < columns; ++c) {
      double* target = C + c * leading + i;
      Lanes value = load_lanes(target);
      for (int k = 0; k < p; ++k) value -= own[k] * factor[c][k];
      store_lanes(value, target);
    }
  }
}

// The p x p block at the head of a panel, number by number: L replaces it and is returned row by row.
template <int p>
bool factor_head(double* own, int leading, double (*L)[kPanel], double* inverse) {
  for (int j = 0; j < p; ++j) {
    double* column = own + j * leading;
    double pivot = column[j];
    for (int k = 0; k < j; ++k) pivot -= L[j][k] * L[j][k];
    if (!(pivot > 0.0) || !std::isfinite(pivot)) return false;
    column[j] = std::sqrt(pivot);
    inverse[j] = 1.0 / column[j];
    for (int i = j + 1; i < p; ++i) {
      double value = column[i];
      for (int k = 0; k < j; ++k) value -= L[i][k] * L[j][k];
      L[i][j] = column[i] = value * inverse[j];
    }
  }
  return true;
}

// Eliminates p columns of the symmetric matrix that begins with them.
template <int p>
bool eliminate_panel(double* F, int leading, int n, double* inverse) {
  double L[p][kPanel];
  if (!factor_head<p>(F, leading, L, inverse)) return false;
  for (int i = p; i < n; i += 4) {
    Lanes x[p];
    for (int j = 0; j < p; ++j) {
      x[j] = load_lanes(F + j * leading + i);
      for (int k = 0; k < j; ++k) x[j] -= x[k] * broadcast(L[j][k]);
      x[j] *= broadcast(inverse[j]);
      store_lanes(x[j], F + j * leading + i);
    }
  }
  for (int c = p; c < n;) {
    const int columns = n - c >= kPanel ? kPanel : 1;
    const double* rows = F + c;
    double* target = column_of(F, leading, c) + c;
    columns == kPanel ? subtract_product<p, kPanel>(rows, leading, rows, leading, 1, target, n - c)
                      : subtract_product<p, 1>(rows, leading, rows, leading, 1, target, n - c);
    c += columns;
  }
  return true;
}

// The row of the largest entry of a column from row `first` on; `first` if there is a NaN.
int find_pivot(const double* column, int first, int n) {
  Lanes most{};
  for (int i = first; i < n; i += 4) {
    const Lanes x = load_lanes(column + i), size = x < 0.0 ? -x : x;
    most = most < size ? size : most;
  }
  const double largest = std::max({most[0], most[1], most[2], most[3]});
  for (int i = first; i < n; ++i) {
    if (std::abs(column[i]) == largest) return i;
  }
  return first;
}

void exchange_rows(double* F, int leading, int begin, int end, int a, int b) {
  for (int c = begin; c < end; ++c) std::swap(column_of(F, leading, c)[a], column_of(F, leading, c)[b]);
}

// LU of the columns [first, first + p), rows exchanged in these alone.
template <int p>
bool factor_panel(double* F, int leading, int n, int first, int* exchange, double* inverse) {
  for (int j = first; j < first + p; ++j) {
    double* column = column_of(F, leading, j);
    exchange[j] = find_pivot(column, j, n);
    if (exchange[j] != j) exchange_rows(F, leading, first, first + p, j, exchange[j]);
    if (column[j] == 0.0 || !std::isfinite(column[j])) return false;
    inverse[j] = 1.0 / column[j];
    const Lanes scale = broadcast(inverse[j]);
    for (int i = j + 1; i < n; i += 4) store_lanes(load_lanes(column + i) * scale, column + i);
    for (int c = j + 1; c < first + p; ++c) {
      double* target = column_of(F, leading, c);
      const Lanes factor = broadcast(target[j]);
      for (int i = j + 1; i < n; i += 4)
        store_lanes(load_lanes(target + i) - load_lanes(column + i) * factor, target + i);
    }
  }
  return true;
}

// The first p rows of four columns, solved with the unit triangle of a panel.
template <int p>
void solve_head(const double* own, int leading, double* x) {
  Lanes rows[kPanel];
  for (int c = 0; c < kPanel; ++c) rows[c] = load_lanes(x + c * leading);
  transpose(rows);
  for (int k = 1; k < p; ++k) {
    for (int r = 0; r < k; ++r) rows[k] -= broadcast(own[k + r * leading]) * rows[r];
  }
  transpose(rows);
  for (int c = 0; c < kPanel; ++c) store_lanes(rows[c], x + c * leading);
}

// What a panel of LU does to the columns behind it: its exchanges, and what it subtracts.
template <int p>
void apply_panel(double* F, int leading, int n, int first, const int* exchange) {
  const double* own = column_of(F, leading, first) + first;
  for (int j = first; j < first + p; ++j) {
    if (exchange[j] != j) exchange_rows(F, leading, first + p, n, j, exchange[j]);
  }
  for (int c = first + p; c < n;) {
    const int columns = n - c >= kPanel ? kPanel : 1;
    double* x = column_of(F, leading, c) + first;
    if (columns == kPanel) {
      solve_head<p>(own, leading, x);
      subtract_product<p, kPanel>(own + p, leading, x, 1, leading, x + p, n - first - p);
    } else {
      for (int k = 1; k < p; ++k) {
        for (int r = 0; r < k; ++r) x[k] -= own[k + r * leading] * x[r];
      }
      subtract_product<p, 1>(own + p, leading, x, 1, leading, x + p, n - first - p);
    }
    c += columns;
  }
}

template <int p>
bool lu_panel(double* F, int leading, int n, int first, int* exchange, double* inverse) {
  if (!factor_panel<p>(F, leading, n, first, exchange, inverse)) return false;
  apply_panel<p>(F, leading, n, first, exchange);
  return true;
}

}  // namespace

bool eliminate(double* F, int leading, int n, int pivots, double* inverse) {
  constexpr decltype(&eliminate_panel<1>) kPanels[] = {eliminate_panel<1>, eliminate_panel<2>, eliminate_panel<3>,
                                                       eliminate_panel<4>};
  for (int first = 0; first < pivots; first += kPanel) {
    const auto panel = kPanels[std::min(kPanel, pivots - first) - 1];
    if (!panel(column_of(F, leading, first) + first, leading, n - first, inverse + first)) return false;
  }
  return true;
}

bool factorize(double* F, int leading, int n, int* exchange, double* inverse) {
  constexpr decltype(&lu_panel<1>) kPanels[] = {lu_panel<1>, lu_panel<2>, lu_panel<3>, lu_panel<4>};
  for (int first = 0; first < n; first += kPanel) {
    if (!kPanels[std::min(kPanel, n - first) - 1](F, leading, n, first, exchange, inverse)) return false;
  }
  return true;
}

void solve_lower(const double* F, int leading, int n, int first, int end, const double* inverse, double* x) {
  int k = first;
  for (; k + kPanel <= end; k += kPanel) {
    const double *a = column_of(F, leading, k), *b = a + leading, *c = b + leading, *d = c + leading;
    if (inverse != nullptr) x[k] *= inverse[k];
    x[k + 1] -= x[k] * a[k + 1];
    if (inverse != nullptr) x[k + 1] *= inverse[k + 1];
    x[k + 2] -= x[k] * a[k + 2] + x[k + 1] * b[k + 2];
    if (inverse != nullptr) x[k + 2] *= inverse[k + 2];
    x[k + 3] -= x[k] * a[k + 3] + x[k + 1] * b[k + 3] + x[k + 2] * c[k + 3];
    if (inverse != nullptr) x[k + 3] *= inverse[k + 3];
    const Lanes p = broadcast(x[k]), q = broadcast(x[k + 1]), r = broadcast(x[k + 2]), s = broadcast(x[k + 3]);
    for (int i = k + kPanel; i < n; i += 4) {
      const Lanes sum =
          (load_lanes(a + i) * p + load_lanes(b + i) * q) + (load_lanes(c + i) * r + load_lanes(d + i) * s);
      store_lanes(load_lanes(x + i) - sum, x + i);
    }
  }
  for (; k < end; ++k) {
    const double* column = column_of(F, leading, k);
    if (inverse != nullptr) x[k] *= inverse[k];
    const Lanes factor = broadcast(x[k]);
    for (int i = k + 1; i < n; i += 4) store_lanes(load_lanes(x + i) - load_lanes(column + i) * factor, x + i);
  }
}

void exchange_and_solve_lower(const double* F, int leading, int n, const int* exchange, double* x) {
  for (int first = 0; first < n; first += kPanel) {
    const int end = std::min(n, first + kPanel);
    for (int k = first; k < end; ++k) std::swap(x[k], x[exchange[k]]);
    solve_lower(F, leading, n, first, end, nullptr, x);
  }
}

void solve_transposed(const double* F, int leading, int n, int pivots, const double* inverse, double* x) {
  // The last few first, so that what is left is whole groups.
  int end = pivots;
  for (; end % kPanel != 0; --end) {
    const double* column = column_of(F, leading, end - 1);
    Lanes total{};
    for (int i = end; i < n; i += 4) total += load_lanes(column + i) * load_lanes(x + i);
    x[end - 1] = (x[end - 1] - sum(total)) * inverse[end - 1];
  }
  for (; end > 0; end -= kPanel) {
    const int k = end - kPanel;
    const double *a = column_of(F, leading, k), *b = a + leading, *c = b + leading, *d = c + leading;
    Lanes totals[kPanel] = {};
    for (int i = end; i < n; i += 4) {
      const Lanes own = load_lanes(x + i);
      totals[0] += load_lanes(a + i) * own;
      totals[1] += load_lanes(b + i) * own;
      totals[2] += load_lanes(c + i) * own;
      totals[3] += load_lanes(d + i) * own;
    }
    const Lanes y = load_lanes(x + k) - sum_each(totals[0], totals[1], totals[2], totals[3]);
    x[k + 3] = y[3] * inverse[k + 3];
    x[k + 2] = (y[2] - c[k + 3] * x[k + 3]) * inverse[k + 2];
    x[k + 1] = (y[1] - b[k + 3] * x[k + 3] - b[k + 2] * x[k + 2]) * inverse[k + 1];
    x[k] = (y[0] - a[k + 3] * x[k + 3] - a[k + 2] * x[k + 2] - a[k + 1] * x[k + 1]) * inverse[k];
  }
}

}  // namespace touchstone::padded
