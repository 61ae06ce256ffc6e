#include "touchstone/contact/laws/similar.hpp"

#include "touchstone/contact/laws/soft_norm.hpp"

namespace touchstone {

void SimilarLaw::evaluate(const double* v, const double* dv, double* gamma, double* W) const {
  const int n = size - 1;
  double before[kMaxBlockSize], slip[kMaxBlockSize];
  for (int k = 0; k < n; ++k) {
    before[k] = v[k] - shift[k];
    slip[k] = before[k] + dv[k];
  }
  const SoftNorm base(n, mu, before, epsilon), norm(n, mu, slip, epsilon);
  const NormalLaw::Point at = normal.at(v[n] - base.value(), dv[n] - norm.grown_from(base, dv));
  const double impulse = normal.impulse(at);
  for (int k = 0; k < n; ++k) gamma[k] = -impulse * norm.slope(k);
  gamma[n] = impulse;
  if (W == nullptr) return;
  const double rate = -normal.slope(at);
  norm.curvature(impulse, W, size);
  for (int j = 0; j < n; ++j) {
    const double along = rate * norm.slope(j);
    for (int k = 0; k < n; ++k) W[j * size + k] += along * norm.slope(k);
    W[j * size + n] = W[n * size + j] = -along;
  }
  W[n * size + n] = rate;
}

double SimilarLaw::cost(const double* v) const {
  const int n = size - 1;
  double slip[kMaxBlockSize];
  for (int k = 0; k < n; ++k) slip[k] = v[k] - shift[k];
  return normal.cost(v[n] - SoftNorm(n, mu, slip, epsilon).value());
}

}  // namespace touchstone
