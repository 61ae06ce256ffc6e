// nbgs: nonlinear block Gauss-Seidel, each contact solved exactly (local_contact.hpp).
//
// Model: NCP (Signorini, Coulomb, maximum dissipation). Reference: Tsounis et al. 2025, VI-E, Alg. 4 and 5. Works with
// a nonsymmetric G. Converges fast when contacts are weakly coupled, slowly on stacks with large mass ratios; the
// impulses of hyperstatic problems are bounded, but not of minimum norm.
#pragma once

#include "touchstone/solvers/gauss_seidel/gauss_seidel.hpp"
#include "touchstone/solvers/gauss_seidel/local_contact.hpp"

namespace touchstone {

struct NbgsOptions : GaussSeidelOptions {};

struct NbgsWorkspace : GaussSeidelWorkspace {
  LocalContacts contacts;
};

class NbgsSolver final : public TypedSolver<NbgsOptions, NbgsWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const NbgsOptions& options, NbgsWorkspace& workspace,
                  Solution& solution) const override;
};

}  // namespace touchstone
