// SAP: a linear spring and damper, with friction as the projection on the cone in the metric of R. Castro et al. 2022,
// IV; Castro et al. 2025, V-A, (17).
//
//     y = R^-1 (v^ - v),     gamma = P^R_K(y),     l(v) = 1/2 gamma' R gamma
//
// R_n = 1 / (h k (h + tau)) and v^_n = -phi_0 / (h + tau) are Kelvin and Voigt's; R_t regularises friction. Where it
// slides it glides at a distance of mu (h + tau) |v_t|. Ellipses of friction and torsion by the cone itself.
#pragma once

#include "touchstone/contact/blocks.hpp"

namespace touchstone {

struct SapLaw {
  int size = 1;                      // m: tangents, then the normal
  double mu[kMaxBlockSize] = {};     // of the tangents
  double R[kMaxBlockSize] = {};      // > 0
  double shift[kMaxBlockSize] = {};  // v^

  // The impulse at the velocity v + dv and, if W is given, the Hessian (column-major m x m).
  void evaluate(const double* v, const double* dv, double* gamma, double* W) const;
  double cost(const double* v) const;

 private:
  bool is_round() const;
  void evaluate_round(const double* v, const double* dv, double* gamma, double* W) const;
};

}  // namespace touchstone
