// Lagged: friction with the normal impulse n_0 of the start of the step, normal impulse implicit. The consistent one of
// the three models: no gliding, no change of stiffness. Castro et al. 2025, V-B, (18); ellipses of friction App. B.
//
//     l(v) = l_n(v_n) + n_0 |mu v_t|_s,     gamma_n = n(v_n),     gamma_t = -n_0 mu t
#pragma once

#include "touchstone/contact/blocks.hpp"
#include "touchstone/contact/laws/normal_law.hpp"

namespace touchstone {

struct LaggedLaw {
  NormalLaw normal;
  int size = 1;                      // m: tangents, then the normal
  double mu[kMaxBlockSize] = {};     // of the tangents
  double lagged = 0.0;               // n_0, N s
  double epsilon = 0.0;              // of |mu v_t|_s, m/s
  double shift[kMaxBlockSize] = {};  // v^_t: the velocity at which it does not slip

  // The impulse at the velocity v + dv and, if W is given, the Hessian (column-major m x m).
  void evaluate(const double* v, const double* dv, double* gamma, double* W) const;
  double cost(const double* v) const;
};

}  // namespace touchstone
