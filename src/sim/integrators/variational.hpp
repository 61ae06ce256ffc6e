// The variational midpoint rule (dynamics/variational.hpp) with the constraints of Moreau's, and another v_free.
// Without constraints it moves by its own velocity w; an impulse, which changes the velocity in the middle of the step,
// moves by half of what it does to v'. With loops the impulses of a step are put into its equation and the step is
// solved again, until both agree: then momenta of the whole motion balance, and a mechanism without friction keeps its
// energy. Where its equation is not solved, Moreau's rule makes the step of that tree, with a warning.
#pragma once

#include "touchstone/dynamics/variational.hpp"
#include "touchstone/sim/integrators/integrator.hpp"

namespace touchstone {

class VariationalMidpoint : public StepRule {
 public:
  explicit VariationalMidpoint(const Model& model) : free_step_(model) {}
  void step(StepContext& s) override;

 private:
  // False: no tree was solved for.
  bool refine(StepContext& s);
  void settle_impulses(StepContext& s);
  void solve_again(StepContext& s);
  void integrate(StepContext& s);

  VariationalStep free_step_;
  VectorX v_mean_;         // what moves the configuration
  VectorX impulse_;        // nv: what constraints do, as far as the equation knows
  VectorX moved_;          // nv: what it does to v'
  VectorX scratch_;        // nv
  VectorX loop_velocity_;  // loops hold for the mean of it and the next velocity, which is v_mean_
};

}  // namespace touchstone
