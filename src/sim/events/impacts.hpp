// Impacts: velocities that jump.
//
// All that touches is one contact problem with the full cone (or another: impact_cones.hpp), v' = v + M^-1 J' lambda,
// with Newton's restitution u_n' = -e u_n or Poisson's, where the impulses of the expansion are e times those of the
// compression (Pfeiffer and Glocker 1996, ch. 8; here friction expands with the normal impulse). Tangential restitution
// as in Boussema's eq. (1), in the cone: an impact that sticks leaves with u_t' = -alpha_t u_t. In sequence: one
// contact at a time, the fastest first, as in Newton's cradle.
#pragma once

#include "touchstone/sim/events/event_solver.hpp"
#include "touchstone/sim/events/impact_cones.hpp"

namespace touchstone {

class Impacts {
 public:
  explicit Impacts(const StepContext& s) : cones_(s), velocity_(VectorX::Zero(s.model.nv)) {}

  // Whether anything that touches approaches.
  static bool are_due(const Survey& survey);
  // The velocity after it in `v`. The survey's bias and bounds are used up. False: not solved.
  bool solve(StepContext& s, Survey& survey, EventSolver& solver, VectorX& v);
  // An impact without collision: forces of sliding contacts that have no value become impulses in no time. The
  // velocity after it in `v`; false if that is the one before it.
  bool solve_without_collision(StepContext& s, Survey& survey, EventSolver& solver, VectorX& v);

 private:
  void leave_out_open(Survey& survey) const;
  bool solve_together(StepContext& s, Survey& survey, EventSolver& solver, VectorX& v);
  bool solve_next(StepContext& s, Survey& survey, EventSolver& solver, VectorX& v);

  ImpactCones cones_;
  VectorX velocity_, bias_, expansion_;
};

}  // namespace touchstone
