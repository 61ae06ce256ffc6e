// The proximal ADMM that ccp-admm, ncp-admm and the staggered solvers share.
//
// Problem: min 1/2 x' G x + (g + s)' x over x in C, a product of convex sets that is only known by its projection. With
//   s = Gamma(z), renewed in every iteration, the fixed points are those of the NCP; with s = 0 those of the CCP.
// Method: Tsounis et al. 2025, Alg. 6. x is free, y = x in C, z the multiplier, which becomes u + s:
//       x <- (G + (rho + eta) I)^-1 (-g - s + rho y + eta x + z)
//       y <- P_C(x^ - z / rho),    z <- z - rho (x^ - y),    x^ = omega x + (1 - omega) y
//   Acceleration (Goldstein et al.): y and z on the right-hand sides are extrapolated, and restarted when the combined
//   residual rho |dy|^2 + |dz|^2 / rho does not fall.
// Penalty rules (Tsounis et al. 2025, (171), (172)): when the primal residual |x - y| exceeds `balance` times the dual
// residual
//   |rho dy + eta dx|, rho grows, in the reverse case it shrinks: by a constant factor (linear) or by (L/m)^0.05
//   (spectral), L the largest eigenvalue of G and m = eta + min R. The factorisation is kept while rho stands.
// A nonsymmetric G = S + N is split: S is factored, N x is taken from the last x. The fixed points are those of G.
// Deviations: rho is looked at every 10 iterations, and half as often after each reversal, so that it settles.
// Cost: one solve with the factor per iteration; one product with G for each test of convergence.
#pragma once

#include <cmath>
#include <cstdint>

#include "touchstone/math/block_sparse_cholesky.hpp"
#include "touchstone/math/block_sparse_matrix.hpp"
#include "touchstone/solvers/gauss_seidel/gauss_seidel.hpp"
#include "touchstone/solvers/solver.hpp"

namespace touchstone {

enum class PenaltyRule : std::uint8_t { kFixed, kLinear, kSpectral };

struct AdmmOptions : SolverOptions {
  PenaltyRule penalty = PenaltyRule::kSpectral;
  double rho = 1.0;                // penalty of the fixed rule, and at first of the linear rule; in units of G
  double eta = 1e-6;               // proximal weight; in units of G
  double spectral_exponent = 0.2;  // p of the first rho = sqrt(L m) (L/m)^p
  double spectral_step = 0.05;     // rho is multiplied or divided by (L/m)^this
  double linear_step = 1.5;        // the same of the linear rule
  double balance = 10.0;           // ratio of the residuals beyond which rho changes
  double over_relaxation = 1.0;    // omega
  bool acceleration = false;       // extrapolation with restart
  bool preconditioning = true;     // scale every block to mean diagonal 1; else only lengths
  double warm_start_scale = 1.0;   // factor on the guess; below 1 internal forces fade from step to step

  void describe(OptionList& list) override;
  DualScaling scaling() const { return preconditioning ? DualScaling::kBlocks : DualScaling::kUnits; }
};

class ProximalAdmm {
 public:
  VectorX x, y, z;  // nrow, scaled; y is the answer, always in C

  // Symmetric part, L and the first rho. y and z begin with the guess and its velocity.
  void prepare(const ContactProblem& problem, const DualProblem& dual, const AdmmOptions& options,
               const VectorX& guess);

  // One iteration. project(point, y) writes the projection on C; subtract_shift(z, rhs) subtracts Gamma(z) from rhs or
  // does nothing. Returns false if the matrix cannot be factored.
  template <typename Project, typename Shift>
  bool step(const DualProblem& dual, const AdmmOptions& options, Project&& project, Shift&& subtract_shift) {
    if (!refactor()) return false;
    begin_step(dual, options);
    subtract_shift(z_base_, rhs_);
    x = rhs_;
    factor_.solve(x);
    point_ = options.over_relaxation * x + (1.0 - options.over_relaxation) * y_base_;
    y_last_.swap(y);
    z_last_.swap(z);
    rhs_ = point_ - z_base_ / rho_;
    project(rhs_.data(), y.data());
    z = z_base_ - rho_ * (point_ - y);
    finish_step(dual, options);
    return true;
  }

  // Largest primal and dual residual of the last iteration over blocks, as velocities (m/s).
  double residual() const { return std::max(primal_velocity_, dual_velocity_); }
  double rho() const { return rho_; }
  int factorizations() const { return factorizations_; }

  // Forgets the state of the penalty rule and of the acceleration, not rho and the factor.
  void restart();

 private:
  bool refactor();
  void begin_step(const DualProblem& dual, const AdmmOptions& options);
  void finish_step(const DualProblem& dual, const AdmmOptions& options);
  void measure(const DualProblem& dual);
  void extrapolate();
  void adapt_penalty(const AdmmOptions& options);

  BlockSparseMatrix symmetric_;  // (G + G') / 2 if G is not symmetric
  const BlockSparseMatrix* matrix_ = nullptr;
  bool is_symmetric_ = true;
  BlockSparseCholesky factor_;
  double rho_ = 1.0, eta_ = 1e-6, factored_shift_ = -1.0;
  double step_factor_ = 1.5, lowest_rho_ = 0.0, highest_rho_ = 0.0;
  int factorizations_ = 0;
  int iteration_ = 0, next_check_ = 0, interval_ = 0, last_direction_ = 0;
  double a_ = 1.0, combined_ = 0.0;  // of the acceleration
  double primal_ = 0.0, dual_ = 0.0, primal_velocity_ = 0.0, dual_velocity_ = 0.0;
  VectorX x_last_, y_base_, z_base_, y_last_, z_last_, rhs_, point_, skew_;
};

// Subtracts De Saxce's |mu z_t| from the normal rows, or nothing for the CCP.
void subtract_de_saxce(const DualProblem& dual, ContactModel model, const VectorX& z, VectorX& rhs);

struct AdmmWorkspace : SolverWorkspace {
  VectorX lambda, u;
  ProximalAdmm admm;
};

// The whole solver, for the CCP and the NCP.
SolveStatus solve_with_admm(const ContactProblem& problem, const AdmmOptions& options, ContactModel model,
                            AdmmWorkspace& workspace, Solution& solution);

}  // namespace touchstone
