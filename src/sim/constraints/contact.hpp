// Contacts with friction of dimension 1, 3, 4 or 6: rows [t1, t2, spin, roll1, roll2, n] up to the dimension, the
// normal last; Constraint::index is that of the contact. Position: the gap.
#pragma once

#include <algorithm>

#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone {

struct ContactKind {
  static constexpr ConstraintKind kKind = ConstraintKind::kContact;
  static constexpr const char* kName = "contact";
  static constexpr Violation kViolation = Violation::kOverlap;
  static constexpr Work kWork = Work::kConstraint;

  static void add(const ConstraintStep& step, ConstraintWriter& writer);
  static void hard_law(const ConstraintStep& step, int block, Constraints& constraints);
  static void soft_law(const ConstraintStep& step, int block, Constraints& constraints);
  static bool wrench(const ConstraintScene& scene, const Constraint& constraint, const double* impulse,
                     PairWrench& wrench);
  static WarmStartKey key(std::span<const Contact> contacts, const Constraint& constraint);
  static std::string describe(const Model& model, std::span<const Contact> contacts, const Constraint& constraint);
};

// What the impulses of a contact (its rows) are on body b at its position, in world axes; the way back.
struct ContactImpulse {
  Vec3 force, torque;
};
ContactImpulse to_world(const Contact& contact, const double* rows);
void to_rows(const Contact& contact, const ContactImpulse& impulse, double* rows);

// How the surface of a shape moves at a point, relative to its body (Parameters::shape_surface_velocity); world axes.
struct SurfaceMotion {
  Vec3 linear, angular;
};
SurfaceMotion surface_motion(const Model& model, const Data& data, const Parameters& parameters, int shape, Vec3 point);

// Its rows of a contact: t1, t2, spin.
constexpr int kSurfaceRows = 3;
inline int surface_rows(const Contact& contact) { return std::min(contact.material.dimension - 1, kSurfaceRows); }

}  // namespace touchstone
