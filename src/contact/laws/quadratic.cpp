#include "touchstone/contact/laws/quadratic.hpp"

#include <algorithm>

#include "touchstone/math/cones.hpp"

namespace touchstone {

double QuadraticLaw::evaluate(const double* v, double* gamma, double* W) const {
  double cost = 0.0;
  if (W != nullptr) std::fill(W, W + size * size, 0.0);
  for (int k = 0; k < size; ++k) {
    const double c = v[k] - shift[k], free = -c / R[k];
    gamma[k] = project_interval(free, lo[k], hi[k]);
    // -l' = gamma, and l = R/2 gamma^2 while the impulse is free.
    cost += 0.5 * R[k] * gamma[k] * gamma[k] + gamma[k] * (R[k] * (free - gamma[k]));
    if (W != nullptr && gamma[k] == free) W[k * (size + 1)] = 1.0 / R[k];
  }
  return cost;
}

}  // namespace touchstone
