// raisim, raisim-ds, raisim-ds-es: Gauss-Seidel with RaiSim's contact model.
//
// Model: a contact opens if its velocity without itself separates; it sticks if the impulse that stops it lies in the
//   cone; else it slides with the impulse in the cone that minimises 1/2 lambda' A lambda + b' lambda on the plane
//   u_n = 0. That keeps Signorini's and Coulomb's laws, but friction does not oppose the motion where normal and
//   tangential directions are coupled (Le Lidec et al. 2024, (24)): u_t ~ -lambda_t - mu^2 lambda_n A_nt / A_nn. With
//   the De Saxce term s = |mu u_t| of the last sweep in the objective (but not in the plane) the fixed points are those
//   of the NCP.
// Method: Le Lidec et al. 2024, Alg. 5, Tsounis et al. 2025, VI-C and Tab. I. With y = lambda_t / mu and u_n = 0
// eliminated (S, c, w of
//   local_contact.hpp), sliding is min 1/2 y'Sy + (c - s w/a)'y over |y| <= n(y) = -(b_n + w'y) / a, a convex problem.
//   For a multiplier alpha of the constraint, y minimises 1/2 y'Sy + (c + alpha w/a)'y + alpha |y|, and |y| - n(y)
//   falls with alpha; both are found by bracketed roots. Two directions of sliding, the usual contact, need no alpha:
//   Newton's method turns the direction of y until the rest is along the normal of the constraint, a handful of steps.
// Deviations: RaiSim bisects the angle of lambda_t; the multiplier has the same solution (a test compares with a sweep
//   over angles), needs no start, and holds for torsional, rolling and anisotropic friction too. The relaxation falls
//   geometrically from 1 to 0.1.
// Stopping. raisim: when a sweep changes nothing (its model has no residual of its own; natv of the NCP need not
//   vanish). raisim-ds: natv of the NCP. raisim-ds-es: when the objective 1/2 lambda' G lambda + g' lambda no longer
//   changes, Tsounis et al. 2025, (160), which is early and says nothing about accuracy.
// A nonsymmetric G is taken as it is.
#pragma once

#include "touchstone/solvers/gauss_seidel/gauss_seidel.hpp"

namespace touchstone {

struct RaisimOptions : GaussSeidelOptions {
  RaisimOptions() {
    relaxation_min = 0.1;
    relaxation_decay = 0.99;
  }
};

struct RaisimEsOptions : RaisimOptions {
  double objective_tolerance = 1e-9;  // change of the scaled objective in a sweep, relative to its size

  void describe(OptionList& list) override;
};

using RaisimWorkspace = GaussSeidelWorkspace;

// The model's solution of one contact: replaces lambda; u is the block's velocity including its own lambda.
void solve_raisim_contact(const DualProblem& dual, bool de_saxce, int block, const double* u, double* lambda);

class RaisimSolver final : public TypedSolver<RaisimOptions, RaisimWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const RaisimOptions& options, RaisimWorkspace& workspace,
                  Solution& solution) const override;
  // Its fixed points are not those of the NCP.
  bool promises(const RaisimOptions& /*options*/, ContactModel& /*model*/) const override { return false; }
};

class RaisimDsSolver final : public TypedSolver<RaisimOptions, RaisimWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const RaisimOptions& options, RaisimWorkspace& workspace,
                  Solution& solution) const override;
};

class RaisimDsEsSolver final : public TypedSolver<RaisimEsOptions, RaisimWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const RaisimEsOptions& options, RaisimWorkspace& workspace,
                  Solution& solution) const override;
  // It stops early.
  bool promises(const RaisimEsOptions& /*options*/, ContactModel& /*model*/) const override { return false; }
};

}  // namespace touchstone
