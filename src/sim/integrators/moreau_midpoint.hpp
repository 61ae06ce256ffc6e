// Moreau's midpoint rule: half a step with the old velocity, forces and constraints there, the other half with the new
// velocity. Of second order where nothing touches and forces do not depend on velocity: those are taken at its old
// value.
#pragma once

#include "touchstone/sim/integrators/integrator.hpp"

namespace touchstone {

class MoreauMidpoint : public StepRule {
 public:
  explicit MoreauMidpoint(const Model&) {}
  void step(StepContext& s) override;
};

}  // namespace touchstone
