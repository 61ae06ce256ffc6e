// lcp-staggered: staggered projections for the LCP (staggered.hpp), friction on a pyramid (pyramid.hpp).
//
// Model: LCP. Reference: Le Lidec et al. 2024, III-A. A nonsymmetric G is split as in admm.hpp.
#pragma once

#include "touchstone/solvers/staggered/staggered.hpp"

namespace touchstone {

struct LcpStaggeredOptions : StaggeredOptions {
  int facets = 4;  // of the friction pyramid, a multiple of 4

  void describe(OptionList& list) override;
};

class LcpStaggeredSolver final : public TypedSolver<LcpStaggeredOptions, StaggeredWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const LcpStaggeredOptions& options, StaggeredWorkspace& workspace,
                  Solution& solution) const override;
  // The certificate of the LCP is that of the pyramid with four facets.
  bool promises(const LcpStaggeredOptions& options, ContactModel& model) const override {
    model = ContactModel::kLcp;
    return options.facets == 4;
  }
};

}  // namespace touchstone
