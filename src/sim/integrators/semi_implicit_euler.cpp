#include "touchstone/sim/integrators/semi_implicit_euler.hpp"

#include "touchstone/sim/stages.hpp"

namespace touchstone {

void SemiImplicitEuler::step(StepContext& s) {
  do {
    do {
      stage::begin(s, 0.0);
      if (!stage::free_motion(s)) return;
      stage::detect(s);
    } while (stage::wake(s));
    stage::assemble(s);
    stage::solve(s);
    stage::bound_servos(s);
  } while (stage::meet(s));
  stage::integrate(s);
  stage::account(s);
}

}  // namespace touchstone
