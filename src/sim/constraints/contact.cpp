#include "touchstone/sim/constraints/contact.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/sim/models/compliant.hpp"
#include "touchstone/sim/models/hard.hpp"
#include "touchstone/sim/models/soft.hpp"

namespace touchstone {
namespace {

// A contact whose bodies move so much less along its normal than their masses let them is held by joints.
constexpr double kImmovable = 1e-9;
constexpr double kLeastFriction = 1e-5;  // of softened contacts

PairRows rows_of(const Contact& contact) {
  const Vec3 t1 = contact.frame.c0, t2 = contact.frame.c1, n = contact.frame.c2, zero;
  const Vec3 linear[6] = {t1, t2, zero, zero, zero, n}, angular[6] = {zero, zero, n, t1, t2, zero};
  PairRows rows{contact.body_a, contact.body_b, contact.position, contact.position, contact.material.dimension, {}, {}};
  for (int r = 0; r < rows.count - 1; ++r) {
    rows.linear[r] = linear[r];
    rows.angular[r] = angular[r];
  }
  rows.linear[rows.count - 1] = n;
  return rows;
}

// How far a unit impulse moves a typical point of a body in the reference configuration.
double free_mobility(const ReferenceWeights& weights, int body) {
  const double length = weights.body_length[at(body)];
  return weights.body[at(body)][0] + length * length * weights.body[at(body)][1];
}

void add_contact(const ConstraintStep& step, const Contact& contact, int index, ConstraintWriter& writer) {
  if (!step.rules.looks_ahead && !(contact.distance < contact.margin)) return;
  const PairRows rows = rows_of(contact);
  const int m = rows.count;
  const double length = m > 3 ? pair_length(step, contact.body_a, contact.body_b) : 1.0;
  double lengths[6] = {1.0, 1.0, length, length, length, 1.0}, position[6] = {};
  lengths[m - 1] = 1.0;
  position[m - 1] = contact.distance - contact.margin;
  writer.begin(ContactKind::kKind, index);
  writer.blocks().add_coulomb(contact.material.friction.data(), m - 1);
  writer.add_pair(rows);
  const double expected = free_mobility(step.weights, contact.body_a) + free_mobility(step.weights, contact.body_b);
  if (step.rules.skips_immovable && !writer.moves(m - 1, step.weights.dof, kImmovable * expected)) {
    writer.cancel();
  } else {
    writer.end(position, lengths);
  }
}

// How fast moving surfaces slide and spin on each other at a contact while their bodies rest: rows t1, t2, spin.
void set_surface_velocity(const ConstraintStep& step, const Contact& contact, int first, Constraints& c) {
  const auto motion_of = [&](int shape) {
    return surface_motion(step.model, step.data, step.parameters, shape, contact.position);
  };
  const SurfaceMotion a = motion_of(contact.shape_a), b = motion_of(contact.shape_b);
  const Vec3 linear = b.linear - a.linear, angular = b.angular - a.angular;
  const double rows[kSurfaceRows] = {dot(contact.frame.c0, linear), dot(contact.frame.c1, linear),
                                     dot(contact.frame.c2, angular)};
  for (int k = 0; k < surface_rows(contact); ++k) c.set_surface_velocity(first + k, rows[k]);
}

// A spring as a row. That of Hertz by its tangent at the deformation x of the start, where there is one, or of the
// motion without contact: force k x^(3/2), slope 3/2 k sqrt(x), zero at the deformation x / 3.
void set_spring(const ConstraintStep& step, const ContactMaterial& material, int row, Constraints& c) {
  double gap = c.position[at(row)], slope = material.stiffness;
  if (material.hertz) {
    const double x = std::max(0.0, gap < 0.0 ? -gap : -gap - step.remaining * c.free_velocity[row]);
    slope *= 1.5 * std::sqrt(x);
    gap += x / 3.0;
  }
  c.compliance[row] = slope > 0.0 ? 1.0 / (step.h * step.remaining * slope) : 0.0;
  c.bias[row] = gap / step.remaining;
}

}  // namespace

SurfaceMotion surface_motion(const Model& model, const Data& data, const Parameters& parameters, int shape,
                             Vec3 point) {
  if (shape < 0) return {};  // a contact that the caller has made
  const Vector6& velocity = parameters.shape_surface_velocity[at(shape)];
  if ((velocity.array() == 0.0).all()) return {};
  const ShapeElement& element = model.shapes[at(shape)];
  const Pose& X_WB = data.X_WB[at(element.body)];
  const Vec3 origin = X_WB * Vec3(element.pose.position);
  const Vec3 linear = X_WB.R * Vec3(element.pose.rotation * velocity.head<3>()),
             angular = X_WB.R * Vec3(element.pose.rotation * velocity.tail<3>());
  return {linear + cross(angular, point - origin), angular};
}

void ContactKind::add(const ConstraintStep& step, ConstraintWriter& writer) {
  for (std::size_t i = 0; i < step.contacts.size(); ++i) {
    add_contact(step, step.contacts[i], static_cast<int>(i), writer);
  }
}

void ContactKind::hard_law(const ConstraintStep& step, int block, Constraints& c) {
  const Contact& contact = step.contacts[at(c.list[at(block)].index)];
  const ContactMaterial& material = contact.material;
  const int first = c.blocks.row[at(block)], normal = c.blocks.row[at(block + 1)] - 1;
  const double gap = c.position[at(normal)];
  set_surface_velocity(step, contact, first, c);
  for (int row = first; row < normal; ++row) c.bias[row] = c.surface(row);
  if (step.rules.contact_laws) {
    c.physics[at(block)] = compliant::physics_of(step, material, gap, c.velocity[normal]);
    // What a rigid solver would see, for the certificate: an open gap may close.
    if (!(material.stiffness > 0.0)) c.bias[normal] = std::max(0.0, gap) / step.remaining;
  }
  if (material.stiffness > 0.0) {
    set_spring(step, material, normal, c);
  } else if (!step.rules.contact_laws) {
    hard::set_unilateral(step, StabilisedKind::kContact, normal, material.restitution, material.impedance, c);
  }
}

// Elliptic cones: R_t1 = R_n / impratio, R_tj = R_t1 (mu_1 / mu_j)^2. Pyramidal cones: all edges n +- mu_j t_j have
// 2 mu_1^2 R_e / impratio with R_e that of the first edge; the normal row carries R_e / impratio, which is what
// ccp-newton expects.
void ContactKind::soft_law(const ConstraintStep& step, int block, Constraints& c) {
  const Contact& contact = step.contacts[at(c.list[at(block)].index)];
  const int first = c.blocks.row[at(block)], last = c.blocks.row[at(block + 1)] - 1;
  const Impedance& impedance = contact.material.impedance;
  const double r = c.position[at(last)];
  const double weight = step.weights.body[at(contact.body_a)][0] + step.weights.body[at(contact.body_b)][0];
  set_surface_velocity(step, contact, first, c);
  for (int row = first; row <= last; ++row) soft::set_row(step, row, impedance, r, row != last, weight, c);
  if (first == last) return;
  const double ratio = std::max(soft::kTiny, step.model.options.friction_impedance_ratio);
  const double mu = std::max(kLeastFriction, contact.material.friction[0]);
  if (step.model.options.cone == "pyramidal") {
    c.compliance[last] *= (1.0 + mu * mu) / ratio;
    for (int row = first; row < last; ++row) c.compliance[row] = c.compliance[last];
    return;
  }
  for (int row = first; row < last; ++row) {
    const double mu_j = std::max(kLeastFriction, contact.material.friction[at(row - first)]);
    c.compliance[row] = std::max(soft::kTiny, c.compliance[last] / ratio * (mu / mu_j) * (mu / mu_j));
  }
}

bool ContactKind::wrench(const ConstraintScene& scene, const Constraint& constraint, const double* impulse,
                         PairWrench& wrench) {
  const Contact& contact = scene.contacts[at(constraint.index)];
  const ContactImpulse world = to_world(contact, impulse);
  wrench = {contact.body_a, contact.body_b, contact.position, contact.position, world.force, world.torque};
  return true;
}

WarmStartKey ContactKind::key(std::span<const Contact> contacts, const Constraint& constraint) {
  const Contact& contact = contacts[at(constraint.index)];
  return {(static_cast<std::uint64_t>(contact.shape_a) << 32) | static_cast<std::uint32_t>(contact.shape_b),
          contact.feature};
}

std::string ContactKind::describe(const Model& model, std::span<const Contact> contacts, const Constraint& constraint) {
  const Contact& contact = contacts[at(constraint.index)];
  return fmt::format("contact of '{}' and '{}'", model.shapes[at(contact.shape_a)].name,
                     model.shapes[at(contact.shape_b)].name);
}

ContactImpulse to_world(const Contact& contact, const double* rows) {
  const int m = contact.material.dimension;
  const Mat3& F = contact.frame;
  ContactImpulse world{F.c2 * rows[m - 1], {}};
  if (m >= 3) world.force += F.c0 * rows[0] + F.c1 * rows[1];
  if (m >= 4) world.torque += F.c2 * rows[2];
  if (m >= 6) world.torque += F.c0 * rows[3] + F.c1 * rows[4];
  return world;
}

void to_rows(const Contact& contact, const ContactImpulse& impulse, double* rows) {
  const int m = contact.material.dimension;
  const Mat3& F = contact.frame;
  rows[m - 1] = dot(F.c2, impulse.force);
  if (m >= 3) {
    rows[0] = dot(F.c0, impulse.force);
    rows[1] = dot(F.c1, impulse.force);
  }
  if (m >= 4) rows[2] = dot(F.c2, impulse.torque);
  if (m >= 6) {
    rows[3] = dot(F.c0, impulse.torque);
    rows[4] = dot(F.c1, impulse.torque);
  }
}

}  // namespace touchstone
