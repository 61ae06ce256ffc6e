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
  // value() - base.value(), where this is of base's v + dv: without the difference of two values that are nearly equal.
  double grown_from(const SoftNorm& base, const double* dv) const {
    double growth = 0.0;  // of |x|^2
    for (int k = 0; k < n_; ++k) growth += mu_[k] * dv[k] * (base.x(k) + x(k));
    const double sum = inverse_ + base.inverse_;
    return sum > 0.0 ? growth * (inverse_ * base.inverse_) / sum : 0.0;
  }
  // Entry k of the gradient by v.
  double slope(int k) const { return mu_[k] * (x(k) * inverse_); }
  // W = scale times the Hessian by v: n x n of a column-major matrix with so many rows. 1 - t_k^2 is what the other
  // components and epsilon leave, without cancellation.
  void curvature(double scale, double* W, int rows) const {
    const double e = epsilon_ * inverse_;
    for (int j = 0; j < n_; ++j) {
      const double along = scale * inverse_ * mu_[j];
      double rest = e * e;
      for (int k = 0; k < n_; ++k) {
        const double t = x(k) * inverse_;
        if (k != j) rest += t * t;
        W[j * rows + k] = -along * (x(j) * inverse_) * (mu_[k] * t);
      }
      W[j * rows + j] = along * mu_[j] * rest;
    }
  }

 private:
  double x(int k) const { return mu_[k] * v_[k]; }

  int n_;
  const double *mu_, *v_;
  double epsilon_, value_ = 0.0, inverse_ = 0.0;
};

}  // namespace touchstone
