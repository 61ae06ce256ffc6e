// Partial factorisations of dense column-major matrices, the inner loops of the sparse factorisations. They work in
// tiles small enough that Eigen needs no heap.
#pragma once

namespace touchstone {

// Eliminates the first `pivots` columns of a symmetric n x n matrix, of which only the lower triangle is used:
//   F = [F11 .; F21 F22]  ->  [L11 .; L21 S],  F11 = L11 L11', L21 = F21 L11^-T, S = F22 - L21 L21'.
// Returns false, leaving rubbish, if a pivot is not positive.
bool partial_cholesky(double* F, int leading, int n, int pivots);

// The same without symmetry, with row exchanges among the first `pivots` rows:
//   F = [F11 F12; F21 F22]  ->  [L11\U11 U12; L21 S],  L11 unit lower, row k was exchanged with row exchange[k] >= k.
// Returns false if a pivot is zero or not finite.
bool partial_lu(double* F, int leading, int n, int pivots, int* exchange);

// Substitutions with what they leave; x has n entries, `inverse` that of the factor's diagonal.
// x <- L^-1 x with the columns [first, end) of L, down to row n; without an inverse the diagonal is one.
void solve_lower(const double* F, int leading, int n, int first, int end, const double* inverse, double* x);
// x <- U^-1 x for the rows and columns from `first` on.
void solve_upper(const double* F, int leading, int n, int first, const double* inverse, double* x);
// x <- L^-T x with the first `pivots` columns of L: x1 <- L11^-T (x1 - L21' x2).
void solve_transposed(const double* F, int leading, int n, int pivots, const double* inverse, double* x);

}  // namespace touchstone
