// The contact problem of a survey, at the level of velocities (impacts) or accelerations (choice of modes), by the
// solver that the user has chosen, to nearly full accuracy.
#pragma once

#include "touchstone/sim/events/survey.hpp"
#include "touchstone/sim/island_solver.hpp"

namespace touchstone {

class EventSolver {
 public:
  explicit EventSolver(const StepContext& s);
  // With a pyramid of so many facets in the place of the cone, by Lemke's method. Its certificate is not that of the
  // cone: it is solved if the method says so, and s.report hears nothing of it.
  EventSolver(const StepContext& s, int facets);

  // The problem with the free velocity (or acceleration) v_free and the bias of survey.c. False: not solved to the
  // tolerance that the user has asked for. The certificate goes into s.report. Afterwards survey.c has the velocities
  // of rows in free_velocity.
  bool solve(StepContext& s, Survey& survey, const VectorX& v_free);
  // Of all rows.
  const VectorX& impulses() const { return lambda_; }
  // What they do to the velocity.
  const VectorX& change() const { return change_; }

 private:
  IslandSolver solver_;
  bool is_cone_ = true;
  VectorX lambda_, change_;
};

}  // namespace touchstone
