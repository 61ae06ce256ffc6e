// The stages that sleep needs: `settle`, which tries to put islands to sleep and passes the time of what sleeps, and
// `wake` (sim/sleep.hpp).
#include <algorithm>
#include <cmath>

#include "touchstone/base/clock.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/sim/stages.hpp"

namespace touchstone::stage {
namespace {

// m/s^2: what accelerates faster from rest does not rest. Far above what solvers leave, far below what one sees.
constexpr double kLeastAcceleration = 1e-3;
// The certificate of a step from rest may be so many times the tolerance that the solver was asked for.
constexpr double kAccuracy = 10.0;
// 1/s, relative to an activation: what changes faster does not rest.
constexpr double kLeastActivationRate = 1e-6;

void compute_all_kinematics(StepContext& s) {
  s.data.scope.set_whole(s.model);
  forward_kinematics(s.model, s.parameters, s.state, s.data);
  forward_velocity(s.model, s.state.v, s.data);
  s.meter.place(s.model, s.parameters, s.state, s.data.scope);
  s.meter.forget();
  s.sleep.is_placed = true;
}

// The dynamics of what is awake from now on.
void update_scope(StepContext& s) {
  s.data.scope.set_whole(s.model);
  const double whole = potential_energy(s.model, s.parameters, s.state, s.data);
  s.data.scope.set(s.model, s.sleep.asleep());
  s.meter.set_scope(s.data.scope, whole - potential_energy(s.model, s.parameters, s.state, s.data));
  s.sleep.set_current();
  s.late.change_scope();
  // Nobody computes theirs from now on.
  for (VectorX* v : {&s.data.v_free, &s.v_next, &s.acceleration}) hold_resting(s, *v);
  s.copies_whole = true;
  list_resting_contacts(s);
}

// --- a trial ---

void zero_velocity(const StepContext& s, int tree, VectorX& v) {
  const int first = s.model.tree_first_dof[at(tree)];
  v.segment(first, s.model.tree_first_dof[at(tree + 1)] - first).setZero();
}

int tree_of(const Model& model, int body) { return model.body_kernels[at(body)].tree; }

// Groups grow by what the step finds together; who touches something that is not tried fails.
void join_contacts(const StepContext& s, SleepTrial& c) {
  for (const Contact& contact : s.contacts()) {
    const int a = tree_of(s.model, contact.body_a), b = tree_of(s.model, contact.body_b);
    if (a < 0 || b < 0) continue;
    if (c.others[at(a)] != 0 || c.others[at(b)] != 0) {
      c.failed[at(c.others[at(a)] != 0 ? b : a)] = 1;
    } else {
      c.groups.join(a, b);
    }
  }
}

bool stays_at_rest(const StepContext& s, int tree) {
  const double most = kLeastAcceleration * s.h;
  for (int i = s.model.tree_first_dof[at(tree)]; i < s.model.tree_first_dof[at(tree + 1)]; ++i) {
    if (!(std::abs(s.v_next[i]) * s.weights.dof_length[i] <= most)) return false;
  }
  return true;
}

void fail_moving_activations(StepContext& s, SleepTrial& c) {
  for (const int u : s.data.scope.actuators) {
    const int k = s.model.activation_index[at(u)];
    if (k < 0) continue;
    const double now = s.state.activation[k];
    const double next = next_activation(s.model.actuators[at(u)], now, s.data.activation_rate[k], s.h);
    if (std::abs(next - now) <= kLeastActivationRate * s.h * (1.0 + std::abs(now))) continue;
    for (int i = 0; i < s.model.nv; ++i) {
      if (s.data.actuator_moment(i, u) != 0.0) c.failed[at(s.model.dof_tree[at(i)])] = 1;
    }
  }
}

// What the position pass would move.
void fail_violated(StepContext& s, SleepTrial& c) {
  const StabilisationOptions& options = s.options.stabilisation;
  if (!options.any_passes() || !s.rules.is_exact || s.constraints.count() == 0) return;
  compute_row_velocity(s);
  const bool moved = run_pass(s, std::max(s.h, s.since_pass), s.detector.margin());
  for (const int tree : c.trees) {
    const int first = s.model.tree_first_dof[at(tree)], end = s.model.tree_first_dof[at(tree + 1)];
    if (moved && !s.pass.displacement().segment(first, end - first).isZero(0.0)) c.failed[at(tree)] = 1;
  }
}

void fail_unsolved(StepContext& s, SleepTrial& c) {
  if (s.constraints.count() == 0) return;
  const TreeIslands& islands = s.solver.islands();
  for (int i = 0; i < islands.count(); ++i) {
    const bool is_accurate =
        !s.rules.is_exact || s.solver.residuals(i).natv_relative <= kAccuracy * s.options.tolerance;
    if (s.solver.status(i) == SolveStatus::kSolved && is_accurate) continue;
    for (const int tree : islands[i].trees) c.failed[at(tree)] = 1;
  }
}

// One step of the candidates alone, up to the velocity after it. False if it could not be made.
bool solve_from_rest(StepContext& s, SleepTrial& c) {
  s.data.scope.set(s.model, c.others);
  begin(s, 0.0);
  s.meter.forget();  // its kinematics is that of another scope
  if (!free_motion(s)) return false;
  detect(s);
  join_contacts(s, c);
  assemble(s);
  solve(s);
  bound_servos(s);
  for (const Constraint& constraint : s.constraints.list) {
    for (int i = 1; i < constraint.part_count; ++i) {
      c.groups.join(s.constraints.parts[at(constraint.first_part)].tree,
                    s.constraints.parts[at(constraint.first_part + i)].tree);
    }
  }
  for (const int tree : c.trees) {
    if (!stays_at_rest(s, tree)) c.failed[at(tree)] = 1;
  }
  fail_unsolved(s, c);
  fail_violated(s, c);
  fail_moving_activations(s, c);
  return s.report.status != StepStatus::kDiverged;
}

// --- what is kept of it ---

void keep_block(StepContext& s, int block, SleepingIsland& island) {
  const Constraints& c = s.constraints;
  const Constraint& constraint = c.list[at(block)];
  const double* rows = s.lambda.data() + c.blocks.row[at(block)];
  const bool is_contact = constraint.kind == ConstraintKind::kContact;
  double& worst = is_contact ? island.penetration : island.violation;
  worst = std::max(worst, violation_of(c, block));
  if (is_contact) {
    const Contact& contact = s.contacts()[at(constraint.index)];
    island.contacts.push_back(contact);
    island.forces.push_back(contact_force(s, contact, block));
    for (const int body : {contact.body_a, contact.body_b}) {
      if (s.sleep.carrier_of(body) >= 0) island.mocaps.push_back(s.sleep.carrier_of(body));
    }
  }
  if (constraint.kind == ConstraintKind::kJointLimit) {
    island.limits.push_back({constraint.index, c.position[at(c.blocks.row[at(block)])], rows[0] / s.h});
  }
  PairWrench wrench;
  const ConstraintScene scene{s.model, s.data, s.contacts(), s.rules};
  if (!entry_of(constraint.kind).wrench(scene, constraint, rows, wrench)) return;
  wrench.force = wrench.force * (1.0 / s.h);
  wrench.torque = wrench.torque * (1.0 / s.h);
  island.wrenches.push_back(wrench);
}

// Of the step, for each group that sleeps now.
void keep_step(StepContext& s, SleepTrial& c) {
  for (int block = 0; block < s.constraints.count(); ++block) {
    const Constraint& constraint = s.constraints.list[at(block)];
    if (constraint.part_count == 0) continue;
    const int owner = c.owner[at(c.groups.root(s.constraints.parts[at(constraint.first_part)].tree))];
    if (owner < 0) continue;
    keep_block(s, block, s.sleep.island(owner));
    s.cache.keep(s.constraints, s.contacts(), s.lambda, s.u, {&block, 1}, owner);
  }
  const TreeIslands& islands = s.solver.islands();
  for (int i = 0; s.constraints.count() > 0 && i < islands.count(); ++i) {
    for (const int tree : islands[i].trees) {
      const int owner = c.owner[at(c.groups.root(tree))];
      if (owner >= 0) keep_worst(s.solver.residuals(i), s.sleep.island(owner).residuals);
    }
  }
}

void begin_trial(StepContext& s, SleepTrial& c) {
  c.trees.assign(s.sleep.due().begin(), s.sleep.due().end());
  c.others.assign(at(s.model.ntree), 1);
  c.failed.assign(at(s.model.ntree), 0);
  c.groups = s.sleep.groups();
  c.moving = s.state.v;
  for (const int tree : c.trees) {
    c.others[at(tree)] = 0;
    c.failed[at(tree)] = s.sleep.is_slow(tree, s.state.v, s.weights.dof_length) ? 0 : 1;
    zero_velocity(s, tree, s.state.v);
  }
}

void end_trial(StepContext& s, SleepTrial& c) {
  std::sort(c.trees.begin(), c.trees.end(), [&](int a, int b) {
    const int p = c.groups.root(a), q = c.groups.root(b);
    return p != q ? p < q : a < b;
  });
  c.owner.assign(at(s.model.ntree), -1);
  for (auto first = c.trees.begin(); first != c.trees.end();) {
    const int group = c.groups.root(*first);
    const auto end = std::find_if(first, c.trees.end(), [&](int tree) { return c.groups.root(tree) != group; });
    if (c.failed[at(group)] != 0) {
      s.sleep.refuse({first, end});
    } else {
      c.owner[at(group)] = s.sleep.accept({first, end}, s.state.time);
      for (auto tree = first; tree != end; ++tree) zero_velocity(s, *tree, s.state.v);
    }
    first = end;
  }
  keep_step(s, c);
}

void try_sleep(StepContext& s) {
  SleepTrial& c = s.trial;
  begin_trial(s, c);
  const bool solved = solve_from_rest(s, c);
  for (const int tree : c.trees) {
    if (!solved || c.failed[at(tree)] != 0) c.failed[at(c.groups.root(tree))] = 1;
  }
  s.state.v = c.moving;
  end_trial(s, c);
  // Both workspaces that steps exchange know where the sleepers are.
  forward_kinematics(s.model, s.parameters, s.state, s.data);
  s.meter.place(s.model, s.parameters, s.state, s.data.scope);
  s.settle_times.add(s.report.times);
  s.sleep.end_trial(s.state, s.input, s.parameters);
  update_scope(s);
}

// --- a step of sleepers alone ---

void begin_rest(StepContext& s) {
  s.work = s.before = s.state;
  s.has_before = true;
  s.v_next.setZero();
  s.acceleration.setZero();
  s.constraints.clear();
  s.contact_forces.resize(s.resting_contacts);
  s.recovery_reach = 0.0;
  s.resting_report = StepReport();
  if (s.options.watch.energy) {
    const Energies energies = s.meter.measure(s.model, s.parameters, s.state);
    EnergyAccount& e = s.resting_report.energy;
    e.kinetic = e.kinetic_before = energies.kinetic;
    e.potential = e.potential_before = energies.potential;
  }
  add_sleep(s.sleep, s.resting_report);
  s.is_resting = true;
}

void pass_time(StepContext& s) {
  const Stopwatch watch;
  if (!s.is_resting) begin_rest(s);
  s.before.time = s.state.time;
  s.state.time += s.h;
  s.report = s.resting_report;
  s.report.sleep = s.sleep.total();
  s.report.time = s.state.time;
  s.sensors_known = false;
  s.sleep.end_step();
  s.report.times.integrate = watch.seconds();
}

}  // namespace

void list_resting_contacts(StepContext& s) {
  s.contact_forces.clear();
  for (const SleepingIsland& island : s.sleep.islands()) {
    for (std::size_t k = 0; k < island.contacts.size() && !island.trees.empty(); ++k) {
      s.contact_forces.push_back(island.forces[k]);
      s.contact_forces.back().contact = &island.contacts[k];
    }
  }
  s.resting_contacts = s.contact_forces.size();
}

bool settle(StepContext& s) {
  s.settle_times = {};
  if (!s.sleep.is_enabled()) return false;
  s.sleep.wake_changed(s.model, s.state, s.input, s.parameters,
                       {s.lent.state, s.lent.input, s.lent.parameters, s.has_before ? &s.before.mocap : nullptr},
                       s.cache);
  if (!s.sleep.is_placed) compute_all_kinematics(s);
  if (!s.sleep.due().empty()) try_sleep(s);
  if (!s.sleep.is_current()) update_scope(s);
  if (!s.sleep.all() || mocap_moves(s)) return false;
  pass_time(s);
  return true;
}

bool wake(StepContext& s) {
  if (!s.sleep.any() || !s.sleep.wake_touched(s.model, s.contacts(), s.cache)) return false;
  update_scope(s);
  return true;
}

}  // namespace touchstone::stage
