// ccp-admm: ADMM for the cone complementarity problem.
//
// Model: CCP, a convex problem; ADMM converges on it from any start. Reference: Le Lidec et al. 2024, Alg. 3 (whose
// gamma is minus the velocity), Tsounis et al. 2025, Alg. 6 with s = 0. Deviations: keeps the proximal term, so that G
// may be singular; the first spectral exponent is 0.4. See admm.hpp. From a cold start the impulses carry no internal
// forces.
#pragma once

#include "touchstone/solvers/admm/admm.hpp"

namespace touchstone {

struct CcpAdmmOptions : AdmmOptions {
  CcpAdmmOptions() { spectral_exponent = 0.4; }
};

class CcpAdmmSolver final : public TypedSolver<CcpAdmmOptions, AdmmWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const CcpAdmmOptions& options, AdmmWorkspace& workspace,
                  Solution& solution) const override;
  bool promises(const CcpAdmmOptions& /*options*/, ContactModel& model) const override {
    model = ContactModel::kCcp;
    return true;
  }
};

}  // namespace touchstone
