#include "touchstone/sim/integrators/variational.hpp"

#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/integrators/loop_velocity.hpp"
#include "touchstone/sim/stages.hpp"

namespace touchstone {
namespace {

constexpr int kImpulseRounds = 6;  // each brings the impulses nearer by about the angle that bodies turn in a step
constexpr double kImpulsesSettled = 1e-9;  // of the largest velocity

}  // namespace

void VariationalMidpoint::step(StepContext& s) {
  bool is_refined = false;
  impulse_.setZero(s.model.nv);
  moved_.setZero(s.model.nv);
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
  if (is_refined && free_step_.given_up() == 0 && s.loop_velocity != nullptr && may_have_loops(s.model))
    settle_impulses(s);
  is_refined ? integrate(s) : stage::integrate(s);
  stage::account(s);
}

// Puts the variational rule's velocity in the place of Moreau's, but for trees that it gives up.
bool VariationalMidpoint::refine(StepContext& s) {
  s.clock.start();
  const bool solved =
      free_step_.solve(s.model, s.parameters, s.state, s.input, s.h, !s.rules.implicit_forces, s.data, &impulse_);
  s.report.newton += free_step_.iterations();
  s.report.warnings.variational_fallback = !solved || free_step_.given_up() > 0;
  stage::hold_resting(s, s.data.v_free);
  if (solved && s.loop_velocity != nullptr) {
    loop_velocity_ = 2.0 * free_step_.velocity() - s.data.v_free;
    if (may_have_loops(s.model)) damp_alternation(s, loop_velocity_);
    s.loop_velocity = &loop_velocity_;
  }
  if (solved) {
    s.data.v_free -= moved_;
    s.rules.adopt_free_velocity(s);
  }
  s.report.times.dynamics += s.clock.lap();
  return solved;
}

void VariationalMidpoint::solve_again(StepContext& s) {
  s.report.forget_solve();
  stage::assemble(s);
  stage::solve(s);
  stage::bound_servos(s, [&] { refine(s); });
}

void VariationalMidpoint::settle_impulses(StepContext& s) {
  for (int round = 0; round < kImpulseRounds && s.v_next.allFinite(); ++round) {
    impulse_.setZero();
    add_constraint_force(s.model, s.constraints, s.lambda, impulse_);
    scratch_ = moved_;
    moved_ = impulse_;
    solve(s.model, s.data, moved_);
    const double change = (moved_ - scratch_).lpNorm<Eigen::Infinity>();
    if (!(change > kImpulsesSettled * s.v_next.lpNorm<Eigen::Infinity>())) {
      moved_ = scratch_;
      return;
    }
    if (!refine(s)) {  // nothing has changed
      moved_ = scratch_;
      return;
    }
    if (free_step_.given_up() > 0) {  // what is Moreau's has no impulses in its equation
      impulse_.setZero();
      moved_.setZero();
      refine(s);
      return solve_again(s);
    }
    solve_again(s);
  }
}

void VariationalMidpoint::integrate(StepContext& s) {
  s.clock.start();
  v_mean_ = free_step_.velocity() + 0.5 * (s.v_next - s.data.v_free - moved_);
  s.work.q = s.state.q;
  touchstone::integrate(s.model, s.data.scope.joints, s.state.q, v_mean_, s.h, s.work.q);
  stage::recover(s);
  stage::finish_motion(s);
  s.report.times.integrate = s.clock.lap();
}

}  // namespace touchstone
