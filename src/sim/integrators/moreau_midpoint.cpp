#include "touchstone/sim/integrators/moreau_midpoint.hpp"

#include "touchstone/sim/stages.hpp"

namespace touchstone {

void MoreauMidpoint::step(StepContext& s) {
  do {
    stage::begin(s, 0.5);
    if (!stage::free_motion(s)) return;
    stage::detect(s);
  } while (stage::wake(s));
  stage::assemble(s);
  stage::solve(s);
  stage::bound_servos(s);
  stage::integrate(s);
  stage::account(s);
}

}  // namespace touchstone
