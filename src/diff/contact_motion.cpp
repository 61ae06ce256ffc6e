#include "touchstone/diff/contact_motion.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/collision/narrow/minkowski.hpp"

namespace touchstone {
namespace {

// Of the size of the shapes, and rad: a contact within this of the nearest points is the one they make.
constexpr double kSame = 1e-4;
constexpr double kAligned = 1e-6;  // rad: normals of a contact and of a face that are the same
constexpr double kFlat = 1e-3;     // rad: of two faces that lie on each other
constexpr double kInside = 1e-6;   // of a triangle's size: beyond its edges by more than this is inside

// A dof's motion of the shape's frame.
Vector6 twist(Vec3 linear, Vec3 angular, Vec3 from, Vec3 to) {
  Vector6 t;
  t.head<3>() = (linear + cross(angular, to - from)).eigen();
  t.tail<3>() = angular.eigen();
  return t;
}

// Whether a point at the surface of a shape made of triangles is inside of the named one (or of what is in one plane
// with it), and its normal that of the contact: then it stays so as bodies move. `out`: from the surface, world.
bool is_inside_triangle(const CollisionShape& shape, const Pose& X_WS, int index, Vec3 point, Vec3 out) {
  const TriangleSurface* surface = shape.surface();
  if (surface == nullptr || index < 0 || index >= surface->triangle_count()) return false;
  const SurfaceTriangle t = surface->triangle(index);
  const Vec3 n = transpose_times(X_WS.R, out), apart = t.normal - n;
  if (!(dot(apart, apart) <= kAligned * kAligned)) return false;
  const Vec3 p = transpose_times(X_WS.R, point - X_WS.p) - n * shape.surface_radius();
  double size = 0.0;
  for (int k = 0; k < 3; ++k) size = std::max(size, norm(t.vertices[(k + 1) % 3] - t.vertices[k]));
  for (int k = 0; k < 3; ++k) {
    const Vec3 edge = t.vertices[(k + 1) % 3] - t.vertices[k];
    const double inside = dot(cross(t.normal, edge), p - t.vertices[k]) / norm(edge);
    if (!(inside > (t.edges[k] == EdgeKind::kFlat ? -kInside : kInside) * size)) return false;
  }
  return std::abs(dot(t.normal, p - t.vertices[0])) <= kInside * size;
}

// The vector that MuJoCo's frames make their first tangent of (detector.cpp, frame_of): an axis of the world, or that
// of a capsule on a plane, which then moves with its body. Returns that body, or -1.
int tangent_axis(const Model& model, const CollisionModel& shapes, const Data& data, const Contact& contact,
                 Vec3& axis) {
  const Vec3 n = contact.normal();
  axis = std::abs(n.y()) < 0.5 ? Vec3(0, 1, 0) : Vec3(0, 0, 1);
  const auto type = [&](int shape) { return model.shapes[at(shape)].shape.type; };
  const bool plane_a = type(contact.shape_a) == ShapeType::kPlane, plane_b = type(contact.shape_b) == ShapeType::kPlane;
  const int capsule = plane_b ? contact.shape_a : plane_a ? contact.shape_b : -1;
  if (capsule < 0 || type(capsule) != ShapeType::kCapsule) return -1;
  const Collider& collider = shapes.colliders()[at(shapes.collider_of(capsule))];
  axis = (data.X_WB[at(collider.body)] * collider.X_BS).R.c2;
  return collider.body;
}

// What is left of `turn` is the turn of the normal; tangents also turn about it, as their definition has it
// (collision/manifold/contact_frame.hpp).
void turn_tangents(const Model& model, const CollisionModel& shapes, const Data& data, const Contact& contact,
                   PairMotion& motion) {
  const Vec3 n = contact.normal(), t2 = contact.frame.c1;
  Vec3 axis;
  const bool by_axis = model.options.mujoco_contact_frames;
  const int body = by_axis ? tangent_axis(model, shapes, data, contact, axis) : -1;
  const Vec3 across = axis - n * dot(n, axis);
  for (std::size_t k = 0; k < at(motion.count); ++k) {
    const Vec3 dn = cross(motion.turn[k], n);
    if (!by_axis) {
      motion.turn[k] = contact_frame_turn(n, dn);
      continue;
    }
    const Vec3 w = body < 0 ? Vec3() : body == contact.body_a ? motion.a_angular[k] : motion.b_angular[k];
    const double length = norm(across);
    const double spin = length > 0.0 ? dot(t2, cross(w, axis) - dn * dot(n, axis)) / length : 0.0;
    motion.turn[k] = cross(n, dn) + n * spin;
  }
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
  const Turning turns = turning(shapes, data, contact);
  bool is_known = set_contact_motion(model, data, contact, turns != Turning::kOtherwise, motion);
  const bool is_guess = is_known && turns == Turning::kPerhapsByFace;
  if (!is_known || chosen.method != CollisionGradient::kExact) {
    is_known = set_by_collision(shapes, data, contact, chosen, motion) || is_known;
  }
  const bool same = contact.material.friction[0] == contact.material.friction[1] &&
                    contact.material.friction[3] == contact.material.friction[4];
  if (tangents_matter_ || !same) turn_tangents(model, shapes, data, contact, motion);
  return is_known && !is_guess;
}

// A face is what faces the normal to 5 degrees. Where it does not exactly, the shapes are nearest at its edge or
// corner, unless two faces lie on each other, of which either may be taken. Of shapes of several pieces nobody knows.
ContactMotion::Turning ContactMotion::turning(const CollisionModel& shapes, const Data& data, const Contact& contact) {
  const bool face_a = contact.active.A.type == FeatureType::kFace;
  if (!face_a && contact.active.B.type != FeatureType::kFace) return Turning::kOtherwise;
  const auto collider_of = [&](int shape) -> const Collider* {
    const int c = shapes.collider_of(shape);
    return c < 0 ? nullptr : &shapes.colliders()[at(c)];
  };
  // Whether the feature of a convex shape along d is a face, and what it misses d by.
  const auto is_face = [&](const Collider& collider, Vec3 d, double& tilt2) {
    const Vec3 direction = transpose_times((data.X_WB[at(collider.body)] * collider.X_BS).R, d);
    find_support_feature(shapes.shape(collider).pieces()[0], direction, feature_);
    const Vec3 apart = feature_.normal - direction;
    tilt2 = dot(apart, apart);
    return feature_.is_face();
  };
  const Collider* own = collider_of(face_a ? contact.shape_a : contact.shape_b);
  const Collider* other = collider_of(face_a ? contact.shape_b : contact.shape_a);
  if (own == nullptr || other == nullptr) return Turning::kPerhapsByFace;
  if (own->half_space) return Turning::kByFace;
  const Vec3 n = contact.normal(), d = face_a ? n : -n;
  if (!shapes.shape(*own).is_convex()) {
    const int index = (face_a ? contact.active.A : contact.active.B).first;
    const Vec3 point = contact.position - d * (0.5 * contact.distance);
    const Pose X_WS = data.X_WB[at(own->body)] * own->X_BS;
    const bool is_inside = is_inside_triangle(shapes.shape(*own), X_WS, index, point, d);
    return is_inside ? Turning::kByFace : Turning::kPerhapsByFace;
  }
  double tilt2 = 0.0, unused = 0.0;
  if (!is_face(*own, d, tilt2) || tilt2 > kFlat * kFlat) return Turning::kOtherwise;
  if (tilt2 <= kAligned * kAligned) return Turning::kByFace;
  const bool lies_on_face = !other->half_space && shapes.shape(*other).is_convex() && is_face(*other, -d, unused);
  return lies_on_face ? Turning::kByFace : Turning::kOtherwise;
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
