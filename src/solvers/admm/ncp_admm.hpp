// ncp-admm: proximal ADMM for the NCP.
//
// Model: NCP. Method: Tsounis et al. 2025, Alg. 6: the convex problem of the CCP with De Saxce's correction estimated
// anew in every iteration. No proof of convergence, but in practice it copes with mass ratios at which Gauss-Seidel
// stalls. See admm.hpp for the penalty rules, over-relaxation, acceleration, preconditioning and nonsymmetric G. From a
// cold start the impulses carry no internal forces; a warm start keeps those of its guess (option warm_start_scale).
#pragma once

#include "touchstone/solvers/admm/admm.hpp"

namespace touchstone {

struct NcpAdmmOptions : AdmmOptions {};

class NcpAdmmSolver final : public TypedSolver<NcpAdmmOptions, AdmmWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const NcpAdmmOptions& options, AdmmWorkspace& workspace,
                  Solution& solution) const override;
};

}  // namespace touchstone
