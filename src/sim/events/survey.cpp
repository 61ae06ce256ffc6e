#include "touchstone/sim/events/survey.hpp"

#include <algorithm>
#include <limits>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/assemble.hpp"
#include "touchstone/sim/constraints/contact.hpp"

namespace touchstone {
namespace {

void ensure_size(VectorX& v, int size) {
  if (v.size() < size) v.resize(2 * size);
}

// Of the same pair, not yet taken, the nearest.
const Contact* nearest(std::span<const Contact> contacts, const Contact& wanted, std::span<const Contact> taken) {
  const Contact* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Contact& contact : contacts) {
    if (contact.shape_a != wanted.shape_a || contact.shape_b != wanted.shape_b) continue;
    const WarmStartKey key = key_of(contact);
    if (std::any_of(taken.begin(), taken.end(), [&](const Contact& t) { return key_of(t) == key; })) continue;
    const Vec3 way = contact.position - wanted.position;
    if (const double distance = dot(way, way); distance < least) {
      least = distance;
      best = &contact;
    }
  }
  return best;
}

}  // namespace

WarmStartKey key_of(const Contact& contact) { return ContactKind::key({&contact, 1}, Constraint()); }

Survey::Survey(const StepContext& s)
    : state(s.state), data(s.model), a_free(VectorX::Zero(s.model.nv)), nv_(s.model.nv) {
  std::fill(data.servo_mode.begin(), data.servo_mode.end(), ServoMode::kExplicit);
  data.tendon_block_gain.setZero();
}

void Survey::place(StepContext& s, const State& at_state, double reach) {
  state = at_state;
  forward_kinematics(s.model, s.parameters, state, data);
  forward_velocity(s.model, state.v, data);
  compute_tendons(s.model, state.q, state.v, data);
  data.v_free = state.v;
  detect(s, reach, 0.0);
}

bool Survey::look(StepContext& s, const State& at_state, double reach, double extra) {
  state = at_state;
  if (!forward_dynamics(s.model, s.parameters, state, s.input, data, a_free)) return false;
  data.v_free = state.v;
  detect(s, reach, extra);
  return a_free.allFinite();
}

void Survey::detect(StepContext& s, double reach, double extra) {
  if (s.model.options.contacts_enabled) s.detector.detect(s.parameters, data, reach, extra, true);
  const std::span<const Contact> found = s.contacts();
  seen.assign(found.begin(), found.end());
}

void Survey::take_touching(StepContext& s, double tolerance) {
  contacts.clear();
  for (const Contact& contact : seen) {
    if (contact.distance - contact.margin <= tolerance) contacts.push_back(contact);
  }
  lost_.assign(contacts.size(), 0);
  write_rows(s);
}

void Survey::take_same(StepContext& s, const Survey& first) {
  contacts.clear();
  lost_.assign(first.contacts.size(), 0);
  for (std::size_t i = 0; i < first.contacts.size(); ++i) {
    const Contact& wanted = first.contacts[i];
    const WarmStartKey key = key_of(wanted);
    const auto found =
        std::find_if(seen.begin(), seen.end(), [&](const Contact& contact) { return key_of(contact) == key; });
    const Contact* contact = found != seen.end() ? &*found : nearest(seen, wanted, first.contacts);
    lost_[i] = contact == nullptr ? 1 : 0;
    contacts.push_back(contact != nullptr ? *contact : wanted);
  }
  write_rows(s);
}

void Survey::write_rows(StepContext& s) {
  const ConstraintStep step{{s.model, data, contacts, s.rules},
                            s.parameters,
                            state,
                            s.weights,
                            1.0,  // dry friction has forces for bounds
                            1.0,
                            s.options.stabilisation,
                            0.0,
                            s.mocap_velocity,
                            s.options.laws,
                            nullptr};
  assemble_constraints(step, c);
  const std::size_t n = at(nv_);
  J_.assign(at(c.rows()) * n, 0.0);
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int m = c.blocks.size(block), stride = c.stride(block);
    for (int p = constraint.first_part; p < constraint.first_part + constraint.part_count; ++p) {
      const TreePart& part = c.parts[at(p)];
      const int* dofs = c.dofs(s.model, part);
      for (int i = 0; i < part.count; ++i) {
        const double* values = c.J.data() + part.start + at(stride * i);
        for (int r = 0; r < m; ++r) J_[at(first(block) + r) * n + at(dofs[i])] += values[r];
      }
    }
  }
  ensure_size(drift, c.rows());
  drift.head(c.rows()).setZero();
}

void Survey::update_velocity(const Model& model) { constraint_velocity(model, c, state.v, c.velocity); }

int Survey::find_block(const Constraint& constraint, int hint) const {
  const int count = c.count();
  for (int k = 0; k < count; ++k) {
    const int block = (hint + k) % count;
    const Constraint& other = c.list[at(block)];
    if (other.kind == constraint.kind && other.index == constraint.index && other.side == constraint.side) return block;
  }
  return -1;
}

void Survey::find_drift(StepContext& s, Survey& other) {
  constexpr double kWay = 1e-5;  // m: how far rows are displaced
  const double speed = state.v.size() > 0 ? state.v.cwiseProduct(s.weights.dof_length).cwiseAbs().maxCoeff() : 0.0;
  if (!(speed > 0.0) || c.count() == 0) return;
  const double time = std::min(1e-3, kWay / speed);
  for (const double sign : {1.0, -1.0}) {
    other.state = state;
    integrate(s.model, state.q, state.v, sign * time, other.state.q);
    other.place(s, other.state, time);
    other.take_same(s, *this);
    for (int block = 0; block < c.count(); ++block) {
      const int same = other.find_block(c.list[at(block)], block);
      if (same < 0) continue;
      for (int r = 0; r < c.blocks.size(block); ++r) {
        drift[first(block) + r] += sign / (2.0 * time) * other.c.velocity[other.first(same) + r];
      }
    }
  }
}

void Survey::add_impulses(StepContext& s, const VectorX& rows, double time) const {
  const std::span<const Contact> all = s.contacts();
  const Constraints& to = s.constraints;
  int hint = 0;
  for (int block = 0; block < to.count() && c.count() > 0; ++block) {
    Constraint wanted = to.list[at(block)];
    const bool is_contact = wanted.kind == ConstraintKind::kContact;
    if (is_contact) {
      const WarmStartKey key = key_of(all[at(wanted.index)]);
      const auto same =
          std::find_if(contacts.begin(), contacts.end(), [&](const Contact& k) { return key_of(k) == key; });
      if (same == contacts.end()) continue;
      wanted.index = static_cast<int>(same - contacts.begin());
    }
    const int from = find_block(wanted, hint);
    if (from < 0 || c.blocks.size(from) != to.blocks.size(block)) continue;
    hint = (from + 1) % c.count();
    double values[6] = {};
    std::copy_n(rows.data() + first(from), c.blocks.size(from), values);
    if (is_contact) to_rows(all[at(to.list[at(block)].index)], to_world(contacts[at(wanted.index)], values), values);
    for (int r = 0; r < to.blocks.size(block); ++r) s.lambda[to.blocks.row[at(block)] + r] += time * values[r];
  }
}

bool Survey::is_rigid() const {
  return std::all_of(c.list.begin(), c.list.end(), [&](const Constraint& constraint) {
    if (constraint.kind == ConstraintKind::kContact) return !(contacts[at(constraint.index)].material.stiffness > 0.0);
    return constraint.kind != ConstraintKind::kServo && constraint.kind != ConstraintKind::kTendonSpring &&
           constraint.kind != ConstraintKind::kLoopSpring;
  });
}

}  // namespace touchstone
