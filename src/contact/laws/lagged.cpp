#include "touchstone/contact/laws/lagged.hpp"

#include "touchstone/contact/laws/soft_norm.hpp"

namespace touchstone {

void LaggedLaw::evaluate(const double* v, const double* dv, double* gamma, double* W) const {
  const int n = size - 1;
  double slip[kMaxBlockSize];
  for (int k = 0; k < n; ++k) slip[k] = (v[k] - shift[k]) + dv[k];
  const SoftNorm norm(n, mu, slip, epsilon);
  for (int k = 0; k < n; ++k) gamma[k] = -lagged * norm.slope(k);
  const NormalLaw::Point at = normal.at(v[n], dv[n]);
  gamma[n] = normal.impulse(at);
  if (W == nullptr) return;
  norm.curvature(lagged, W, size);
  for (int j = 0; j < n; ++j) W[j * size + n] = W[n * size + j] = 0.0;
  W[n * size + n] = -normal.slope(at);
}

double LaggedLaw::cost(const double* v) const {
  const int n = size - 1;
  double slip[kMaxBlockSize];
  for (int k = 0; k < n; ++k) slip[k] = v[k] - shift[k];
  return normal.cost(v[n]) + lagged * SoftNorm(n, mu, slip, epsilon).value();
}

}  // namespace touchstone
