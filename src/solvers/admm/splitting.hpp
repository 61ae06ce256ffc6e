// A few steps of the alternating direction method of multipliers, as a start for Newton's method.
//
// Problem: the NCP of a scaled dual problem, all blocks.
// Method: Tsounis et al. 2025, Alg. 6 with De Saxce's correction renewed in every step, as in admm.hpp, on the systems
//   of the Newton methods: Lambda = rho I. They are factored without symmetry unless G is known to be symmetric, so a
//   skew part of G needs no splitting. rho is chosen for a matrix of order one and corrected once from the ratio of the
//   residuals.
// Where many contacts share few bodies (walls, towers, wheels on the ground) ten to twenty of its steps find the modes
//   that sweeps do not find in thousands, with impulses of nearly minimum norm; near isostatic piles it is slow.
// Cost: one or two factorisations, and one solve for each step.
#pragma once

#include "touchstone/contact/dual.hpp"
#include "touchstone/solvers/newton/newton_system.hpp"

namespace touchstone {

struct SplittingSettings {
  double tolerance = 1e-8;   // m/s: ends here
  double good_enough = 0.0;  // m/s: or here, because Newton's method is quicker from there
  int max_steps = 24;
};

class Splitting {
 public:
  // Starts from lambda and its velocity u, whose natv (m/s) is given. Keeps the best point in them and returns its
  // natv.
  double run(const DualProblem& dual, NewtonSystem& system, const SplittingSettings& settings, double natv,
             VectorX& lambda, VectorX& u);

  // The same with a rho so small that the first step is nearly the answer of contacts that all stick, with the least
  // impulses: for bodies that rest on each other. Given up early where that is not so.
  double run_at_rest(const DualProblem& dual, NewtonSystem& system, double tolerance, double natv, VectorX& lambda,
                     VectorX& u);

  int steps() const { return steps_; }

 private:
  bool start(const DualProblem& dual, NewtonSystem& system, double rho);
  bool factorize(const DualProblem& dual, NewtonSystem& system);
  void step(const DualProblem& dual, NewtonSystem& system);
  bool adapt();

  VectorX x_, y_, z_, last_, u_;
  double rho_ = 0.0;
  double primal_ = 0.0, dual_ = 0.0;  // residuals of the last step
  int steps_ = 0;
};

}  // namespace touchstone
