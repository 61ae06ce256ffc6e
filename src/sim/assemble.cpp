#include "touchstone/sim/assemble.hpp"

#include "touchstone/base/index.hpp"
#include "touchstone/sim/constraints/kinds.hpp"

namespace touchstone {
namespace {

// Grows with room to spare, so that a few more contacts than ever before do not allocate each time.
void ensure_size(VectorX& v, int size) {
  if (v.size() < size) v.resize(2 * size);
}

}  // namespace

void assemble_constraints(const ConstraintStep& step, Constraints& c) {
  c.clear();
  ConstraintWriter writer(step.model, step.data, c);
  for (const KindEntry& kind : constraint_kinds()) kind.add(step, writer);
  for (VectorX* v : {&c.velocity, &c.free_velocity, &c.bias, &c.compliance, &c.recovery}) ensure_size(*v, c.rows());
  constraint_velocities(step.model, c, step.state.v, step.data.v_free, c.velocity, c.free_velocity);
  if (step.loop_velocity != nullptr) {
    ensure_size(c.loop_velocity, c.rows());
    constraint_velocity(step.model, c, *step.loop_velocity, c.loop_velocity);
  }
  for (VectorX* v : {&c.bias, &c.compliance, &c.recovery}) v->head(c.rows()).setZero();
  c.recovers.assign(at(c.rows()), 0);
  ContactPhysics common;  // what contacts share with dry friction of joints
  common.stiction = step.laws.stiction_tolerance;
  common.sigma = step.laws.sigma;
  c.physics.assign(at(step.rules.contact_laws ? c.count() : 0), common);
  for (int block = 0; block < c.count(); ++block) {
    (entry_of(c.list[at(block)].kind).*step.rules.law)(step, block, c);
  }
}

}  // namespace touchstone
