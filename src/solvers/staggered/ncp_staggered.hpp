// ncp-staggered: staggered projections for the NCP (staggered.hpp), friction on the disk |lambda_t / mu| <= lambda_n.
//
// Model: NCP: at a fixed point u_n and lambda_n obey Signorini's law and friction dissipates most. Reference: Le Lidec
// et al. 2024, Alg. 7. A nonsymmetric G is split as in admm.hpp.
#pragma once

#include "touchstone/solvers/staggered/staggered.hpp"

namespace touchstone {

struct NcpStaggeredOptions : StaggeredOptions {};

class NcpStaggeredSolver final : public TypedSolver<NcpStaggeredOptions, StaggeredWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const NcpStaggeredOptions& options, StaggeredWorkspace& workspace,
                  Solution& solution) const override;
};

}  // namespace touchstone
