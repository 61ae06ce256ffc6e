#include "touchstone/diff/contact_motion.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"
#include "touchstone/collision/narrow/minkowski.hpp"

namespace touchstone {
namespace {

// Of the size of the shapes, and rad: a contact within this of the nearest points is the one they make.
constexpr double kSame = 1e-4;

// A dof's motion of the shape's frame.
Vector6 twist(Vec3 linear, Vec3 angular, Vec3 from, Vec3 to) {
  Vector6 t;
  t.head<3>() = (linear + cross(angular, to - from)).eigen();
  t.tail<3>() = angular.eigen();
  return t;
}

}  // namespace

void ContactMotion::set_options(const CollisionDerivativeOptions& options, int shape_a, int shape_b) {
  if (shape_a < 0 || shape_b < 0) {
    general_ = options;
    return;
  }
  choices_.push_back({std::min(shape_a, shape_b), std::max(shape_a, shape_b), options});
}

const CollisionDerivativeOptions& ContactMotion::options(int shape_a, int shape_b) const {
  const int a = std::min(shape_a, shape_b), b = std::max(shape_a, shape_b);
  const auto it = std::find_if(choices_.rbegin(), choices_.rend(),
                               [&](const Choice& c) { return c.shape_a == a && c.shape_b == b; });
  return it == choices_.rend() ? general_ : it->options;
}

bool ContactMotion::set(const Model& model, const CollisionModel& shapes, const Data& data, const Contact& contact,
                        PairMotion& motion) {
  const CollisionDerivativeOptions& chosen = options(contact.shape_a, contact.shape_b);
  const bool is_known = set_contact_motion(model, data, contact, motion);
  if (is_known && chosen.method == CollisionGradient::kExact) return true;
  return set_by_collision(shapes, data, contact, chosen, motion) || is_known;
}

bool ContactMotion::set_by_collision(const CollisionModel& shapes, const Data& data, const Contact& contact,
                                     const CollisionDerivativeOptions& options, PairMotion& motion) {
  const int a = shapes.collider_of(contact.shape_a), b = shapes.collider_of(contact.shape_b);
  if (a < 0 || b < 0) return false;
  const Collider &of_a = shapes.colliders()[at(a)], &of_b = shapes.colliders()[at(b)];
  const CollisionShape &A = shapes.shape(of_a), &B = shapes.shape(of_b);
  if (!A.is_convex() || !B.is_convex()) return false;
  const Pose X_WA = data.X_WB[at(of_a.body)] * of_a.X_BS, X_WB = data.X_WB[at(of_b.body)] * of_b.X_BS;
  const CollisionDerivatives d = differentiate_(A.pieces()[0], X_WA, B.pieces()[0], X_WB, options);
  if (!d.valid || (options.method == CollisionGradient::kExact && (!d.unique || !d.refined))) return false;
  const Vec3 middle = 0.5 * (d.contact.point_A + d.contact.point_B), n = d.contact.normal;
  const double size = of_a.half_space   ? of_b.radius
                      : of_b.half_space ? of_a.radius
                                        : std::min(of_a.radius, of_b.radius);
  if (!(norm(middle - contact.position) <= kSame * size && norm(n - contact.normal()) <= kSame)) return false;
  for (std::size_t k = 0; k < at(motion.count); ++k) {
    const Vector6 t_a = twist(motion.a_linear[k], motion.a_angular[k], contact.position, X_WA.p);
    const Vector6 t_b = twist(motion.b_linear[k], motion.b_angular[k], contact.position, X_WB.p);
    const Vector3 dn = d.by_A.normal * t_a + d.by_B.normal * t_b;
    const Vector3 dp = 0.5 * (d.by_A.point_A + d.by_A.point_B) * t_a + 0.5 * (d.by_B.point_A + d.by_B.point_B) * t_b;
    motion.turn[k] = cross(n, Vec3(dn));
    motion.dp_a[k] = motion.dp_b[k] = Vec3(dp);
  }
  return true;
}

}  // namespace touchstone
