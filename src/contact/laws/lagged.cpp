#include "touchstone/contact/laws/lagged.hpp"

#include "touchstone/contact/laws/soft_norm.hpp"

namespace touchstone {

namespace {

// Inlined, so that the compiler knows n where the caller does.
[[gnu::always_inline]] inline void evaluate_lagged(const LaggedLaw& law, int n, const double* v, const double* dv,
                                                   double* gamma, double* W) {
  const int size = n + 1;
  double slip[kMaxBlockSize];
  for (int k = 0; k < n; ++k) slip[k] = (v[k] - law.shift[k]) + dv[k];
  const SoftNorm norm(n, law.mu, slip, law.epsilon);
  for (int k = 0; k < n; ++k) gamma[k] = -law.lagged * norm.slope(k);
  const NormalLaw::Point at = law.normal.at(v[n], dv[n]);
  gamma[n] = law.normal.impulse(at);
  if (W == nullptr) return;
  norm.curvature(law.lagged, W, size);
  for (int j = 0; j < n; ++j) W[j * size + n] = W[n * size + j] = 0.0;
  W[n * size + n] = -law.normal.slope(at);
}

}  // namespace

void LaggedLaw::evaluate(const double* v, const double* dv, double* gamma, double* W) const {
  constexpr int kTangents = 2;
  if (size == kTangents + 1) {
    evaluate_lagged(*this, kTangents, v, dv, gamma, W);
  } else {
    evaluate_lagged(*this, size - 1, v, dv, gamma, W);
  }
}

double LaggedLaw::cost(const double* v) const {
  const int n = size - 1;
  double slip[kMaxBlockSize];
  for (int k = 0; k < n; ++k) slip[k] = v[k] - shift[k];
  return normal.cost(v[n]) + lagged * SoftNorm(n, mu, slip, epsilon).value();
}

}  // namespace touchstone
