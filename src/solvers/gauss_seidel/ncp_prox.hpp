// ncp-prox: the proximal fixed point (PROX, also called JORprox and SORprox) with steps that adapt.
//
// Model: NCP, written with projections: lambda_n = P(lambda_n - r_n u_n) on [0, inf), lambda_t = P(lambda_t - r_t u_t)
// on
//   the ellipse |lambda_t / mu| <= lambda_n, and likewise for limits and boxes; equalities lambda = lambda - r u.
// Method: Tsounis et al. 2025, VI-E and its references (Studer). Each block repeats its own equations with r = alpha /
// G_jj: with the
//   newest velocities of the others (sor) or all with those of the last sweep (jacobi). alpha begins at 1 (sor) or at
//   the inverse of the largest row sum of |G|, which is stable (jacobi). When the change of a sweep grows, alpha is
//   halved; after `patience` sweeps that shrink it is raised by a tenth, up to a bound.
// Deviations: the step r_t of one contact is a scalar in lambda_t / mu, so that the fixed point is right;
//   the adaptation is one number for all blocks. Equalities use a scalar step here, not a solve.
// A nonsymmetric G is taken as it is.
#pragma once

#include <cstdint>

#include "touchstone/solvers/gauss_seidel/gauss_seidel.hpp"

namespace touchstone {

enum class ProxScheme : std::uint8_t { kSor, kJacobi };

struct NcpProxOptions : SolverOptions {
  ProxScheme scheme = ProxScheme::kSor;
  double step = 1.0;      // alpha at first, as a factor on the stable step
  double max_step = 1.5;  // largest alpha, likewise
  int patience = 10;      // shrinking sweeps before alpha grows

  void describe(OptionList& list) override;
};

struct NcpProxWorkspace : SolverWorkspace {
  VectorX lambda, u;
  VectorX step;  // nrow: r without alpha
};

class NcpProxSolver final : public TypedSolver<NcpProxOptions, NcpProxWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const NcpProxOptions& options, NcpProxWorkspace& workspace,
                  Solution& solution) const override;
};

}  // namespace touchstone
