// ncp-pgs: projected Gauss-Seidel for the NCP.
//
// Model: NCP. Method: Le Lidec et al. 2024, Alg. 6, Tsounis et al. 2025, Alg. 3 and 5: per contact a normal step and
// its projection on [0, inf), then a tangential step with the new normal impulse and its projection on the disk of
// radius mu lambda_n. Deviations: the tangential step is 1 / max_j G_jj; the papers' 1 / min_j G_jj oversteps and
// leaves a persistent slip
//   where the two differ (option paper_step). With different coefficients the disk is an ellipse, which becomes a disk
//   in lambda_t / mu.
#pragma once

#include "touchstone/solvers/gauss_seidel/gauss_seidel.hpp"

namespace touchstone {

struct NcpPgsOptions : GaussSeidelOptions {
  bool paper_step = false;  // the tangential step of the papers

  void describe(OptionList& list) override;
};

using NcpPgsWorkspace = GaussSeidelWorkspace;

class NcpPgsSolver final : public TypedSolver<NcpPgsOptions, NcpPgsWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const NcpPgsOptions& options, NcpPgsWorkspace& workspace,
                  Solution& solution) const override;
};

}  // namespace touchstone
