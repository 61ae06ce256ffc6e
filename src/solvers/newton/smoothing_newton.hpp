// Non-interior smoothing Newton on the smooth Coulomb path (coulomb_path.hpp), for a prepared dual problem.
//
// Problem: with z = lambda - u free, the smooth laws of barrier m give lambda(z, m) and u(z, m); find z with
//   F(z, m) = u(z, m) - G lambda(z, m) - g = 0, and let m -> 0.
// Method: Newton's method for F with a predicted change of m: (G + Lambda) dlambda = F + c dm, where Lambda and c are
// the
//   derivatives of -u by lambda and of u by m on the path. Two solves with one factorisation give the step for every
//   new barrier sigma m; the smallest sigma in a list is taken for which |F| stays below sqrt(sigma m); if there is
//   none, m stays and the step is damped. Nothing has to stay in the interior, so any old solution is a good start:
//   z = lambda - u, m = residual^2.
// References: Chen and Mangasarian 1996 (smoothing); Burke and Xu 2000 (non-interior paths); the path is ours.
// Cost: a factorisation, two solves and a few products for each step; from a warm start 0 to 5 steps.
#pragma once

#include <vector>

#include "touchstone/contact/dual.hpp"
#include "touchstone/solvers/newton/coulomb_path.hpp"
#include "touchstone/solvers/newton/interior_point.hpp"
#include "touchstone/solvers/newton/newton_system.hpp"

namespace touchstone {

struct SmoothingNewtonSettings {
  double tolerance = 1e-8;  // m/s
  double pause_at = 0.0;    // m/s: stop with kReady as soon as the rounded natv is below; 0: never
  int max_iterations = 50;
  double barrier = 0.0;  // first m; 0: the residual squared
  Deadline deadline;
};

class SmoothingNewton {
 public:
  // Starts at lambda and its velocity u.
  void start(const DualProblem& dual, const VectorX& lambda, const VectorX& u, const SmoothingNewtonSettings& settings);

  // Iterates; may be called again after kReady.
  PathOutcome iterate(NewtonSystem& system, const SmoothingNewtonSettings& settings);

  // The rounded point of the last test, its velocity and its natv (m/s).
  const VectorX& rounded() const { return rounded_; }
  const VectorX& rounded_velocity() const { return rounded_u_; }
  double rounded_natv() const { return natv_; }
  // The point on the path itself.
  const VectorX& lambda() const { return lambda_; }
  const VectorX& slack() const { return u_; }
  int iterations() const { return iterations_; }
  // Called with natv of the rounded point after each step.
  std::vector<double>* history = nullptr;

 private:
  // lambda, u and F at z for a barrier; returns |F|.
  double evaluate(const VectorX& z, double m, VectorX& lambda, VectorX& u, VectorX& F) const;
  // Lambda and c at the current point.
  void differentiate(NewtonSystem& system);
  void to_step(const NewtonSystem& system, const VectorX& dlambda, double dm, VectorX& dz) const;
  bool advance();
  void round();

  const DualProblem* dual_ = nullptr;
  std::vector<PathKind> kind_;
  VectorX z_, lambda_, u_, F_, c_;
  VectorX fixed_step_, barrier_step_;  // dz for dm = 0 and for dm = -m
  VectorX trial_z_, trial_lambda_, trial_u_, trial_F_;
  VectorX rounded_, rounded_u_;
  double m_ = 0.0, size_ = 0.0, natv_ = 0.0;
  int iterations_ = 0, short_steps_ = 0;
};

}  // namespace touchstone
