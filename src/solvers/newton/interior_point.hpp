// The interior-point iteration on the smooth Coulomb path (coulomb_path.hpp), for a prepared dual problem.
//
// Problem: lambda and slacks s with s = G lambda + g and the smooth laws with barrier m -> 0.
// Method: Newton's method on all of it; slacks eliminated, (G + Lambda) dlambda = rhs with the Nesterov-Todd scaling in
//   the cones. Mehrotra's predictor and corrector with one factorisation, sigma = (m_affine / m)^3; one common step
//   length for lambda and slacks, since the problem is not monotone. A short step is tried again with more centring on
//   the same factors. The residual s - G lambda - g is recomputed in every step, which corrects the linear solves.
// Stopping: natv of the *rounded* point, open, sliding or sticking decided by comparing the slacks.
// References: Mehrotra 1992; Nesterov and Todd 1998; the path without De Saxce's term is ours.
// Cost: a factorisation and two or three solves for each step; 6 to 20 steps.
#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/base/clock.hpp"
#include "touchstone/contact/dual.hpp"
#include "touchstone/solvers/newton/coulomb_path.hpp"
#include "touchstone/solvers/newton/newton_system.hpp"

namespace touchstone {

enum class PathOutcome : std::uint8_t {
  kConverged,  // the rounded point is good enough
  kReady,      // asked to pause: the rounded point is good enough for another method (pause_at)
  kShort,      // two short steps in a row: the path turns
  kLimit,      // no more iterations
  kTime,       // the deadline has passed
  kBroken,     // a singular system or numbers that are not finite
};

struct InteriorPointSettings {
  double tolerance = 1e-8;  // m/s
  double pause_at = 0.0;    // m/s: stop with kReady as soon as the rounded natv is below; 0: never
  int max_iterations = 50;
  double shift = 3.0;  // the start is moved into the interior by this times its residual
  double smallest_shift = 1e-6;
  Deadline deadline;
};

// The largest natural map of a scaled iterate, in scaled units.
double scaled_residual(const DualProblem& dual, const VectorX& lambda, const VectorX& u);

class InteriorPoint {
 public:
  // Starts at lambda, whose residual (scaled natural map, largest) is known.
  void start(const DualProblem& dual, const VectorX& lambda, double residual, const InteriorPointSettings& settings);

  // Iterates; may be called again after kReady.
  PathOutcome iterate(NewtonSystem& system, const InteriorPointSettings& settings);

  // The rounded point of the last test, its velocity and its natv (m/s).
  const VectorX& rounded() const { return rounded_; }
  const VectorX& rounded_velocity() const { return rounded_u_; }
  double rounded_natv() const { return natv_; }
  // The point on the path itself: impulses and slacks.
  const VectorX& lambda() const { return lambda_; }
  const VectorX& slack() const { return s_; }
  double barrier() const { return m_; }
  int iterations() const { return iterations_; }
  // Called with natv of the rounded point after each step.
  std::vector<double>* history = nullptr;

 private:
  void start_block(int block, double shift);
  void set_hessian(int block);
  // The right-hand sides c of ds = -Lambda dlambda + c. With a corrector: the second-order terms of the last step.
  void set_right_hand_side(double target, bool corrector);
  void block_right_hand_side(int block, double target, bool corrector);
  void recover_slacks();
  void recover_block(int block);
  double longest_step(double limit) const;
  double block_step(int block, double limit) const;
  double complementarity(double step) const;
  void take_step(double step);
  void round();
  bool solve_direction(NewtonSystem& system, double target, bool corrector);

  const DualProblem* dual_ = nullptr;
  std::vector<PathKind> kind_;
  std::vector<ConeScaling> scaling_;
  VectorX lambda_, s_;  // s: u on the path
  VectorX dlambda_, ds_, c_;
  VectorX affine_lambda_, affine_s_;
  VectorX linear_, residual_;                           // G lambda + g; s - that
  std::vector<double> tau_, dtau_, ctau_, affine_tau_;  // 2 for each block: tau of a cone, or s and t of a box
  VectorX rounded_, rounded_u_;
  double m_ = 0.0, natv_ = 0.0;
  int pairs_ = 0, iterations_ = 0, short_steps_ = 0;
};

}  // namespace touchstone
