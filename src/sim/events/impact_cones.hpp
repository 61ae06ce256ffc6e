// The problem of an impact with the friction cone that the user has chosen (EventOptions::impact_cone).
//
// Exact: the solver of the simulation, to nearly full accuracy.
//
// Linear (Boussema, docs/references.md, eq. 5): lambda_t = D lambda_D, lambda_D >= 0, the sum of lambda_D at most
// mu lambda_n, for unit vectors d_k all around. That is the pyramid of the LCP solvers with friction smaller by
// cos(pi/N): theirs goes around the cone, the paper's has its edges in it. By Lemke's method.
//
// Smooth (III-B1, "smooth norm"): sqrt(|lambda_t|^2 + eps^2) - eps <= mu lambda_n is |lambda_t| <= mu' lambda_n with
// mu' = mu sqrt(1 + 2 eps/(mu lambda_n)): Coulomb's cone with friction that is a little larger, the more so the weaker
// the impact. Solved again and again with the mu' of the last answer, at most kMostRounds times.
#pragma once

#include <memory>
#include <vector>

#include "touchstone/sim/events/event_solver.hpp"

namespace touchstone {

class ImpactCones {
 public:
  explicit ImpactCones(const StepContext& s);

  // As EventSolver::solve; `exact` solves where the cone is round.
  bool solve(StepContext& s, Survey& survey, EventSolver& exact, const VectorX& v_free);
  const VectorX& impulses() const { return last_->impulses(); }
  const VectorX& change() const { return last_->change(); }

 private:
  bool solve_linear(StepContext& s, Survey& survey, const VectorX& v_free);
  bool solve_smooth(StepContext& s, Survey& survey, EventSolver& exact, const VectorX& v_free);

  std::unique_ptr<EventSolver> pyramid_;  // if it is linear
  const EventSolver* last_ = nullptr;     // whose answer it is
  std::vector<double> mu_;                // of all rows, as the materials have it
  VectorX before_;                        // impulses of the last round
};

}  // namespace touchstone
