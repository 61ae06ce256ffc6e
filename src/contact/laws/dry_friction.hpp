// Dry friction of a joint or tendon, with at most the impulse f: the one-dimensional friction of Lagged (Castro et al.
// 2025, V-B) with a bound that is known.
//
//     l(v) = f |v|_s,     gamma = -f v / sqrt(v^2 + epsilon^2)
#pragma once

namespace touchstone {

struct DryFrictionLaw {
  double bound = 0.0;    // f, N s or N m s
  double epsilon = 0.0;  // m/s or rad/s
  double shift = 0.0;    // -b

  // The impulse at the velocity v + dv and, if W is given, the second derivative.
  void evaluate(const double* v, const double* dv, double* gamma, double* W) const;
  double cost(const double* v) const;
};

}  // namespace touchstone
