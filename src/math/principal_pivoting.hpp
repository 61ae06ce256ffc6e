// Small linear complementarity problems with a symmetric positive definite matrix: x and w = A x + b with
//     0 <= x_i, 0 <= w_i, x_i w_i = 0   for bounded rows,      w_i = 0   for free ones.
// Block principal pivoting: guess which x are not zero, solve for them, exchange all that have the wrong sign; when
// that stops making progress, only the last of them, which ends for every such matrix (Murty 1974; Judice and Pires
// 1994). Cost: a Cholesky factorisation for each guess, mostly one to three. Memory is kept from problem to problem.
#pragma once

#include <vector>

#include "touchstone/math/dense_factor.hpp"
#include "touchstone/math/types.hpp"

namespace touchstone {

class PrincipalPivoting {
 public:
  // A problem of n rows without defined values, all bounded.
  void resize(int n);
  double* column(int c) { return A_.data() + static_cast<std::size_t>(c) * static_cast<std::size_t>(n_); }
  void set_free(int row) { is_free_[static_cast<std::size_t>(row)] = 1; }

  // x for this b; wrong signs of less than `tolerance`, in units of b, are let pass. Starts from the rows with negative
  // b. Returns false after `most_guesses`, or where A is not positive definite.
  bool solve(const double* b, double tolerance, int most_guesses, double* x);

  // How far any x is from its conditions, in units of b: the largest |min(A_ii x_i, w_i)| length_i, or |w_i| length_i
  // of free rows. NaN if there is one.
  double residual(const double* b, const double* x, const double* length);

 private:
  bool guess(const double* b, double* x);
  bool is_wrong(int row, const double* x, double tolerance) const;

  int n_ = 0;
  AlignedVector A_;  // column-major
  std::vector<char> is_free_, is_active_;
  std::vector<int> active_;  // rows whose x is not held at zero
  DenseFactor factor_;
  AlignedVector w_, reduced_;
};

}  // namespace touchstone
