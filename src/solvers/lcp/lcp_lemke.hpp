// lcp-lemke: Lemke's complementary pivoting.
//
// Model: LCP with a friction pyramid, as lcp_form.hpp writes it. Method: Le Lidec et al. 2024, III-A; Lemke's method
// with covering vector
// 1
//   and the lexicographic ratio test, which cannot cycle. M is copositive, so the method ends at a solution whenever
//   one is promised by theory (g in the range of J), singular and nonsymmetric G included.
// Deviations: M gets a proximal shift, (M + eps I) z + q - eps z_last, so that pivots of a singular G are told from
//   rounding. It is repeated until the shift no longer shows, and tried with eps = 1e-12 .. 1e-6 of scaled G. Mass
//   ratios of 1e6 in hyperstatic stacks are beyond it all the same; it says so.
// The inverse of the basis is kept dense and renewed every 50 pivots.
// Exact up to rounding; iterations are pivots, which have no residual: the history is that of the answer alone. Cost:
// two dense products of the size of the LCP per pivot. More than kMaxLcpVariables variables: Unsupported. A warm start
// is taken only if it is already the answer.
#pragma once

#include <Eigen/LU>

#include "touchstone/solvers/lcp/lcp_pivoting.hpp"

namespace touchstone {

struct LcpLemkeOptions : SolverOptions {
  LcpLemkeOptions() { max_iterations = 20000; }
  int facets = 4;  // of the friction pyramid, a multiple of 4

  void describe(OptionList& list) override;
};

struct LcpLemkeWorkspace : LcpPivotingWorkspace {
  MatrixX basis, inverse;
  VectorX q, value, column, row;  // of the basic variables; of the entering one
  std::vector<int> basic;         // 0 .. n-1: w, n .. 2n-1: z, 2n: the artificial variable
  Eigen::PartialPivLU<MatrixX> lu;
};

class LcpLemkeSolver final : public TypedSolver<LcpLemkeOptions, LcpLemkeWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const LcpLemkeOptions& options, LcpLemkeWorkspace& workspace,
                  Solution& solution) const override;
  // The certificate of the LCP is that of the pyramid with four facets.
  bool promises(const LcpLemkeOptions& options, ContactModel& model) const override {
    model = ContactModel::kLcp;
    return options.facets == 4;
  }
};

}  // namespace touchstone
