#include "touchstone/sim/stages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/assemble.hpp"
#include "touchstone/sim/constraints/contact.hpp"
#include "touchstone/sim/constraints/kinds.hpp"

namespace touchstone::stage {
namespace {

// How the user has moved mocap bodies since the step before.
void find_mocap_velocity(StepContext& s) {
  s.mocap_velocity.assign(at(s.model.nmocap), {});
  for (std::size_t k = 0; k < s.mocap_velocity.size() && s.has_before; ++k) {
    const Transform &old = s.before.mocap[k], &now = s.state.mocap[k];
    const Vector3 turn = so3_log((now.rotation * old.rotation.conjugate()).normalized());
    s.mocap_velocity[k] = {Vec3(now.position), Vec3(Vector3((now.position - old.position) / s.h)),
                           Vec3(Vector3(turn / s.h))};
  }
}

// Whether the velocity is what the step before has left: then it obeys the loops.
bool follows_itself(const StepContext& s) {
  return s.model.nmocap == 0 && s.rules.is_exact && s.left_velocity.head(s.model.nv) == s.state.v;
}

// Puts the new velocity before the older ones of the same motion, which midpoint rules look at.
void leave_velocity(StepContext& s) {
  const Eigen::Index n = s.model.nv;
  VectorX& left = s.left_velocity;
  if (s.loop_velocity != nullptr) {
    for (Eigen::Index k = 3; k > 0; --k) left.segment(k * n, n) = left.segment((k - 1) * n, n);
  } else if (n > 0 && !std::isnan(left[n])) {
    left.tail(3 * n).setConstant(std::numeric_limits<double>::quiet_NaN());
  }
  if (s.copies_whole) {
    left.head(n) = s.state.v;
  } else {
    over(s.data.scope.dofs, [&](int i, int count) { left.segment(i, count) = s.state.v.segment(i, count); });
  }
}

// What is outside of the scope is the same in both, unless it has changed since.
void copy_state(const StepContext& s, const State& from, State& to) {
  if (s.copies_whole) {
    to = from;
    return;
  }
  copy_ranges(s.data.scope.coordinates, from.q, to.q);
  copy_ranges(s.data.scope.dofs, from.v, to.v);
  to.activation = from.activation;
  to.time = from.time;
  to.mocap = from.mocap;
  to.loop_q = from.loop_q;
}

}  // namespace

bool mocap_moves(const StepContext& s) {
  if (!s.has_before) return s.model.nmocap > 0;
  return !std::equal(s.state.mocap.begin(), s.state.mocap.end(), s.before.mocap.begin(),
                     [](const Transform& now, const Transform& old) { return !differs(now, old); });
}

void hold_resting(const StepContext& s, VectorX& v) {
  for (const IndexRange& range : s.data.scope.resting_dofs) v.segment(range.begin, range.end - range.begin).setZero();
}

void begin_parts(StepContext& s) {
  s.mocap_to.assign(s.state.mocap.begin(), s.state.mocap.end());
  const std::vector<Transform>& from = s.has_before ? s.before.mocap : s.state.mocap;
  s.mocap_from.assign(from.begin(), from.end());
}

void move_mocap(StepContext& s, double share) {
  for (std::size_t k = 0; k < s.mocap_to.size(); ++k) {
    const Transform &from = s.mocap_from[k], &to = s.mocap_to[k];
    const bool is_jump = !((to.position - from.position).norm() < kFastestMocap * s.duration);
    Transform& pose = s.state.mocap[k];
    pose = to;
    if (is_jump || share >= 1.0) continue;
    pose.position = from.position + share * (to.position - from.position);
    if (from.rotation.coeffs() == to.rotation.coeffs()) continue;
    pose.rotation = so3_interpolate(from.rotation.normalized(), to.rotation.normalized(), share);
  }
}

void begin(StepContext& s, double ahead) {
  s.remaining = ahead > 0.0 ? (1.0 - ahead) * s.h : s.h;
  s.report = StepReport();
  s.solver.begin_step();
  s.report.time = s.state.time;  // unless the step comes to its end
  s.contact_forces.resize(s.resting_contacts);
  s.is_resting = false;
  copy_state(s, s.state, s.work);
  find_mocap_velocity(s);
  if (ahead > 0.0) touchstone::integrate(s.model, s.data.scope.joints, s.state.q, s.state.v, ahead * s.h, s.work.q);
  s.loop_velocity = ahead > 0.0 && follows_itself(s) ? &s.state.v : nullptr;
}

bool free_motion(StepContext& s, SpringRule springs) {
  s.clock.start();
  s.kinematics = s.meter.lend(s.parameters, s.work, s.data) ? Kinematics::kKnown : Kinematics::kNew;
  const bool made = s.rules.free_motion(s, springs);
  const bool ok = made && finite_ranges(s.data.scope.dofs, s.data.v_free);
  s.report.times.dynamics += s.clock.lap();
  if (!ok) s.report.status = StepStatus::kDiverged;
  return ok;
}

void detect(StepContext& s) {
  s.clock.start();
  if (s.model.options.contacts_enabled) {
    // Rules that do not look ahead have no use for what is not near yet.
    const double ahead = s.options.swept_margin && s.rules.looks_ahead ? s.h : 0.0;
    s.detector.detect(s.parameters, s.data, ahead, s.recovery_reach, mocap_moves(s));
    s.report.warnings.contacts_left_out |= s.detector.counts().shortened > 0;
  }
  s.report.times.collision = s.clock.lap();
}

void clear_impulses(StepContext& s) {
  const int rows = s.constraints.rows();
  const auto clear = [&](VectorX& x, double value) {
    if (x.size() < rows) {
      x.setConstant(2 * rows, value);
    } else {
      x.head(std::max(rows, s.used_rows)).setConstant(value);
    }
  };
  clear(s.lambda, 0.0);
  clear(s.u, std::numeric_limits<double>::quiet_NaN());
  s.used_rows = rows;
}

namespace {

// Impulses and velocities that the solver starts from.
void take_warm_start(StepContext& s) {
  clear_impulses(s);
  if (s.options.warm_start) s.cache.recall(s.constraints, s.contacts(), s.lambda, s.u);
}

}  // namespace

void assemble(StepContext& s) {
  s.clock.start();
  assemble_constraints(s.constraint_step(), s.constraints);
  if (!s.data.long_trees.used) solve_constraint_rows(s.model, s.data.scope, s.data.L, s.data.D_inverse, s.constraints);
  take_warm_start(s);
  s.report.constraints = s.constraints.count();
  s.report.rows = s.constraints.rows();
  s.report.times.assembly += s.clock.lap();
}

namespace {

// Solves in which what closes after all takes part, before everything does.
constexpr int kLeftOutRounds = 3;

void solve_islands(StepContext& s) {
  const IslandSolver::Step step{s.model,          s.data, s.constraints,      s.h, s.lambda, &s.work.v,
                                s.rules.is_exact, &s.u,   s.left_out.blocks()};
  const int islands = s.solver.begin(step, s.report);
  s.report.times.assembly += s.clock.lap();
  double wall_seconds = 0.0;
  if (s.solver.pool() != nullptr) {
    s.solver.pool()->run(islands, [&](int island, int thread) { s.solver.solve_island(island, thread, step); });
    wall_seconds = s.clock.lap();
  } else {
    for (int island = 0; island < islands; ++island) s.solver.solve_island(island, 0, step, s.clock);
  }
  s.solver.finish(wall_seconds, s.report);
}

}  // namespace

void solve(StepContext& s) {
  s.clock.start();
  s.left_out.clear();
  const bool may_leave_out = s.rules.is_exact && s.solver.may_leave_out() && !s.data.long_trees.used;
  bool leaves_out = may_leave_out && s.left_out.choose(s.constraints, s.lambda, s.u, s.h);
  if (s.constraints.count() > 0) solve_islands(s);
  s.rules.advance_velocity(s);
  for (int round = 1; leaves_out; ++round) {
    const bool has_failed = s.report.status != StepStatus::kOk;
    if (!has_failed && s.left_out.admit_closing(s.model, s.constraints, s.v_next, s.u)) break;
    leaves_out = !has_failed && round < kLeftOutRounds;
    if (!leaves_out) s.left_out.clear();
    s.report.forget_solve();
    if (has_failed) take_warm_start(s);
    solve_islands(s);
    s.rules.advance_velocity(s);
  }
  s.report.times.solve += s.clock.lap();
}

bool find_exceeding_servos(StepContext& s) {
  return s.rules.implicit_forces && bound_exceeding_servos(s.model, s.state.v, s.v_next, s.h, s.data) &&
         repeat_free_motion(s.model, s.work, s.h, s.data);
}

void bound_servos(StepContext& s) {
  bound_servos(s, [] {});
}

void integrate(StepContext& s) {
  s.clock.start();
  touchstone::integrate(s.model, s.data.scope.joints, s.work.q, s.v_next, s.remaining, s.work.q);
  recover(s);
  finish_motion(s);
  s.report.times.integrate = s.clock.lap();
}

void compute_row_velocity(StepContext& s) {
  if (s.row_velocity.size() < s.constraints.rows()) s.row_velocity.resize(2 * s.constraints.rows());
  constraint_velocity(s.model, s.constraints, s.v_next, s.row_velocity);
}

bool run_pass(StepContext& s, double time, double reach) {
  return s.pass.run({.model = s.model,
                     .parameters = s.parameters,
                     .data = s.data,
                     .constraints = s.constraints,
                     .islands = s.solver.islands(),
                     .next_velocity = s.row_velocity,
                     .dof_length = s.weights.dof_length,
                     .time = time,
                     .remaining = s.remaining,
                     .reach = reach,
                     .options = s.options.stabilisation});
}

namespace {

// Energy of what is to be moved, with the new velocity; `placed` has its kinematics.
void note_energy(StepContext& s, Data* placed) {
  s.report.recovered = true;
  if (!s.watches_energy()) return;
  s.work.v = s.v_next;
  const Energies energies = placed != nullptr ? s.meter.energies(s.model, s.parameters, s.work, *placed)
                                              : s.meter.measure(s.model, s.parameters, s.work);
  s.energy_before_pass = energies.kinetic + energies.potential;
}

// Until loops are closed where the configuration is now: by the factors of the step, else by the pass again on them
// alone.
void close_loops(StepContext& s, bool moved) {
  constexpr int kMostIterations = 10, kMostQuick = 4;
  LoopClosure& closure = *s.closure;
  Data& data = closure.data();
  ClosureSettings settings{
      .tolerance = s.options.stabilisation.loop_tolerance, .max_iterations = kMostQuick, .limits = false};
  const bool is_whole = s.data.scope.is_whole() && data.scope.is_whole();
  if (!is_whole) data.scope = s.data.scope;
  closure.measure(s.parameters, s.weights, s.work);
  ClosureResult result{.closed = closure.error() <= settings.tolerance, .error = closure.error()};
  if (!result.closed) {
    if (!moved) note_energy(s, &data);
    const IslandSolver::Step step{s.model, s.data, s.constraints, s.h, s.lambda};
    result = closure.follow({step, s.solver}, s.parameters, s.weights, settings, s.work);
  }
  if (!result.closed) {
    data.L = s.data.L;
    data.D_inverse = s.data.D_inverse;
    if (s.data.long_trees.used) data.long_trees = s.data.long_trees;
    settings.max_iterations = kMostIterations;
    result = closure.run(s.parameters, s.weights, settings, s.work);
  }
  s.report.loop_error = result.error;
  s.report.warnings.recovery_conflict = s.report.warnings.recovery_conflict || !result.closed;
  // What sleeps is placed by those who keep it.
  if (is_whole && s.at_start() && s.watches_energy()) s.meter.adopt(s.parameters, s.work, data);
}

}  // namespace

void recover(StepContext& s) {
  if (s.constraints.count() == 0) s.recovery_reach = 0.0;
  const Scope& scope = s.data.scope;
  if (s.constraints.count() == 0) return;
  if (!finite_ranges(scope.coordinates, s.work.q) || !finite_ranges(scope.dofs, s.v_next)) return;
  compute_row_velocity(s);
  const StabilisationOptions& options = s.options.stabilisation;
  if (!options.any_passes() || !s.rules.is_exact) return;
  // Short steps need no pass each, but every step lets equalities drift.
  const bool has_loops =
      options.passes(StabilisedKind::kLoop) && !(s.model.equalities.empty() && s.model.loop_joints.empty());
  const double interval = !has_loops ? std::max(s.h, 0.5 * options.time_constant) : s.h;
  s.since_pass = std::min(s.since_pass + s.h, interval);
  if (s.since_pass < interval - 0.5 * s.h) return;
  // Margins are for both bodies of a contact; farther is a motion that the next steps look ahead for.
  const double margin = s.detector.margin(), reach = std::max(s.recovery_reach, 0.5 * margin);
  s.recovery_reach = 0.0;
  const bool moved = run_pass(s, s.since_pass, reach);
  s.report.recovery_residual = s.pass.residual();
  s.report.hindered_block = s.pass.hindered();
  s.report.warnings.recovery_conflict = s.report.warnings.recovery_conflict || s.pass.hindered() >= 0;
  if (moved) {
    note_energy(s, nullptr);
    s.since_pass = 0.0;
    if (s.pass.farthest() > 0.25 * margin) s.recovery_reach = options.recovery_speed * interval;
    touchstone::integrate(s.model, s.data.scope.joints, s.work.q, s.pass.displacement(), 1.0, s.work.q);
  }
  if (s.closure) close_loops(s, moved);
}

namespace {

// Numbers that grow from step to step are no motion long before they are infinite. Not true of a NaN.
bool is_bounded(std::span<const IndexRange> ranges, const VectorX& x) {
  return std::all_of(ranges.begin(), ranges.end(), [&](const IndexRange& range) {
    return (x.segment(range.begin, range.end - range.begin).array().abs() <= kLargestState).all();
  });
}

}  // namespace

void finish_motion(StepContext& s) {
  const Scope& scope = s.data.scope;
  const bool bounded = is_bounded(scope.coordinates, s.work.q) && is_bounded(scope.dofs, s.v_next);
  if (!bounded || s.report.status == StepStatus::kDiverged) {
    s.report.status = StepStatus::kDiverged;
    return;
  }
  copy_ranges(scope.dofs, s.v_next, s.work.v);
  for (const int u : s.data.scope.actuators) {
    const int k = s.model.activation_index[at(u)];
    if (k < 0) continue;
    const double rate = s.data.activation_rate[k];
    s.work.activation[k] = next_activation(s.model.actuators[at(u)], s.state.activation[k], rate, s.h);
  }
  remember_loop_joints(s.model, s.data, s.work);
  s.work.time = s.state.time + s.h;
  copy_state(s, s.state, s.before);
  s.has_before = true;
  copy_state(s, s.work, s.state);
  leave_velocity(s);
  s.copies_whole = false;
  s.rules.read_forces(s);
}

ContactForce contact_force(const StepContext& s, const Contact& contact, int block) {
  const double rate = 1.0 / s.h;
  const int m = s.constraints.blocks.size(block);
  const double* rows = s.lambda.data() + s.constraints.blocks.row[at(block)];
  const ContactImpulse impulse = to_world(contact, rows);
  ContactForce f;
  f.contact = &contact;
  f.force = rate * impulse.force;
  f.torque = rate * impulse.torque;
  f.local_force = rate * Vec3(m > 1 ? rows[0] : 0.0, m > 1 ? rows[1] : 0.0, rows[m - 1]);
  return f;
}

namespace {

void fill_contact_forces(StepContext& s) {
  const std::span<const Contact> contacts = s.contacts();
  const Constraints& c = s.constraints;
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    if (constraint.kind == ConstraintKind::kContact)
      s.contact_forces.push_back(contact_force(s, contacts[at(constraint.index)], block));
  }
}

void watch_energy(StepContext& s) {
  const StepMotion motion{s.before,          s.state,  s.input,        s.h,
                          s.constraints,     s.lambda, s.row_velocity, s.options.stabilisation.restitution_threshold,
                          !s.lent.parameters};
  s.report.energy = s.meter.account(s.model, s.parameters, motion, s.at_start(), s.data);
  if (s.report.recovered) s.report.energy.stabilisation += s.report.energy.total() - s.energy_before_pass;
  const double g_h = s.parameters.gravity.norm() * s.h;
  s.report.warnings.energy_jump =
      is_energy_jump(s.report.energy, s.options.watch.energy_jump, s.total_mass * g_h * g_h);
}

void account_sleep(StepContext& s) {
  s.sleep.watch(s.model, s.data, s.weights.body_length, s.constraints, s.h);
  add_sleep(s.sleep, s.report);
  s.sleep.end_step();
}

}  // namespace

void account(StepContext& s) {
  s.clock.start();
  const std::span<const Contact> contacts = s.contacts();
  StepReport& report = s.report;
  const bool is_watched = s.watches_energy() && report.status != StepStatus::kDiverged;
  if (is_watched && s.at_start()) {  // this kinematics is the next step's
    s.meter.move_to(s.model, s.parameters, s.state);
    report.times.dynamics += s.clock.lap();
  }
  s.cache.store(s.constraints, contacts, s.lambda, s.u);
  report.time = s.state.time;
  for (int block = 0; block < s.constraints.count(); ++block) {
    const bool is_contact = s.constraints.list[at(block)].kind == ConstraintKind::kContact;
    report.contacts += is_contact ? 1 : 0;
    double& worst = is_contact ? report.penetration : report.violation;
    worst = std::max(worst, violation_of(s.constraints, block));
  }
  report.warnings.deep_penetration = report.penetration > s.options.watch.penetration;
  report.cycling_actuator = s.cycles.update(s.model, s.data.actuator_velocity, s.actuator_force, s.input.control, s.h);
  report.warnings.limit_cycle = report.cycling_actuator >= 0;
  report.immovable = static_cast<int>(contacts.size()) - report.contacts;
  fill_contact_forces(s);
  if (s.sleep.is_enabled()) account_sleep(s);
  s.sensors_known = false;
  if (is_watched) watch_energy(s);
  report.times.certify += s.clock.lap();
}

}  // namespace touchstone::stage
