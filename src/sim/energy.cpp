#include "touchstone/sim/energy.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/sim/constraints/kinds.hpp"

namespace touchstone {

namespace {

bool same(const std::vector<Transform>& a, const std::vector<Transform>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Transform& x, const Transform& y) {
    return x.position == y.position && x.rotation.coeffs() == y.rotation.coeffs();
  });
}

// The centre of mass is all that kinematics has to do with inertia.
bool same(std::span<const IndexRange> bodies, const std::vector<BodyInertia>& a, const std::vector<BodyInertia>& b) {
  for (const IndexRange& range : bodies) {
    for (int i = range.begin; i < range.end; ++i) {
      const Vec3 &x = a[at(i)].com, &y = b[at(i)].com;
      if (x.x() != y.x() || x.y() != y.y() || x.z() != y.z()) return false;
    }
  }
  return true;
}

// What forward_kinematics fills in.
void swap_kinematics(Data& a, Data& b) {
  a.angle.swap(b.angle);
  a.angle_sine.swap(b.angle_sine);
  a.angle_cosine.swap(b.angle_cosine);
  a.X_WB.swap(b.X_WB);
  a.reference_point.swap(b.reference_point);
  a.body_com.swap(b.body_com);
  a.S.swap(b.S);
}

}  // namespace

bool EnergyMeter::knows(const Parameters& parameters, const State& state) const {
  const Scope& scope = data_.scope;
  return known_ && equal_ranges(scope.coordinates, q_, state.q) && same(mocap_, state.mocap) &&
         same(scope.bodies, inertia_, parameters.body_inertia);
}

void EnergyMeter::remember(const Parameters& parameters, const State& state) {
  if (q_.size() != state.q.size()) q_ = state.q;
  copy_ranges(data_.scope.coordinates, state.q, q_);
  mocap_.assign(state.mocap.begin(), state.mocap.end());
  const bool is_first = inertia_.size() != parameters.body_inertia.size();
  if (is_first || !same(data_.scope.bodies, inertia_, parameters.body_inertia)) {
    inertia_.assign(parameters.body_inertia.begin(), parameters.body_inertia.end());
  }
  known_ = true;
  knows_end_ = false;
}

void EnergyMeter::move_to(const Model& model, const Parameters& parameters, const State& state) {
  knows_end_ = false;
  if (knows(parameters, state)) return;
  forward_kinematics(model, parameters, state, data_);
  remember(parameters, state);
}

void EnergyMeter::adopt(const Parameters& parameters, const State& state, Data& placed) {
  swap_kinematics(placed, data_);
  remember(parameters, state);
}

void EnergyMeter::place(const Model& model, const Parameters& parameters, const State& state, const Scope& scope) {
  data_.scope = scope;
  forward_kinematics(model, parameters, state, data_);
}

Energies EnergyMeter::energies(const Model& model, const Parameters& parameters, const State& state,
                               Data& placed) const {
  forward_velocity(model, state.v, placed);
  return {kinetic_energy(model, parameters, state.v, placed),
          potential_energy(model, parameters, state, placed) + resting_potential_};
}

Energies EnergyMeter::measure(const Model& model, const Parameters& parameters, const State& state) {
  move_to(model, parameters, state);
  return energies(model, parameters, state, data_);
}

Energies EnergyMeter::measure_all(const Model& model, const Parameters& parameters, const State& state) {
  if (data_.scope.is_whole()) return measure(model, parameters, state);
  const Scope scope = data_.scope;
  const double resting_potential = resting_potential_;
  data_.scope.set_whole(model);
  resting_potential_ = 0.0;
  known_ = false;  // of all bodies
  const Energies result = measure(model, parameters, state);
  set_scope(scope, resting_potential);
  return result;
}

bool EnergyMeter::lend(const Parameters& parameters, const State& state, Data& data) {
  starts_there_ = false;
  if (!knows(parameters, state)) return false;
  swap_kinematics(data, data_);
  known_ = false;
  starts_there_ = knows_end_ && equal_ranges(data_.scope.dofs, v_end_, state.v);
  return true;
}

EnergyAccount EnergyMeter::account(const Model& model, const Parameters& parameters, const StepMotion& motion,
                                   bool at_start, const Data& data) {
  EnergyAccount e;
  const VectorX &v = motion.before.v, &v_next = motion.after.v;
  const auto at_place = [&] {
    if (starts_there_ && motion.keeps_parameters) return end_;
    return Energies{kinetic_energy(model, parameters, v, data),
                    potential_energy(model, parameters, motion.before, data) + resting_potential_};
  };
  const Energies start = at_start ? at_place() : measure(model, parameters, motion.before);
  const Energies end =
      at_start ? energies(model, parameters, motion.after, data_) : measure(model, parameters, motion.after);
  if (at_start) {
    end_ = end;
    if (v_end_.size() != v_next.size()) v_end_ = v_next;
    copy_ranges(data_.scope.dofs, v_next, v_end_);
    knows_end_ = true;
  }
  e.kinetic_before = start.kinetic;
  e.potential_before = start.potential;
  e.kinetic = end.kinetic;
  e.potential = end.potential;

  // The change of kinetic energy in a step is the impulse times the mean of both velocities.
  const std::span<const IndexRange> dofs = data.scope.dofs;
  over(dofs, [&](int i, int n) { mean_.segment(i, n) = 0.5 * (v.segment(i, n) + v_next.segment(i, n)); });
  actuator_impulse(model, data, v, v_next, motion.h, impulse_);
  e.actuators = dot_ranges(dofs, impulse_, mean_);
  damper_impulse(model, parameters, data, v_next, motion.h, impulse_);
  e.dampers = dot_ranges(dofs, impulse_, mean_);
  copy_ranges(dofs, motion.input.applied_force, impulse_);
  add_applied_wrenches(model, parameters, motion.input.applied_wrench, data, impulse_);
  e.applied = motion.h * dot_ranges(dofs, impulse_, mean_);
  if (passive_compensation(model, parameters, data, impulse_))
    e.actuators += motion.h * dot_ranges(dofs, impulse_, mean_);

  add_constraint_work(model, motion, e);
  return e;
}

void EnergyMeter::add_constraint_work(const Model& model, const StepMotion& motion, EnergyAccount& e) {
  const Constraints& c = motion.constraints;
  for (int block = 0; block < c.count(); ++block) {
    const KindEntry& kind = entry_of(c.list[at(block)].kind);
    const int first = c.blocks.row[at(block)], last = c.blocks.row[at(block + 1)] - 1;
    if (kind.kind == ConstraintKind::kLoopSpring) {
      const double mean = 0.5 * (c.velocity[first] + motion.next_velocity[first]);
      e.dampers -= motion.h * loop_damping(model, c.list[at(block)].index) * motion.next_velocity[first] * mean;
    }
    if (kind.work == Work::kElsewhere) continue;
    const bool one_sided = kind.violation == Violation::kOverlap || kind.violation == Violation::kOneSided;
    const bool is_impact = one_sided && c.velocity[last] < -motion.impact_speed;
    for (int r = first; r <= last; ++r) {
      const double before = 0.5 * motion.lambda[r] * c.velocity[r],
                   after = 0.5 * motion.lambda[r] * motion.next_velocity[r];
      // A constraint that is being brought back does positive work on that account alone, also while it slows down.
      const double stabilisation = c.recovery[r] != 0.0 ? std::max(0.0, before) + std::max(0.0, after) : 0.0;
      // A surface that moves on its own does what friction takes and the bodies gain.
      const double surface = -motion.lambda[r] * c.surface(r);
      const double rest = before + after - stabilisation - surface;
      e.stabilisation += stabilisation;
      e.surfaces += surface;
      (kind.work == Work::kActuator ? e.actuators : is_impact ? e.inelastic : e.constraints) += rest;
    }
  }
}

bool is_energy_jump(const EnergyAccount& energy, double share, double floor) {
  return energy.error() > share * std::max(energy.kinetic_before, energy.kinetic) + floor;
}

}  // namespace touchstone
