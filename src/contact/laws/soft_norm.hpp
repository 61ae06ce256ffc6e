// The soft norm |x|_s = sqrt(|x|^2 + epsilon^2) - epsilon: smooth, convex, |x| for |x| >> epsilon. Castro et al. 2025,
// App. A.
#pragma once

#include <cmath>

namespace touchstone {

// Of x = mu v, an ellipse of friction (App. B), for n components of v. With t = x / root, the gradient by v is mu t and
// the Hessian diag(mu) (I - t t') diag(mu) / root.
class SoftNorm {
 public:
  SoftNorm(int n, const double* mu, const double* v, double epsilon) : n_(n), mu_(mu), v_(v), epsilon_(epsilon) {
    double square = 0.0;
    for (int k = 0; k < n; ++k) square += x(k) * x(k);
    const double root = std::sqrt(square + epsilon * epsilon);
    value_ = root > 0.0 ? square / (root + epsilon) : 0.0;  // without cancellation where |x| << epsilon
    inverse_ = root > 0.0 ? 1.0 / root : 0.0;
  }

  double value() const { return value_; }
  // Entry k of the gradient by v.
  double slope(int k) const { return mu_[k] * (x(k) * inverse_); }
  // Entry (k, j) of the Hessian by v. 1 - t_k^2 is what the other components and epsilon leave, without cancellation.
  double curvature(int k, int j) const {
    if (k != j) return -inverse_ * slope(k) * slope(j);
    double rest = epsilon_ * inverse_ * epsilon_ * inverse_;
    for (int i = 0; i < n_; ++i) {
      if (i != k) rest += x(i) * inverse_ * x(i) * inverse_;
    }
    return inverse_ * mu_[k] * mu_[k] * rest;
  }

 private:
  double x(int k) const { return mu_[k] * v_[k]; }

  int n_;
  const double *mu_, *v_;
  double epsilon_, value_ = 0.0, inverse_ = 0.0;
};

}  // namespace touchstone
