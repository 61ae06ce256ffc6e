#include "touchstone/contact/laws/lagged.hpp"

#include "touchstone/contact/laws/soft_norm.hpp"

namespace touchstone {

double LaggedLaw::evaluate(const double* v, double* gamma, double* W) const {
  const int n = size - 1;
  double slip[kMaxBlockSize];
  for (int k = 0; k < n; ++k) slip[k] = v[k] - shift[k];
  const SoftNorm norm(n, mu, slip, epsilon);
  for (int k = 0; k < n; ++k) gamma[k] = -lagged * norm.slope(k);
  gamma[n] = normal.impulse(v[n]);
  if (W != nullptr) {
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < n; ++k) W[j * size + k] = lagged * norm.curvature(k, j);
      W[j * size + n] = W[n * size + j] = 0.0;
    }
    W[n * size + n] = -normal.slope(v[n]);
  }
  return normal.cost(v[n]) + lagged * norm.value();
}

}  // namespace touchstone
