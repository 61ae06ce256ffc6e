#include "touchstone/sim/detection/detector.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/collision/manifold/contact_frame.hpp"
#include "touchstone/collision/narrow/lanes3.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/sim/detection/material.hpp"

namespace touchstone {
namespace {

Vec3 plane_normal(const Pose& X_WS) { return X_WS.R.c2; }

// How far the box around a collider reaches from its centre along the axes of the world. The exact bounds of a hull
// would need its extreme vertices, which costs more than what they save.
Vec3 reach_of_box(const Collider& c, const Mat3& R) {
  return Vec3(absolute(R.c0.lanes) * broadcast(c.half.x()) + absolute(R.c1.lanes) * broadcast(c.half.y()) +
              absolute(R.c2.lanes) * broadcast(c.half.z())) +
         Vec3(c.round, c.round, c.round);
}

// The same along each of three axes.
Vec3 reach_along(const Collider& c, const Mat3& R, const Mat3& axes) {
  const Mat3 to_axes = transpose(axes);
  return reach_of_box(c, {to_axes * R.c0, to_axes * R.c1, to_axes * R.c2});
}

}  // namespace

CollisionDetector::CollisionDetector(std::shared_ptr<const CollisionModel> shapes, const CollisionOptions& options)
    : shapes_(std::move(shapes)), options_(options), broad_(options.broad_phase) {
  if (!(options.margin >= 0.0) || !std::isfinite(options.margin)) {
    throw Error("collision margin {} m; it must be finite and not negative", options.margin);
  }
  add_proxies();
}

void CollisionDetector::add_proxies() {
  const std::vector<Collider>& colliders = shapes_->colliders();
  broad_.reserve(static_cast<int>(colliders.size()));
  for (const Collider& c : colliders) {
    const auto kind = c.fixed ? BroadPhase::Kind::kFixed : BroadPhase::Kind::kMoving;
    c.half_space ? broad_.add_half_space(Vec3(0, 0, 1), 0.0, kind) : broad_.add(Aabb(), kind);
  }
  poses_.assign(colliders.size(), Pose());
  sweeps_.assign(colliders.size(), Sweep());
  moves_.assign(colliders.size(), 1);
  placed_ = false;
}

void CollisionDetector::reset() {
  broad_ = BroadPhase(options_.broad_phase);
  caches_.clear();
  contacts_.clear();
  add_proxies();
}

void CollisionDetector::update_poses(const Data& data, double h, bool mocap_moves) {
  const Model& model = shapes_->model();
  const std::vector<Collider>& colliders = shapes_->colliders();
  for (std::size_t i = 0; i < colliders.size(); ++i) {
    const Collider& c = colliders[i];
    const int tree = model.body_kernels[at(c.body)].tree;
    moves_[i] = tree >= 0 ? data.scope.has_tree(tree) : !c.fixed && mocap_moves;
    if (placed_ && (c.fixed || (tree >= 0 && moves_[i] == 0))) continue;
    const int proxy = static_cast<int>(i);
    poses_[i] = data.X_WB[at(c.body)] * c.X_BS;
    const double margin = margin_ + c.reach;
    if (c.half_space) {
      const Vec3 n = plane_normal(poses_[i]);
      broad_.update_half_space(proxy, n, dot(n, poses_[i].p) + margin);
      continue;
    }
    Sweep& sweep = sweeps_[i];
    sweep = {};
    sweep.centre = poses_[i] * c.centre;
    const Vec3 half = reach_of_box(c, poses_[i].R) + Vec3(margin, margin, margin);
    Aabb box(sweep.centre - half, sweep.centre + half);
    if (h > 0.0 && !c.fixed) {
      sweep.displacement = h * velocity_at(model, data, c.body, sweep.centre);
      const Vec3 turn = h * data.velocity[at(c.body)].angular;
      sweep.rotation = c.radius * std::min(std::sqrt(dot(turn, turn)), 2.0);
      box = swept(grown(box, sweep.rotation), sweep.displacement);
    }
    broad_.update(proxy, box, sweep.displacement);
  }
  placed_ = true;
}

std::span<const Contact> CollisionDetector::detect(const Parameters& parameters, const Data& data) {
  return detect(parameters, data, 0.0, 0.0);
}

std::span<const Contact> CollisionDetector::detect(const Parameters& parameters, const Data& data, double h,
                                                   double extra, bool mocap_moves) {
  margin_ = options_.margin + extra;
  update_poses(data, h, mocap_moves);
  broad_.find_pairs(*shapes_);
  if (caches_.size() < at(broad_.slot_count())) caches_.resize(2 * at(broad_.slot_count()));
  for (const int slot : broad_.fresh_slots()) caches_[at(slot)] = PairCache();
  contacts_.clear();
  const bool is_whole = data.scope.is_whole();
  counts_ = {};
  counts_.candidates = static_cast<int>(broad_.pairs().size());
  for (const BroadPhase::Pair& pair : broad_.pairs()) {
    const bool moves = is_whole || moves_[at(pair.a)] != 0 || moves_[at(pair.b)] != 0;
    if (moves && broad_.near(pair)) collide_pair(pair, parameters, data, h);
  }
  return contacts_;
}

// Whether the boxes around two colliders, in their own axes, are farther apart than `reach` along an axis of either.
bool CollisionDetector::boxes_apart(const BroadPhase::Pair& pair, double reach) const {
  const Collider &a = shapes_->colliders()[at(pair.a)], &b = shapes_->colliders()[at(pair.b)];
  const Pose &X_a = poses_[at(pair.a)], &X_b = poses_[at(pair.b)];
  const Vec3 &c_a = sweeps_[at(pair.a)].centre, &c_b = sweeps_[at(pair.b)].centre;
  const auto above = [&](const Pose& plane, const Collider& c, Vec3 centre, const Mat3& R) {
    return (transpose(plane.R) * (centre - plane.p)).z() - reach_along(c, R, plane.R).z() > reach;
  };
  if (a.half_space) return above(X_a, b, c_b, X_b.R);
  if (b.half_space) return above(X_b, a, c_a, X_a.R);
  const auto apart = [&](const Collider& own, const Mat3& R_own, const Collider& other, const Mat3& R_other) {
    const double grown = reach + own.round;
    const Lanes along = absolute((transpose(R_own) * (c_b - c_a)).lanes);
    const Lanes gap = along - own.half.lanes - reach_along(other, R_other, R_own).lanes;
    return gap[0] > grown || gap[1] > grown || gap[2] > grown;
  };
  return apart(a, X_a.R, b, X_b.R) || apart(b, X_b.R, a, X_a.R);
}

void CollisionDetector::collide_pair(const BroadPhase::Pair& pair, const Parameters& parameters, const Data& data,
                                     double h) {
  const Model& model = shapes_->model();
  const Collider &a = shapes_->colliders()[at(pair.a)], &b = shapes_->colliders()[at(pair.b)];
  Contact prototype;
  prototype.shape_a = a.shape;
  prototype.shape_b = b.shape;
  prototype.body_a = a.body;
  prototype.body_b = b.body;
  prototype.margin = shapes_->margin(a.shape, b.shape);
  const double reach = margin_ + prototype.margin + shapes_->gap(a.shape, b.shape);
  double sweep = 0.0;
  if (h > 0.0) {
    const Sweep &p = sweeps_[at(pair.a)], &q = sweeps_[at(pair.b)];
    const Vec3 approach = p.displacement - q.displacement;
    sweep = std::sqrt(dot(approach, approach)) + p.rotation + q.rotation;
  }
  if ((a.loose || b.loose) && boxes_apart(pair, reach + sweep)) return;
  ++counts_.tested;
  manifolds_.clear();
  const QueryStatus status = collide(shapes_->shape(a), poses_[at(pair.a)], shapes_->shape(b), poses_[at(pair.b)],
                                     reach + sweep, workspace_, &caches_[at(pair.slot)], manifolds_, options_.query);
  if (status == QueryStatus::kInvalid || status == QueryStatus::kUnbounded) ++counts_.invalid;
  if (status == QueryStatus::kLimited) ++counts_.limited;
  if (manifolds_.empty()) return;
  const int contact_pair = shapes_->contact_pair(a.shape, b.shape);
  prototype.material =
      contact_pair >= 0 ? material_of(model.contact_pairs[at(contact_pair)])
                        : combine(parameters.shape_material[at(a.shape)], model.shapes[at(a.shape)].contact_dimension,
                                  parameters.shape_material[at(b.shape)], model.shapes[at(b.shape)].contact_dimension);
  const std::size_t before = contacts_.size();
  for (const Manifold& manifold : manifolds_) add_contacts(manifold, prototype, reach, data, h);
  if (contacts_.size() > before) ++counts_.touching;
}

Mat3 CollisionDetector::frame_of(const Contact& contact, Vec3 normal) const {
  const Model& model = shapes_->model();
  if (!model.options.mujoco_contact_frames) return contact_frame(normal);
  const auto type = [&](int shape) { return model.shapes[at(shape)].shape.type; };
  int capsule = -1;
  if (type(contact.shape_a) == ShapeType::kPlane) capsule = contact.shape_b;
  if (type(contact.shape_b) == ShapeType::kPlane) capsule = contact.shape_a;
  if (capsule < 0 || type(capsule) != ShapeType::kCapsule) return mujoco_contact_frame(normal);
  return mujoco_contact_frame(normal, poses_[at(shapes_->collider_of(capsule))].R.c2);
}

void CollisionDetector::add_contacts(const Manifold& manifold, const Contact& prototype, double reach, const Data& data,
                                     double h) {
  if (!manifold.valid()) return;
  const Model& model = shapes_->model();
  const Mat3 frame = frame_of(prototype, manifold.normal);
  for (int k = 0; k < manifold.count; ++k) {
    const ManifoldPoint& point = manifold.points[k];
    if (point.distance > reach) {  // only if it can be closed within the step
      const Vec3 va = velocity_at(model, data, prototype.body_a, point.point_A);
      const Vec3 vb = velocity_at(model, data, prototype.body_b, point.point_B);
      if (!(point.distance + h * dot(vb - va, manifold.normal) <= reach)) continue;
    }
    Contact& contact = contacts_.emplace_back(prototype);
    contact.position = 0.5 * (point.point_A + point.point_B);
    contact.frame = frame;
    contact.distance = point.distance;
    contact.feature = point.feature;
    contact.active = point.active;
  }
}

RayHit CollisionDetector::raycast(Vec3 origin, Vec3 direction, double max_distance, int ignored_body) const {
  RayHit hit;
  const double length = std::sqrt(dot(direction, direction));
  if (!(length > 0.0) || !std::isfinite(length)) return hit;
  const Vec3 unit = direction * (1.0 / length);
  broad_.raycast(origin, unit, max_distance, [&](int proxy, double rest) {
    const Collider& c = shapes_->colliders()[at(proxy)];
    if (c.body == ignored_body) return rest;
    RayOptions options;
    options.max_distance = rest;
    const RayResult ray = touchstone::raycast(shapes_->shape(c), poses_[at(proxy)], origin, unit, options);
    const bool is_hit = ray.status == RayStatus::kHit || ray.status == RayStatus::kInside;
    if (!is_hit || ray.distance > rest) return rest;
    hit = {c.shape, ray.distance, ray.point, ray.normal};
    return ray.distance;
  });
  return hit;
}

}  // namespace touchstone
