// Semi-implicit Euler: forces and constraints at the start of the step, then the configuration moves by h v'. Of first
// order; contacts and limits hold where the step begins.
#pragma once

#include "touchstone/sim/integrators/integrator.hpp"

namespace touchstone {

class SemiImplicitEuler : public StepRule {
 public:
  explicit SemiImplicitEuler(const Model&) {}
  void step(StepContext& s) override;
};

}  // namespace touchstone
