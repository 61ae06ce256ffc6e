// Factorisations of small dense column-major matrices that have room below their last row: at least kRoom entries of
// each column beyond row n belong to nobody and are zero. Loops over rows then work in whole lanes, without a rest that
// would be done number by number, which on matrices of 10 to 50 rows is most of the work.
//
// Otherwise these are the kernels of dense_kernels.hpp, with the same results but for rounding.
#pragma once

namespace touchstone::padded {

constexpr int kRoom = 3;
constexpr int kMostRows = 96;  // up to here a matrix stays in the cache and needs no tiles

// A distance of columns that leaves room below n rows.
constexpr int leading_of(int n) { return (n + kRoom + 3) / 4 * 4; }

// Eliminates the first `pivots` columns of a symmetric n x n matrix, of which only the lower triangle is used, by
// Cholesky's method; `inverse` gets that of the factor's diagonal. Returns false, leaving rubbish, if a pivot is not
// positive.
bool eliminate(double* F, int leading, int n, int pivots, double* inverse);

// LU with exchanged rows: row k was exchanged with row exchange[k] >= k; `inverse` gets that of U's diagonal. Columns
// of L are left as they were when four of them were done: later exchanges do not reach them. Returns false if a pivot
// is zero or not finite.
bool factorize(double* F, int leading, int n, int* exchange, double* inverse);

// Substitutions with the columns [first, end) of a lower triangle, x with kRoom zeros behind its n entries. Without an
// inverse the diagonal is one.
void solve_lower(const double* F, int leading, int n, int first, int end, const double* inverse, double* x);
// x <- L^-1 P x with the L of `factorize`, x with kRoom zeros behind its n entries.
void exchange_and_solve_lower(const double* F, int leading, int n, const int* exchange, double* x);
// x <- L^-T x with the first `pivots` columns of L.
void solve_transposed(const double* F, int leading, int n, int pivots, const double* inverse, double* x);

}  // namespace touchstone::padded
