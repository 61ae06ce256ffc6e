// Similar: friction and normal impulse depend on one velocity, z = v_n - |mu v_t|_s. Strongly coupled; where it slides
// it glides at a distance of mu h |v_t|, and is stiffer by 1 + mu d |v_t|. Castro et al. 2025, V-C, (19)-(21) and
// VII; ellipses of friction App. B.
//
//     l(v) = l_n(z),     gamma_n = n(z),     gamma_t = -n(z) mu t
#pragma once

#include "touchstone/contact/blocks.hpp"
#include "touchstone/contact/laws/normal_law.hpp"

namespace touchstone {

struct SimilarLaw {
  NormalLaw normal;
  int size = 1;                      // m: tangents, then the normal
  double mu[kMaxBlockSize] = {};     // of the tangents
  double epsilon = 0.0;              // of |mu v_t|_s, m/s
  double shift[kMaxBlockSize] = {};  // v^_t: the velocity at which it does not slip

  // The impulse at the velocity v + dv and, if W is given, the Hessian (column-major m x m).
  void evaluate(const double* v, const double* dv, double* gamma, double* W) const;
  double cost(const double* v) const;
};

}  // namespace touchstone
