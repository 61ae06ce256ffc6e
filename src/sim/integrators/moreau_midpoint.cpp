#include "touchstone/sim/integrators/moreau_midpoint.hpp"

#include <utility>

#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/gyroscopic.hpp"
#include "touchstone/sim/integrators/loop_velocity.hpp"
#include "touchstone/sim/stages.hpp"

namespace touchstone {
namespace {

// A round brings the mean velocity nearer by about the angle that bodies turn in a step. What is left after the last
// one is a loss of energy that grows with time.
constexpr int kMostRounds = 6;
constexpr double kSettled = 1e-9;  // of the largest velocity

}  // namespace

void MoreauMidpoint::step(StepContext& s) {
  do {
    do {
      stage::begin(s, 0.5);
      hold_loops(s);
      if (!stage::free_motion(s)) return;
      stage::detect(s);
    } while (stage::wake(s));
    stage::assemble(s);
    stage::solve(s);
    stage::bound_servos(s);
  } while (stage::meet(s));
  if (s.loop_velocity != nullptr && may_have_loops(s.model)) settle_bias(s);
  stage::integrate(s);
  stage::account(s);
}

void MoreauMidpoint::hold_loops(StepContext& s) {
  if (s.loop_velocity == nullptr || !may_have_loops(s.model)) return;
  loop_velocity_ = s.state.v;
  damp_alternation(s, loop_velocity_);
  s.loop_velocity = &loop_velocity_;
}

void MoreauMidpoint::settle_bias(StepContext& s) {
  other_force_ = s.data.passive_force + s.data.bias;
  s.data.smooth_force.setZero();
  conserve_spin(s.model, s.parameters, s.work, s.h, s.data);  // the spin of free bodies at the mean velocity, already
  other_force_ -= s.data.smooth_force;
  mean_ = s.state.v;
  for (int round = 0; round < kMostRounds && take_bias_at_mean(s); ++round) {
    s.report.forget_solve();
    stage::assemble(s);
    stage::solve(s);
    stage::bound_servos(s);
  }
}

// False if nothing changes by it, or the step has no such velocity.
bool MoreauMidpoint::take_bias_at_mean(StepContext& s) {
  s.clock.start();
  Data& data = s.data;
  data.scratch = 0.5 * (s.state.v + s.v_next);
  const double size = data.scratch.lpNorm<Eigen::Infinity>();
  const double change = (data.scratch - mean_).lpNorm<Eigen::Infinity>();
  mean_ = data.scratch;
  if (!(change > kSettled * size) || !mean_.allFinite()) return false;
  // Velocities of bodies stay those of the start, which rows and sensors read.
  velocity_ = data.velocity;
  drift_ = data.acceleration;
  compute_bias(s.model, s.parameters, mean_, data);
  std::swap(velocity_, data.velocity);
  std::swap(drift_, data.acceleration);
  data.passive_force = other_force_ - data.bias;
  const bool ok = repeat_free_motion(s.model, s.work, s.h, data);
  stage::hold_resting(s, data.v_free);
  s.report.times.dynamics += s.clock.lap();
  return ok;
}

}  // namespace touchstone
