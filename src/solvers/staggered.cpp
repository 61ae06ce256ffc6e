#include "touchstone/solvers/staggered.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/math/cones.hpp"

namespace touchstone {
namespace {

constexpr int kMaxNewtonSteps = 100;

}  // namespace

void StaggeredOptions::describe(OptionList& list) {
  AdmmOptions::describe(list);
  list.add("inner_iterations", inner_iterations, 1, 1000000, "ADMM iterations for each of the two problems");
  list.add("inner_accuracy", inner_accuracy, 1e-6, 1.0, "share of the present residual at which ADMM stops");
}

void project_ellipsoid(int n, const double* mu, double radius, const double* x, double* y) {
  bool equal = true;
  for (int j = 1; j < n; ++j) equal = equal && mu[j] == mu[0];
  if (equal) {
    if (n > 0) project_ball(n, mu[0] * radius, x, y);
    return;
  }
  double inside = 0.0;
  for (int j = 0; j < n; ++j) {
    if (mu[j] > 0.0) inside += x[j] * x[j] / (mu[j] * mu[j]);
  }
  // y_j = mu_j^2 x_j / (mu_j^2 + nu): the sum of (y_j / mu_j)^2 is convex and falls with nu, so Newton from 0 never
  // oversteps.
  double nu = 0.0;
  if (inside > radius * radius) {
    for (int step = 0; step < kMaxNewtonSteps; ++step) {
      double f = -radius * radius, slope = 0.0;
      for (int j = 0; j < n; ++j) {
        if (!(mu[j] > 0.0)) continue;
        const double share = mu[j] * x[j] / (mu[j] * mu[j] + nu);
        f += share * share;
        slope -= 2.0 * share * share / (mu[j] * mu[j] + nu);
      }
      if (!(f > 0.0) || !(slope < 0.0)) break;
      const double change = -f / slope;
      nu += change;
      if (change <= 1e-15 * nu) break;
    }
  }
  double size = 0.0;
  for (int j = 0; j < n; ++j) {
    const double own = x[j];
    y[j] = mu[j] > 0.0 ? mu[j] * mu[j] * own / (mu[j] * mu[j] + nu) : 0.0;
    if (mu[j] > 0.0) size += y[j] * y[j] / (mu[j] * mu[j]);
  }
  if (nu > 0.0 && size > 0.0) {  // on the surface to the last digit, also for radius 0
    const double scale = std::max(0.0, radius) / std::sqrt(size);
    for (int j = 0; j < n; ++j) y[j] *= scale;
  }
}

}  // namespace touchstone
