// Equalities, limits and bounded forces as springs: lambda = P(-c / R) on everything, [0, inf) or [lo, hi], row by row,
// with c = J v + b. Castro et al. 2022, IV.
//
//     l(c) = c^2 / (2 R) while the impulse is free, continued linearly (a bound) or by a constant (an open limit)
#pragma once

#include "touchstone/contact/blocks.hpp"

namespace touchstone {

struct QuadraticLaw {
  int size = 1;
  double R[kMaxBlockSize] = {};                           // > 0
  double lo[kMaxBlockSize] = {}, hi[kMaxBlockSize] = {};  // of the impulse; infinite where there is none
  double shift[kMaxBlockSize] = {};                       // -b

  // The impulse at the velocity v + dv and, if W is given, the Hessian (column-major m x m).
  void evaluate(const double* v, const double* dv, double* gamma, double* W) const;
  double cost(const double* v) const;
};

}  // namespace touchstone
