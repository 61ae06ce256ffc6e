#include "touchstone/contact/laws/similar.hpp"

#include "touchstone/contact/laws/soft_norm.hpp"

namespace touchstone {

double SimilarLaw::evaluate(const double* v, double* gamma, double* W) const {
  const int n = size - 1;
  double slip[kMaxBlockSize];
  for (int k = 0; k < n; ++k) slip[k] = v[k] - shift[k];
  const SoftNorm norm(n, mu, slip, epsilon);
  const double z = v[n] - norm.value();
  const double impulse = normal.impulse(z);
  for (int k = 0; k < n; ++k) gamma[k] = -impulse * norm.slope(k);
  gamma[n] = impulse;
  if (W != nullptr) {
    const double rate = -normal.slope(z);
    for (int j = 0; j < n; ++j) {
      const double along = norm.slope(j);
      for (int k = 0; k < n; ++k) {
        W[j * size + k] = impulse * norm.curvature(k, j) + rate * norm.slope(k) * along;
      }
      W[j * size + n] = W[n * size + j] = -rate * along;
    }
    W[n * size + n] = rate;
  }
  return normal.cost(z);
}

}  // namespace touchstone
