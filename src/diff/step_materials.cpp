// The laws of impulses by parameters: friction of contacts and of joints, restitution, and what materials give way by.
#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/diff/inertial_parameters.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/sim/detection/material.hpp"

namespace touchstone {
namespace {

ContactSide side_of(const StepContext& step, int shape) {
  const CollisionModel& shapes = step.detector.shapes();
  const int collider = shapes.collider_of(shape);
  return {step.parameters.shape_material[at(shape)], step.model.shapes[at(shape)].contact_dimension,
          collider < 0 ? kInfinity : shapes.colliders()[at(collider)].curvature};
}

// Calls use(block, contact, rates) for contacts whose law `shape` has a part in; that of a pair which the model names
// is its own.
template <typename Use>
void visit_contacts(const StepContext& step, const Constraints& c, std::span<const Contact> contacts, int shape,
                    const Use& use) {
  for (int block = 0; block < c.count(); ++block) {
    if (c.list[at(block)].kind != ConstraintKind::kContact) continue;
    const Contact& contact = contacts[at(c.list[at(block)].index)];
    if (contact.shape_a < 0 || (shape != contact.shape_a && shape != contact.shape_b)) continue;
    if (step.detector.shapes().contact_pair(contact.shape_a, contact.shape_b) >= 0) continue;
    const int other = shape == contact.shape_a ? contact.shape_b : contact.shape_a;
    use(block, contact, rates_of(side_of(step, shape), side_of(step, other)));
  }
}

}  // namespace

void StepDerivatives::require_springs(const StepContext& step) const {
  for (const int shape : theta_.stiffnesses) {
    if (!is_rigid(step.parameters.shape_material[at(shape)])) continue;
    throw Error(
        "derivatives by the stiffness of the shape '{}' are not available: it is rigid; give its material a stiffness "
        "or a modulus",
        model_.shapes[at(shape)].name);
  }
}

void StepDerivatives::add_materials(const StepContext& step, int column) {
  const bool has_laws = step.rules.contact_laws;
  if (!has_hessians()) add_hard_frictions(step, step.constraints, step.h, nx_ + model_.nu, main_);
  for (const int shape : theta_.frictions) add_friction(step, shape, column++);
  for (const int shape : theta_.restitutions) add_restitution(step, step.constraints, shape, column++, main_);
  for (const int shape : theta_.stiffnesses) add_stiffness(step, shape, column++);
  ImplicitBalance::View law = main_.law_changes();
  for (const int shape : theta_.dissipations) {
    visit_contacts(step, step.constraints, contacts_, shape, [&](int block, const Contact&, const SideRates& rates) {
      const int row = step.constraints.blocks.row[at(block)], size = step.constraints.blocks.size(block);
      if (has_laws) law.col(column).segment(row, size) += rates.dissipation * laws_.by_dissipation().segment(row, size);
    });
    ++column;
  }
  for (const int shape : theta_.relaxations) {
    visit_contacts(step, step.constraints, contacts_, shape, [&](int block, const Contact&, const SideRates& rates) {
      const int row = step.constraints.blocks.row[at(block)], size = step.constraints.blocks.size(block);
      if (has_laws) law.col(column).segment(row, size) += rates.relaxation * laws_.by_relaxation().segment(row, size);
    });
    ++column;
  }
  if (!has_hessians()) return;
  int last = columns_ - static_cast<int>(theta_.joint_frictions.size());
  for (const int dof : theta_.joint_frictions) {
    set_bound_change(step.constraints, dof, step.h);
    law.col(last++) += laws_.by_bound().cwiseProduct(change_);
  }
}

// By how much the friction of each row changes with that of a shape.
void StepDerivatives::set_friction_change(const StepContext& step, const Constraints& c, int shape) {
  change_.setZero(c.rows());
  visit_contacts(step, c, contacts_, shape, [&](int block, const Contact&, const SideRates& rates) {
    const int size = c.blocks.size(block);
    if (size >= 3) change_.segment(c.blocks.row[at(block)], has_hessians() ? size : 2).setConstant(rates.friction);
  });
}

// By how much the bound of each row changes with the dry friction of a dof, which acts for a time.
void StepDerivatives::set_bound_change(const Constraints& c, int dof, double time) {
  change_.setZero(c.rows());
  for (int block = 0; block < c.count(); ++block) {
    if (c.list[at(block)].kind != ConstraintKind::kJointFriction || c.list[at(block)].index != dof) continue;
    change_[c.blocks.row[at(block)]] = time;
  }
}

// Of impulses that are a function of velocities, and of the compliance of softened rows.
void StepDerivatives::add_friction(const StepContext& step, int shape, int column) {
  const Blocks& blocks = step.constraints.blocks;
  if (is_soft_) {
    visit_contacts(step, step.constraints, contacts_, shape, [&](int block, const Contact&, const SideRates& rates) {
      const int first = blocks.row[at(block)], size = blocks.size(block);
      for (int row = first; row < first + size && size >= 3; ++row) {
        main_.rows()(row, column) +=
            rates.friction * soft_friction_rate(step, block, row) * compliance_weight(step, row);
      }
    });
  }
  if (!has_hessians()) return;
  set_friction_change(step, step.constraints, shape);
  main_.law_changes().col(column) += laws_.by_friction().cwiseProduct(change_);
}

// Friction of contacts and of joints, of a hard balance that is closed, with rows `c` whose dry friction acts for a
// time; `first`: the column of theta.
void StepDerivatives::add_hard_frictions(const StepContext& step, const Constraints& c, double time, int first,
                                         ImplicitBalance& balance) {
  if (theta_.frictions.empty() && theta_.joint_frictions.empty()) return;
  ImplicitBalance::View law = balance.set_law_changes(first, ntheta_);
  int column = (theta_.gravity ? 3 : 0) + kInertialParameters * static_cast<int>(theta_.inertias.size());
  for (const int shape : theta_.frictions) {
    set_friction_change(step, c, shape);
    balance.contact().jvp_friction(change_, law_change_);
    law.col(column++) = law_change_;
  }
  column = ntheta_ - static_cast<int>(theta_.joint_frictions.size());
  for (const int dof : theta_.joint_frictions) {
    set_bound_change(c, dof, time);
    opposite_ = -change_;
    balance.contact().jvp_bounds(opposite_, change_, law_change_);
    law.col(column++) = law_change_;
  }
}

// b = e J v of a contact that bounces by the coefficient of its surfaces (sim/models/hard.hpp).
void StepDerivatives::add_restitution(const StepContext& step, const Constraints& c, int shape, int column,
                                      ImplicitBalance& balance) {
  if (step.rules.contact_laws || is_soft_) return;
  visit_contacts(step, c, contacts_, shape, [&](int block, const Contact& contact, const SideRates& rates) {
    const int row = c.blocks.row[at(block + 1)] - 1;
    const double e = contact.material.restitution;
    if (!(e > 0.0) || c.recovers[at(row)] == 0 || c.bias[row] != e * c.velocity[row]) return;
    balance.rows()(row, column) += rates.restitution * c.velocity[row];
  });
}

// Hard contacts have a spring as the compliance R of a row, which is as 1 / k.
void StepDerivatives::add_stiffness(const StepContext& step, int shape, int column) {
  const Constraints& c = step.constraints;
  visit_contacts(step, step.constraints, contacts_, shape,
                 [&](int block, const Contact& contact, const SideRates& rates) {
                   const int row = c.blocks.row[at(block)], size = c.blocks.size(block), normal = row + size - 1;
                   if (!step.rules.contact_laws) {
                     const double share = rates.stiffness / contact.material.stiffness;
                     if (!is_soft_) main_.rows()(normal, column) -= share * compliance_weight(step, normal);
                     return;
                   }
                   main_.law_changes().col(column).segment(row, size) +=
                       rates.stiffness * laws_.by_stiffness().segment(row, size) +
                       rates.dissipation_by_stiffness * laws_.by_dissipation().segment(row, size);
                 });
}

}  // namespace touchstone
