#include "touchstone/sim/integrators/event_driven.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "touchstone/base/index.hpp"
#include "touchstone/sim/assemble.hpp"
#include "touchstone/sim/events/event_watcher.hpp"
#include "touchstone/sim/events/impacts.hpp"
#include "touchstone/sim/events/mode_choice.hpp"
#include "touchstone/sim/events/root.hpp"
#include "touchstone/sim/events/smooth_motion.hpp"
#include "touchstone/sim/stages.hpp"

namespace touchstone {
namespace {

constexpr int kMostSmoothSteps = 500;  // in one step: slips that turn ever faster as they stop
constexpr int kMostImpacts = 200;      // at one moment
constexpr double kTimeNoise = 1e-14;   // s: events are found to this

// Bodies that lie on several points rattle from one to another, ever faster and slower, and slips turn as they stop.
// The more of its events a step has used up, the faster is what counts as resting: m/s. Velocities below it are taken
// away by the least change, which only loses energy.
double resting_speed_of(const EventReport& account, int max_events) {
  const double share = std::max(static_cast<double>(account.events) / max_events,
                                static_cast<double>(account.smooth_steps) / kMostSmoothSteps);
  return share < 0.3 ? kRestingSpeed : share < 0.5 ? 1e-6 : share < 0.7 ? 1e-5 : 1e-4;
}

}  // namespace

struct EventDriven::Work {
  explicit Work(StepContext& s)
      : context(&s),
        state(s.state),
        touching(s),
        other(s),
        solver(s),
        impacts(s),
        forces(s.model),
        motion(s),
        ode(s.options.events.rule) {}

  StepContext* context;
  State state;        // where the step has come to
  double done = 0.0;  // s: of the step
  bool knows_modes = false;
  Survey touching, other;
  EventSolver solver;
  Impacts impacts;
  ModeForces forces;
  ModeChoice choice;
  SmoothMotion motion;
  OdeStep ode;
  SmoothMotion::Guard guard;  // of the last event
  VectorX rate, y, v;
  std::vector<int> rows;
  std::vector<double> residual;
  Energies before;
  SmoothMotion::Work done_work;
  double impact_work = 0.0;
};

EventDriven::EventDriven(const Model& model) : fallback_(model) {}
EventDriven::~EventDriven() = default;

void EventDriven::step(StepContext& s) {
  stage::begin(s, 0.0);
  s.part_before = s.next_part;
  if (work_ == nullptr || work_->context != &s) work_ = std::make_unique<Work>(s);
  Work& w = *work_;
  s.clock.start();
  w.state = s.state;
  w.done = 0.0;
  w.knows_modes = false;
  w.done_work = {};
  w.impact_work = 0.0;
  w.before = s.meter.measure_all(s.model, s.parameters, s.state);
  const bool is_made = stage::mocap_moves(s) ? fail(s, EventFallback::kMocap) : make_parts(s);
  s.report.times.dynamics += s.clock.lap();
  is_made ? finish(s) : fall_back(s);
}

bool EventDriven::fail(StepContext& s, EventFallback why) {
  s.report.events.why = why;
  return false;
}

bool EventDriven::make_parts(StepContext& s) {
  Work& w = *work_;
  while (w.done < s.h) {
    const EventReport& account = s.report.events;
    if (account.events >= s.options.events.max_events) return fail(s, EventFallback::kManyEvents);
    if (account.smooth_steps >= kMostSmoothSteps) return fail(s, EventFallback::kManySteps);
    w.touching.resting_speed = resting_speed_of(account, s.options.events.max_events);
    if (!w.knows_modes && !find_modes(s)) return false;
    if (!advance(s)) return fail(s, EventFallback::kNoSmoothMotion);
    const int stopping = w.motion.stopping_member(w.touching.resting_speed);
    if (stopping < 0) continue;
    if (watcher_ != nullptr && w.knows_modes) {
      watcher_->event(w.motion, {.kind = SmoothMotion::Kind::kSlip, .index = stopping, .which = 1});
    }
    w.knows_modes = false;
  }
  return true;
}

bool EventDriven::find_modes(StepContext& s) {
  Work& w = *work_;
  for (int i = 0; i < kMostImpacts; ++i) {
    if (!w.touching.look(s, w.state, 0.0)) return fail(s, EventFallback::kNoSmoothMotion);
    w.touching.take_touching(s, kTouching);
    if (!w.touching.is_rigid()) return fail(s, EventFallback::kCompliant);
    if (Impacts::are_due(w.touching)) {
      if (!w.impacts.solve(s, w.touching, w.solver, w.v)) return fail(s, EventFallback::kNoImpact);
      if (watcher_ != nullptr) watcher_->impact(w.touching, w.v);
      jump(s);
      continue;
    }
    rest(s);
    w.touching.find_drift(s, w.other);
    if (w.choice.choose(s, w.touching, w.solver, w.forces)) {
      w.motion.set_modes(w.touching, w.choice.members());
      return w.knows_modes = true;
    }
    // Painleve's paradox, or none of the modes that were tried.
    if (!w.impacts.solve_without_collision(s, w.touching, w.solver, w.v)) return fail(s, EventFallback::kNoModes);
    if (watcher_ != nullptr) watcher_->impact_without_collision();
    jump(s);
  }
  return fail(s, EventFallback::kNoImpact);
}

// To the velocity after an impact.
void EventDriven::jump(StepContext& s) {
  Work& w = *work_;
  const double energy = s.meter.measure_all(s.model, s.parameters, w.state).kinetic;
  w.state.v = w.v;
  w.impact_work += s.meter.measure_all(s.model, s.parameters, w.state).kinetic - energy;
}

// What moves slower than can be told from rest does not move.
void EventDriven::rest(StepContext& s) {
  Work& w = *work_;
  Survey& survey = w.touching;
  w.rows.clear();
  w.residual.clear();
  for (int block = 0; block < survey.c.count(); ++block) {
    const BlockType type = survey.c.blocks.type[at(block)];
    const int first = survey.first(block), normal = survey.normal(block);
    const bool is_slow = type == BlockType::kEquality || slip_speed(survey, block) <= survey.resting_speed;
    int from = is_slow ? first : normal + 1;
    if (type == BlockType::kCoulomb || type == BlockType::kNonNegative) {
      const bool rests =
          survey.c.position[at(normal)] <= kTouching && std::abs(survey.c.velocity[normal]) <= survey.resting_speed;
      from = rests ? (is_slow ? first : normal) : normal + 1;
    }
    for (int row = from; row <= normal; ++row) {
      w.rows.push_back(row);
      w.residual.push_back(survey.slip(row));
    }
  }
  w.state.v += w.forces.least_change(s.model, survey, w.rows, w.residual);
  if (watcher_ != nullptr) watcher_->rest(survey, w.rows, w.state.v);
  survey.state.v = w.state.v;
  survey.update_velocity(s.model);
}

bool EventDriven::make_smooth_step(StepContext& s, double& size) {
  constexpr int kMostTries = 60;
  Work& w = *work_;
  const double tolerance = s.options.accuracy > 0.0 ? s.options.accuracy : s.options.events.tolerance;
  const int nv = s.model.nv;
  for (int i = 0; i < kMostTries; ++i) {
    double factor = 0.25;
    const bool is_made = w.ode.make(w.motion, w.motion.start(), w.rate, size);
    s.report.newton += w.ode.iterations();
    if (is_made) {
      if (!w.ode.has_error() || nv == 0) return true;
      const VectorX& e = w.ode.error();
      const double error = std::max(e.head(nv).cwiseProduct(s.weights.dof_length).cwiseAbs().maxCoeff(),
                                    e.segment(nv, nv).cwiseProduct(s.weights.dof_length).cwiseAbs().maxCoeff()) /
                           tolerance;
      factor = std::clamp(error > 0.0 ? 0.9 * std::pow(error, -0.2) : 5.0, 0.2, 5.0);
      if (error <= 1.0) {
        s.next_part = std::min(s.duration, size * factor);
        return true;
      }
    }
    ++s.report.events.rejected;
    size *= factor;
    if (size < kTimeNoise) return false;
  }
  return false;
}

double EventDriven::find_event(StepContext& s) {
  Work& w = *work_;
  const auto guard_at = [&](double share) {
    w.ode.interpolate(share, w.y);
    return w.motion.rate(w.y, w.v) ? w.motion.guard() : SmoothMotion::Guard{.value = -1.0};
  };
  // Something that is near may come and go within the step.
  const int samples = w.motion.any_near() ? 4 : 1;
  w.motion.arm(w.touching.resting_speed / kRestingSpeed);
  w.guard = w.motion.guard();
  RootPoint before{0.0, w.guard.value};
  if (before.f < 0.0) return 0.0;
  for (int i = 1; i <= samples; ++i) {
    const double share = static_cast<double>(i) / samples;
    const RootPoint now{share, guard_at(share).value};
    if (now.f < 0.0) {
      const double noise = std::max(kTimeNoise / w.ode.size(), 1e-16);
      const double found =
          find_root(s.options.events.root, before, now, noise, [&](double x) { return guard_at(x).value; });
      w.guard = guard_at(found);
      w.guard.is_turn = w.guard.is_gap() && !w.guard.closes();
      return found;
    }
    before = now;
  }
  return 2.0;
}

bool EventDriven::end_motion(StepContext& s, double size) {
  Work& w = *work_;
  if (!w.ode.make(w.motion, w.motion.start(), w.rate, size)) return false;
  s.report.newton += w.ode.iterations();
  w.motion.read(w.ode.end(), w.state);
  return w.motion.correct(w.state);
}

// The same of the motion as it was made last.
bool EventDriven::end_smoothly() {
  Work& w = *work_;
  if (!w.motion.rate(w.ode.end(), w.v)) return false;
  w.motion.read(w.ode.end(), w.state);
  return w.motion.correct(w.state);
}

// An event is found between the ends of a longer motion, by its interpolant, and gaps that began at zero a little below
// it. Where a motion of that size ends, things are apart by the error of the rule: what closes would not touch there,
// and meet a moment later in an event of its own. So the size is sought with which the event is where the motion ends.
bool EventDriven::end_at_event(StepContext& s, double& size) {
  constexpr int kMostRounds = 12;
  constexpr double kShorter = 1e-3;  // of the size: by how much it is moved first, where the rate is not known
  constexpr double kFarthest = 0.8;  // of the size: a moment so far away is another one
  Work& w = *work_;
  const double longest = s.h - w.done, found = size;
  if (!end_motion(s, size)) return false;
  std::optional<double> distance = w.motion.distance(w.guard);
  if (!distance || !(size > kTimeNoise)) return true;
  double change = w.guard.closes() ? -*distance / w.guard.speed : -kShorter * size;
  for (int i = 0; i < kMostRounds && std::abs(change) > kTimeNoise; ++i) {
    const double before = *distance, at_size = std::min(size + change, longest);
    if (at_size == size) break;
    if (!(std::abs(at_size - found) < kFarthest * found)) return end_motion(s, size = found);
    if (!end_motion(s, at_size)) return false;
    distance = w.motion.distance(w.guard);
    const double slope = distance ? (*distance - before) / (at_size - size) : 0.0;
    const bool is_first_look = i == 0 && !w.guard.closes();
    const bool is_nearer = distance && std::abs(*distance) < std::abs(before);
    if (!(slope < 0.0) || (!is_nearer && !is_first_look)) return end_motion(s, size);
    size = at_size;
    change = -*distance / slope;
  }
  return true;
}

bool EventDriven::advance(StepContext& s) {
  Work& w = *work_;
  const double left = s.h - w.done;
  w.motion.begin(w.state, left);
  if (!w.motion.rate(w.motion.start(), w.rate)) return false;
  if (watcher_ != nullptr) watcher_->begin_motion(w.motion);
  const bool is_adaptive = w.ode.has_error() && s.next_part > 0.0;
  double size = is_adaptive ? std::min(left, s.next_part) : left;
  if (w.ode.has_error()) size = std::min(size, 0.5 * w.motion.turning_time());
  if (size > 0.999 * left) size = left;
  if (!make_smooth_step(s, size)) return false;
  if (!w.motion.rate(w.motion.start(), w.v)) return false;
  const double share = find_event(s);
  const bool is_event = share <= 1.0;
  ++s.report.events.smooth_steps;
  if (is_event) size *= share;
  if (!(is_event ? end_at_event(s, size) : end_smoothly())) {
    // Nothing of a motion that has failed stays: another rule makes it from where it began.
    w.state.q = w.motion.base().q;
    w.state.v = w.motion.base().v;
    return false;
  }
  if (watcher_ != nullptr) {
    watcher_->end_motion(size, w.state);
    if (is_event) watcher_->event(w.motion, w.guard);
  }
  w.motion.keep_directions();
  const SmoothMotion::Work work = w.motion.work(w.ode.end());
  w.done_work.constraints += work.constraints;
  w.done_work.actuators += work.actuators;
  w.done_work.dampers += work.dampers;
  w.done_work.applied += work.applied;
  w.done = size < left ? w.done + size : s.h;
  w.state.time = s.state.time + w.done;
  if (is_event) {
    ++s.report.events.events;
    s.report.events.last = w.state.time;
    w.knows_modes = false;
  }
  return w.state.q.allFinite() && w.state.v.allFinite();
}

// The account of what was made so far.
EnergyAccount EventDriven::energy(StepContext& s) {
  const Work& w = *work_;
  const Energies after = s.meter.measure_all(s.model, s.parameters, w.state);
  EnergyAccount e;
  e.kinetic_before = w.before.kinetic;
  e.potential_before = w.before.potential;
  e.kinetic = after.kinetic;
  e.potential = after.potential;
  e.actuators = w.done_work.actuators;
  e.applied = w.done_work.applied;
  e.dampers = w.done_work.dampers;
  e.constraints = w.done_work.constraints;
  e.inelastic = w.impact_work;
  return e;
}

// Constraints at the end of the step, with the forces that act there.
void EventDriven::list_constraints(StepContext& s) {
  assemble_constraints(s.constraint_step(), s.constraints);
  stage::clear_impulses(s);
  work_->motion.survey().add_impulses(s, work_->motion.forces().forces(), s.h);
}

void EventDriven::finish(StepContext& s) {
  Work& w = *work_;
  const EnergyAccount account = s.watches_energy() ? energy(s) : EnergyAccount();
  // Modes and forces where the step ends: an event there belongs to the next one.
  w.motion.begin(w.state, s.h);
  if (!w.motion.rate(w.motion.start(), w.rate)) {
    s.report.status = StepStatus::kDiverged;
    return;
  }
  s.work.q = w.state.q;
  s.work.v = s.v_next = w.state.v;
  if (!compute_explicit_motion(s.model, s.parameters, s.work, s.input, s.h, s.data)) {
    s.report.status = StepStatus::kDiverged;
    return;
  }
  stage::detect(s);
  list_constraints(s);
  s.report.constraints = s.constraints.count();
  s.report.rows = s.constraints.rows();
  stage::compute_row_velocity(s);
  stage::finish_motion(s);
  s.acceleration = w.motion.forces().acceleration();
  stage::account(s);
  s.report.energy = account;
  s.report.warnings.energy_jump =
      s.watches_energy() &&
      is_energy_jump(account, s.options.watch.energy_jump, s.total_mass * s.parameters.gravity.norm() * 1e-3);
}

void EventDriven::fall_back(StepContext& s) {
  Work& w = *work_;
  StepReport earlier = s.report;
  earlier.status = StepStatus::kOk;
  ++earlier.events.fallbacks;
  earlier.warnings.event_fallback = true;
  if (s.watches_energy()) earlier.energy = energy(s);
  const double h = s.h, end = s.state.time + h;
  const bool is_begun = w.done > 0.0;
  if (w.state.q.allFinite() && w.state.v.allFinite()) {
    s.state.q = w.state.q;
    s.state.v = w.state.v;
    s.state.time += w.done;
    s.h = h - w.done;
  }
  fallback_.step(s);
  s.h = h;
  s.report.merge_earlier(earlier);
  if (s.report.status == StepStatus::kDiverged) return;
  if (is_begun) s.report.time = s.state.time = end;
}

}  // namespace touchstone
