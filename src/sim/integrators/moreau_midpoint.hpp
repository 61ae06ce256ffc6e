// Moreau's midpoint rule: half a step with the old velocity, forces and constraints there, the other half with the new
// velocity. Of second order where nothing touches and forces do not depend on velocity: those are taken at its old
// value. With loops, Coriolis and centrifugal forces are those of the mean of both velocities, found by repeating the
// solve: then the rule is the same backwards in time, and a mechanism without friction keeps its energy.
#pragma once

#include <vector>

#include "touchstone/sim/integrators/integrator.hpp"

namespace touchstone {

class MoreauMidpoint : public StepRule {
 public:
  explicit MoreauMidpoint(const Model&) {}
  void step(StepContext& s) override;

 private:
  void hold_loops(StepContext& s);
  void settle_bias(StepContext& s);
  bool take_bias_at_mean(StepContext& s);

  VectorX loop_velocity_;         // nv: loops hold for the mean of it and the next velocity
  VectorX mean_;                  // nv: the velocity that the bias was taken at
  VectorX other_force_;           // nv: all but the bias
  std::vector<Motion> velocity_;  // nbody: scratch
  std::vector<Motion> drift_;     // nbody: scratch
};

}  // namespace touchstone
