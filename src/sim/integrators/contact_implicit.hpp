// The variational midpoint rule with constraints that hold where a step ends: the impulses are part of the action
// (Boussema, eq. (4), with the momenta of RATTLE at the knots; Hairer, Lubich, Wanner 2006, VII.1).
//
//   v+ = v + M(q0)^-1 J(q0)' lambda        the impulse at the knot q0, for which
//   q1 = the variational step of v+        (dynamics/variational.hpp) has gaps phi(q1) >= 0, complementary to lambda,
//                                          friction against the slip w of the step, equalities f(q1) = 0
//   v1 = v1- + M(q1)^-1 J(q1)' lambda'     the impulse at the knot q1: the laws of contact for v1
//
// The first line is solved by sequential linearisation: a contact problem with G of q0 and the gaps where the last
// impulses lead, again until they agree. So positions are certified (StepReport::recovery_residual, m: how far gaps and
// impulses are from complementary), velocities too, and the rule is of second order while constraints persist. Impacts
// are inelastic at the level of positions; those with restitution are left to the second problem, like Moreau's.
// Dampers and servos are implicit at the end of the step, as in all rules. Where the equation of the step has no
// solution, or its impulses add energy because the step is too long, Moreau's rule makes it, with a warning.
#pragma once

#include <memory>

#include "touchstone/dynamics/variational.hpp"
#include "touchstone/sim/events/survey.hpp"
#include "touchstone/sim/integrators/integrator.hpp"
#include "touchstone/sim/integrators/moreau_midpoint.hpp"

namespace touchstone {

// Both knots of a step, as they were solved: StepContext::knots, for whoever wants to differentiate it.
struct ContactKnots {
  explicit ContactKnots(const StepContext& s) : start(s.state), end(s.state), here(s), ahead(s), closed(s) {}

  State start, end;            // with v+; with v1
  Survey here, ahead;          // rows at q0, the same at q1
  Survey closed;               // rows of what is closed at q1
  std::vector<char> bounces;   // by block of `here`: left to the second problem
  VectorX w;                   // moves the configuration
  VectorX v_before;            // v1-
  VectorX change;              // v+ - v
  VectorX target;              // by row of `here`: what its law sees
  VectorX lambda, lambda_end;  // impulses at both knots
};

class ContactImplicit : public StepRule {
 public:
  explicit ContactImplicit(const Model& model);
  ~ContactImplicit() override;
  void step(StepContext& s) override;

 private:
  struct Work;

  // False: no solution near.
  bool find_motion(StepContext& s);
  // The step from v+, and its gaps.
  bool move(StepContext& s);
  // What the laws see, with the impulses at hand: velocities. Returns how far it is from a solution, m.
  double read_rows(StepContext& s);
  void linearise(StepContext& s);
  bool find_velocity(StepContext& s);
  bool adds_energy(StepContext& s);
  void finish(StepContext& s);
  EnergyAccount energy(StepContext& s);

  MoreauMidpoint fallback_;
  VariationalStep free_step_;
  std::unique_ptr<Work> work_;
};

}  // namespace touchstone
