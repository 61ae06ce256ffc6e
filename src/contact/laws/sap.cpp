#include "touchstone/contact/laws/sap.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/math/cones.hpp"

namespace touchstone {

bool SapLaw::is_round() const { return size == 3 && mu[0] == mu[1] && R[0] == R[1]; }

// The projection in closed form, Castro et al. 2022, V-A: it sticks while |y_t| <= mu y_n and opens where y_n is below
// -mu R_t/R_n |y_t|.
void SapLaw::evaluate_round(const double* v, const double* dv, double* gamma, double* W) const {
  const double Rt = R[0], Rn = R[2], friction = mu[0];
  const double y0 = ((shift[0] - v[0]) - dv[0]) / Rt, y1 = ((shift[1] - v[1]) - dv[1]) / Rt;
  const double yn = ((shift[2] - v[2]) - dv[2]) / Rn;
  const double slip = std::sqrt(y0 * y0 + y1 * y1), lift = friction * Rt / Rn;
  if (W != nullptr) std::fill(W, W + 9, 0.0);
  if (slip <= friction * yn) {
    gamma[0] = y0;
    gamma[1] = y1;
    gamma[2] = yn;
    if (W != nullptr) {
      W[0] = W[4] = 1.0 / Rt;
      W[8] = 1.0 / Rn;
    }
    return;
  }
  const double share = 1.0 / (1.0 + friction * lift);
  const double normal = share * (yn + lift * slip);
  if (!(normal > 0.0)) {
    std::fill(gamma, gamma + 3, 0.0);
    return;
  }
  const double t0 = y0 / slip, t1 = y1 / slip;
  gamma[0] = friction * normal * t0;
  gamma[1] = friction * normal * t1;
  gamma[2] = normal;
  if (W == nullptr) return;
  const double across = friction * normal / (slip * Rt), along = friction * lift * share / Rt;
  const double turned = friction * share / Rn;
  W[0] = across * t1 * t1 + along * t0 * t0;
  W[4] = across * t0 * t0 + along * t1 * t1;
  W[1] = W[3] = (along - across) * t0 * t1;
  W[2] = W[6] = turned * t0;
  W[5] = W[7] = turned * t1;
  W[8] = share / Rn;
}

// In sqrt(R) gamma the metric is Euclidean, and the cone has mu_j sqrt(R_j / R_n).
void SapLaw::evaluate(const double* v, const double* dv, double* gamma, double* W) const {
  if (is_round()) return evaluate_round(v, dv, gamma, W);
  double root[kMaxBlockSize], steepness[kMaxBlockSize], y[kMaxBlockSize];
  const int n = size - 1;
  for (int k = 0; k < size; ++k) {
    root[k] = std::sqrt(R[k]);
    y[k] = ((shift[k] - v[k]) - dv[k]) / root[k];
  }
  for (int k = 0; k < n; ++k) steepness[k] = mu[k] * root[k] / root[n];
  if (W != nullptr) {
    project_cone_derivative(size, steepness, y, W);
    for (int j = 0; j < size; ++j) {
      for (int k = 0; k < size; ++k) W[j * size + k] /= root[j] * root[k];
    }
  }
  project_cone(size, steepness, y, y);
  for (int k = 0; k < size; ++k) gamma[k] = y[k] / root[k];
}

double SapLaw::cost(const double* v) const {
  constexpr double kNoChange[kMaxBlockSize] = {};
  double gamma[kMaxBlockSize], cost = 0.0;
  evaluate(v, kNoChange, gamma, nullptr);
  for (int k = 0; k < size; ++k) cost += 0.5 * R[k] * gamma[k] * gamma[k];
  return cost;
}

}  // namespace touchstone
