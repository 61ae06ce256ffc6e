// ccp-pgs: block projected Gauss-Seidel for the cone complementarity problem.
//
// Model: CCP, K contains lambda, orthogonal to u in K*: the optimality conditions of min 1/2 lambda' G lambda + g'
// lambda
//   over K. Sliding contacts lift off with u_n = |mu u_t|. With the option de_saxce each step adds |mu u_t| to u_n, and
//   the fixed points are those of the NCP (the PGS-CCP of Tsounis et al. 2025, Tab. I).
// Method: Le Lidec et al. 2024, Alg. 2, Tsounis et al. 2025, Alg. 2 and 5: lambda_i <- P_K(lambda_i - step u_i) for
// each contact in turn. Deviations: step = 1 / (largest eigenvalue of G_ii), with which each step lowers the objective
// when G is symmetric.
//   The papers' 1 / (mean diagonal of G_ii) is up to m times longer and then oscillates (option paper_step).
// A nonsymmetric G is taken as it is.
#pragma once

#include "touchstone/solvers/gauss_seidel/gauss_seidel.hpp"

namespace touchstone {

struct CcpPgsOptions : GaussSeidelOptions {
  bool de_saxce = false;    // solve the NCP
  bool paper_step = false;  // the step of the papers

  void describe(OptionList& list) override;
};

struct CcpPgsWorkspace : GaussSeidelWorkspace {
  VectorX step;  // nblock, scaled; of contacts
};

class CcpPgsSolver final : public TypedSolver<CcpPgsOptions, CcpPgsWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const CcpPgsOptions& options, CcpPgsWorkspace& workspace,
                  Solution& solution) const override;
  bool promises(const CcpPgsOptions& options, ContactModel& model) const override {
    model = options.de_saxce ? ContactModel::kNcp : ContactModel::kCcp;
    return true;
  }
};

}  // namespace touchstone
