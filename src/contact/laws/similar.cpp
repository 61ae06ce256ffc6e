#include "touchstone/contact/laws/similar.hpp"

#include "touchstone/contact/laws/soft_norm.hpp"

namespace touchstone {

namespace {

// Inlined, so that the compiler knows n where the caller does.
[[gnu::always_inline]] inline void evaluate_similar(const SimilarLaw& law, int n, const double* v, const double* dv,
                                                    double* gamma, double* W) {
  const int size = n + 1;
  double before[kMaxBlockSize], slip[kMaxBlockSize];
  for (int k = 0; k < n; ++k) {
    before[k] = v[k] - law.shift[k];
    slip[k] = before[k] + dv[k];
  }
  const SoftNorm base(n, law.mu, before, law.epsilon), norm(n, law.mu, slip, law.epsilon);
  const NormalLaw::Point at = law.normal.at(v[n] - base.value(), dv[n] - norm.grown_from(base, dv));
  const double impulse = law.normal.impulse(at);
  for (int k = 0; k < n; ++k) gamma[k] = -impulse * norm.slope(k);
  gamma[n] = impulse;
  if (W == nullptr) return;
  const double rate = -law.normal.slope(at);
  norm.curvature(impulse, W, size);
  for (int j = 0; j < n; ++j) {
    const double along = rate * norm.slope(j);
    for (int k = 0; k < n; ++k) W[j * size + k] += along * norm.slope(k);
    W[j * size + n] = W[n * size + j] = -along;
  }
  W[n * size + n] = rate;
}

}  // namespace

void SimilarLaw::evaluate(const double* v, const double* dv, double* gamma, double* W) const {
  constexpr int kTangents = 2;
  if (size == kTangents + 1) {
    evaluate_similar(*this, kTangents, v, dv, gamma, W);
  } else {
    evaluate_similar(*this, size - 1, v, dv, gamma, W);
  }
}

double SimilarLaw::cost(const double* v) const {
  const int n = size - 1;
  double slip[kMaxBlockSize];
  for (int k = 0; k < n; ++k) slip[k] = v[k] - shift[k];
  return normal.cost(v[n] - SoftNorm(n, mu, slip, epsilon).value());
}

}  // namespace touchstone
