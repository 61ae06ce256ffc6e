#include "touchstone/contact/laws/sap.hpp"

#include <cmath>

#include "touchstone/math/cones.hpp"

namespace touchstone {

// In sqrt(R) gamma the metric is Euclidean, and the cone has mu_j sqrt(R_j / R_n).
double SapLaw::evaluate(const double* v, double* gamma, double* W) const {
  double root[kMaxBlockSize], steepness[kMaxBlockSize], y[kMaxBlockSize];
  const int n = size - 1;
  for (int k = 0; k < size; ++k) {
    root[k] = std::sqrt(R[k]);
    y[k] = (shift[k] - v[k]) / root[k];
  }
  for (int k = 0; k < n; ++k) steepness[k] = mu[k] * root[k] / root[n];
  if (W != nullptr) {
    project_cone_derivative(size, steepness, y, W);
    for (int j = 0; j < size; ++j) {
      for (int k = 0; k < size; ++k) W[j * size + k] /= root[j] * root[k];
    }
  }
  project_cone(size, steepness, y, y);
  double cost = 0.0;
  for (int k = 0; k < size; ++k) {
    cost += 0.5 * y[k] * y[k];
    gamma[k] = y[k] / root[k];
  }
  return cost;
}

}  // namespace touchstone
