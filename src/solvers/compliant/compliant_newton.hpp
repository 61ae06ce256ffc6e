// sap, lagged, similar: Newton's method on the compliant models of contact, in velocities.
//
// Problem: min over v of 1/2 |v - v_free|_A^2 + sum l_i(J_i v), strongly convex, with the potentials of contact/laws/.
//   Its gradient is the balance of momentum, A (v - v_free) - J' gamma(J v) = 0: a minimum obeys the law and the
//   dynamics. Contacts without physics: near-rigid (contact/laws/block_laws.hpp), but for lagged, which has no normal
//   impulse to work with and answers Unsupported. Needs the primal view.
// Method: Castro et al. 2022, VI; Castro et al. 2025, (3) and X. Newton steps (A + J' W J) dv = -gradient, where W has
//   the Hessians of the laws; the line search finds the zero of the derivative along dv by Newton within a bracket, in
//   time proportional to the rows, so that it is exact.
// Start: PrimalData::v_start, the velocity before the step, or the impulses of a warm start, whichever has the smaller
//   residual; else v_free.
// Stopping: with D = diag(A)^-1/2, |D gradient| <= relative_tolerance max(|D A v|, |D J' gamma|), or
//   absolute_tolerance times the root of the largest entry of diag A; and J A^-1 gradient at most relative_tolerance /
//   2 of the velocities, which bounds the certificate of the law (contact/laws/certify_law.hpp) by relative_tolerance,
//   or what a few more steps make of that. What rounding leaves of the gradient grows with the stiffness, about 1e-16
//   h^2 k / m of its terms. Where that is above the tolerance the answer is Stalled, and the message says what was
//   reached.
// Rounding: a law is evaluated at J v + J dv in two parts, v where the Hessian is taken and dv the step along the line.
//   The rounding of the first is the same for every dv, as if the gaps of the step were others by that much (about
//   1e-16 v h), so that a stiff law does not make noise of it. Laws that are not so stiff keep what the line search has
//   found.
// Cost: one Cholesky factorisation in joint space an iteration (velocity_hessian.hpp).
#pragma once

#include "touchstone/contact/laws/block_laws.hpp"
#include "touchstone/solvers/compliant/velocity_hessian.hpp"
#include "touchstone/solvers/solver.hpp"

namespace touchstone {

struct CompliantOptions : SolverOptions {
  CompliantOptions() {
    relative_tolerance = 1e-6;
    max_iterations = 500;
  }
  bool keep_hessian = false;  // factor A + J' W J once more at the answer, for CompliantWorkspace::solve_hessian

  void describe(OptionList& list) override {
    SolverOptions::describe(list);
    list.add("keep_hessian", keep_hessian, "factor the Hessian once more at the answer, for derivatives");
  }
};

struct CompliantWorkspace : SolverWorkspace {
  BlockLaws laws;
  std::vector<std::pair<int, int>> pattern, last_pattern;  // of A, as it was given
  BlockSparseMatrix A;                                     // by groups of dofs
  VelocityHessian hessian;
  BlockDiagonal W, next_W;          // Hessians of the laws; on the line
  VectorX v, change, momentum;      // nv: iterate, v - v_free, A (v - v_free)
  VectorX gradient, impulse, step;  // nv: J' gamma; dv
  VectorX along;                    // nv: A dv
  VectorX free_momentum;            // nv: A v_free
  VectorX scale;                    // nv: D
  VectorX c, dc;                    // nrow: J v where W is taken, J dv
  VectorX gamma, next_gamma;        // nrow; on the line
  VectorX free;                     // nrow: J v_free
  bool has_hessian = false;

  // x = (A + J' W J)^-1 x at the answer of the last solve, if that was solved with keep_hessian. The velocity v'
  // answers to what the balance of momentum is given by dv' = H^-1 (A dv_free + ...): Castro et al. 2025, (29).
  void solve_hessian(VectorX& x);
};

class CompliantSolver final : public TypedSolver<CompliantOptions, CompliantWorkspace> {
 public:
  explicit CompliantSolver(CompliantModel model) : model_(model) {}

 protected:
  SolveStatus run(const ContactProblem& problem, const CompliantOptions& options, CompliantWorkspace& workspace,
                  Solution& solution) const override;
  // Its laws are not those that natv measures.
  bool promises(const CompliantOptions& /*options*/, ContactModel& /*model*/) const override { return false; }

 private:
  CompliantModel model_;
};

}  // namespace touchstone
