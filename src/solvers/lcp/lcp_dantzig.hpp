// lcp-dantzig: Dantzig's principal pivoting with friction bounds that are renewed, as in ODE and Bullet, repeated until
// they agree.
//
// Model: LCP with a friction pyramid, as lcp_form.hpp writes it. Method: Le Lidec et al. 2024, III-A. With the friction
// bounds
//   mu lambda_n held fixed the LCP is monotone, and the principal pivoting of Dantzig and Cottle solves it: one
//   negative variable after another is driven to zero, while the others stay nonnegative. Then the bounds take the new
//   lambda_n.
// Deviations: ODE takes the bounds once; here they are repeated until natv of the coupled problem is small, which makes
//   the answer that of the LCP. M is singular, so it gets a proximal shift, (M + eps I) z + q - eps z_last, which
//   vanishes at the answer, makes every pivot positive and cycling impossible but for exact ties, which the least index
//   breaks. The tableau is built anew when the outer loop stalls, to shed rounding.
// iterations: outer rounds. More than kMaxLcpVariables variables: Unsupported.
// Cost: one pass over a dense tableau of the size of the LCP per pivot; few pivots after the first round.
#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/solvers/lcp/lcp_pivoting.hpp"

namespace touchstone {

struct LcpDantzigOptions : SolverOptions {
  int facets = 4;          // of the friction pyramid, a multiple of 4
  double proximal = 1e-6;  // eps, in units of scaled G
  int max_pivots = 20000;  // in one round

  void describe(OptionList& list) override;
};

struct LcpDantzigWorkspace : LcpPivotingWorkspace {
  MatrixX tableau;                    // basic = value + tableau * (change of the nonbasic)
  VectorX value, q, row;              // value: of the basic variables
  std::vector<std::uint8_t> z_basic;  // n: z is basic and w zero, or the reverse
};

class LcpDantzigSolver final : public TypedSolver<LcpDantzigOptions, LcpDantzigWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const LcpDantzigOptions& options, LcpDantzigWorkspace& workspace,
                  Solution& solution) const override;
  // The certificate of the LCP is that of the pyramid with four facets.
  bool promises(const LcpDantzigOptions& options, ContactModel& model) const override {
    model = ContactModel::kLcp;
    return options.facets == 4;
  }
};

}  // namespace touchstone
