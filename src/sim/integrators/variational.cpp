#include "touchstone/sim/integrators/variational.hpp"

#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/stages.hpp"

namespace touchstone {

void VariationalMidpoint::step(StepContext& s) {
  bool is_refined = false;
  do {
    stage::begin(s, 0.5);
    if (!stage::free_motion(s, SpringRule::kMiddle)) return;
    is_refined = refine(s);
    if (!is_refined && !stage::free_motion(s)) return;  // Moreau's rule, with all of it implicit
    stage::detect(s);
  } while (stage::wake(s));
  stage::assemble(s);
  stage::solve(s);
  stage::bound_servos(s, [&] {
    if (is_refined) refine(s);
  });
  is_refined ? integrate(s) : stage::integrate(s);
  stage::account(s);
}

// Puts the variational rule's velocity in the place of Moreau's, but for trees that it gives up.
bool VariationalMidpoint::refine(StepContext& s) {
  s.clock.start();
  const bool solved = free_step_.solve(s.model, s.parameters, s.state, s.input, s.h, !s.rules.implicit_forces, s.data);
  s.report.warnings.variational_fallback = !solved || free_step_.given_up() > 0;
  stage::hold_resting(s, s.data.v_free);
  if (solved) s.rules.adopt_free_velocity(s);
  if (solved && s.loop_velocity != nullptr) {
    loop_velocity_ = 2.0 * free_step_.velocity() - s.data.v_free;
    s.loop_velocity = &loop_velocity_;
  }
  s.report.times.dynamics += s.clock.lap();
  return solved;
}

void VariationalMidpoint::integrate(StepContext& s) {
  s.clock.start();
  v_mean_ = free_step_.velocity() + 0.5 * (s.v_next - s.data.v_free);
  s.work.q = s.state.q;
  touchstone::integrate(s.model, s.data.scope.joints, s.state.q, v_mean_, s.h, s.work.q);
  stage::recover(s);
  stage::finish_motion(s);
  s.report.times.integrate = s.clock.lap();
}

}  // namespace touchstone
