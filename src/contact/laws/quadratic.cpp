#include "touchstone/contact/laws/quadratic.hpp"

#include <algorithm>

#include "touchstone/math/cones.hpp"

namespace touchstone {

void QuadraticLaw::evaluate(const double* v, const double* dv, double* gamma, double* W) const {
  if (W != nullptr) std::fill(W, W + size * size, 0.0);
  for (int k = 0; k < size; ++k) {
    const double c = (v[k] - shift[k]) + dv[k], free = -c / R[k];
    gamma[k] = project_interval(free, lo[k], hi[k]);
    if (W != nullptr && gamma[k] == free) W[k * (size + 1)] = 1.0 / R[k];
  }
}

// -l' = gamma, and l = R/2 gamma^2 while the impulse is free.
double QuadraticLaw::cost(const double* v) const {
  double cost = 0.0;
  for (int k = 0; k < size; ++k) {
    const double free = (shift[k] - v[k]) / R[k], gamma = project_interval(free, lo[k], hi[k]);
    cost += 0.5 * R[k] * gamma * gamma + gamma * (R[k] * (free - gamma));
  }
  return cost;
}

}  // namespace touchstone
