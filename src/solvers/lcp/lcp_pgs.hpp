// lcp-pgs: projected Gauss-Seidel on the friction pyramid.
//
// Model: LCP (pyramid.hpp). Method: Le Lidec et al. 2024, Alg. 1: per contact a normal step and its projection on [0,
// inf), then the tangential rows with the new normal impulse, each clamped to +-mu lambda_n. Deviations: with 4 facets
// every row takes its own exact step 1 / G_jj, one after another, because rows with intervals
//   of their own need no common step; the paper's 1 / min G_jj oversteps. With more facets a pair of rows takes one
//   step of 1 / (largest eigenvalue of its 2x2 block) and is projected on its polygon.
// A nonsymmetric G is taken as it is.
#pragma once

#include "touchstone/solvers/gauss_seidel/gauss_seidel.hpp"

namespace touchstone {

struct LcpPgsOptions : GaussSeidelOptions {
  int facets = 4;  // of the friction pyramid, a multiple of 4

  void describe(OptionList& list) override;
};

using LcpPgsWorkspace = GaussSeidelWorkspace;

class LcpPgsSolver final : public TypedSolver<LcpPgsOptions, LcpPgsWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const LcpPgsOptions& options, LcpPgsWorkspace& workspace,
                  Solution& solution) const override;
  // The certificate of the LCP is that of the pyramid with four facets.
  bool promises(const LcpPgsOptions& options, ContactModel& model) const override {
    model = ContactModel::kLcp;
    return options.facets == 4;
  }
};

}  // namespace touchstone
