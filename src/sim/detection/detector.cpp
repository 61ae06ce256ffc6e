#include "touchstone/sim/detection/detector.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/collision/manifold/contact_frame.hpp"
#include "touchstone/collision/narrow/lanes3.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/sim/detection/collision_limits.hpp"
#include "touchstone/sim/detection/material.hpp"

namespace touchstone {
namespace {

// A rotation moves no point farther than across the ball around a shape, in radii.
constexpr double kMostRotation = 2.0;

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
  separations_.reset(static_cast<int>(colliders.size()));
  broad_.reserve(static_cast<int>(colliders.size()));
  for (const Collider& c : colliders) {
    const auto kind = c.fixed ? BroadPhase::Kind::kFixed : BroadPhase::Kind::kMoving;
    c.half_space ? broad_.add_half_space(Vec3(0, 0, 1), 0.0, kind) : broad_.add(Aabb(), kind);
  }
  poses_.assign(colliders.size(), Pose());
  marks_.assign(colliders.size(), Pose());
  counted_.assign(colliders.size(), 0);
  sweeps_.assign(colliders.size(), Sweep());
  moves_.assign(colliders.size(), 1);
  active_.reserve(colliders.size());
  bodies_.reserve(at(shapes_->model().nbody));
  placed_ = false;
}

void CollisionDetector::reset() {
  broad_ = BroadPhase(options_.broad_phase);
  states_.clear();
  contacts_.clear();
  add_proxies();
}

void CollisionDetector::list_active(const Scope& scope) {
  const std::vector<Collider>& colliders = shapes_->colliders();
  bodies_.assign(scope.bodies.begin(), scope.bodies.end());
  active_.clear();
  for (std::size_t i = 0; i < colliders.size(); ++i) {
    const int tree = shapes_->model().body_kernels[at(colliders[i].body)].tree;
    moves_[i] = tree >= 0 && scope.has_tree(tree) ? 1 : 0;
    if (!colliders[i].fixed && (tree < 0 || moves_[i] != 0)) active_.push_back(static_cast<int>(i));
  }
}

void CollisionDetector::update_pose(int proxy, const Data& data, double h) {
  const Collider& c = shapes_->colliders()[at(proxy)];
  Pose& X_WS = poses_[at(proxy)];
  X_WS = data.X_WB[at(c.body)] * c.X_BS;
  if (c.half_space) {
    const Vec3 n = plane_normal(X_WS);
    broad_.update_half_space(proxy, n, dot(n, X_WS.p) + margin_ + c.reach);
    if (!c.fixed) separations_.move(proxy, kInfinity, 0.0);  // it has no ball around it
    counted_[at(proxy)] = 1;
  } else {
    sweep_collider(proxy, data, h);
    counted_[at(proxy)] = c.fixed ? 1 : 0;
  }
}

void CollisionDetector::update_poses(const Data& data, double h, bool mocap_moves) {
  if (!placed_ || bodies_ != data.scope.bodies) list_active(data.scope);
  const int count = static_cast<int>(shapes_->colliders().size());
  for (int i = 0; i < count && !placed_; ++i) update_pose(i, data, h);
  for (const int i : active_) {
    if (shapes_->model().body_kernels[at(shapes_->colliders()[at(i)].body)].tree < 0) moves_[at(i)] = mocap_moves;
    if (placed_) update_pose(i, data, h);
  }
  placed_ = true;
}

// Where a collider is and what it sweeps in the step.
void CollisionDetector::sweep_collider(int proxy, const Data& data, double h) {
  const Collider& c = shapes_->colliders()[at(proxy)];
  const Pose& X_WS = poses_[at(proxy)];
  Sweep& sweep = sweeps_[at(proxy)];
  const Vec3 centre = X_WS * c.centre;
  const double margin = margin_ + c.reach;
  const Vec3 half = reach_of_box(c, X_WS.R) + Vec3(margin, margin, margin);
  Aabb box(centre - half, centre + half);
  sweep = {centre, {}, 0.0};
  if (h > 0.0 && !c.fixed) {
    sweep.displacement = h * velocity_at(shapes_->model(), data, c.body, centre);
    const Vec3 turn = h * data.velocity[at(c.body)].angular;
    sweep.rotation = c.radius * std::min(norm(turn), kMostRotation);
    box = swept(grown(box, sweep.rotation), sweep.displacement);
  }
  broad_.update(proxy, box, sweep.displacement);
}

// How far a collider has come since it was counted last; only those that are in a pair need it.
void CollisionDetector::count_way(int proxy) {
  if (counted_[at(proxy)] != 0) return;
  counted_[at(proxy)] = 1;
  const Collider& c = shapes_->colliders()[at(proxy)];
  const Sweep& sweep = sweeps_[at(proxy)];
  const Vec3 moved = sweep.centre - marks_[at(proxy)] * c.centre;
  // The spectral norm of a difference of rotations is its Frobenius norm over the root of two.
  const Mat3 &R = poses_[at(proxy)].R, &R_0 = marks_[at(proxy)].R;
  const Vec3 d0 = R.c0 - R_0.c0, d1 = R.c1 - R_0.c1, d2 = R.c2 - R_0.c2;
  const Lanes turned = d0.lanes * d0.lanes + d1.lanes * d1.lanes + d2.lanes * d2.lanes;
  const Lanes lengths = square_root(
      sum_each(moved.lanes * moved.lanes, 0.5 * turned, sweep.displacement.lanes * sweep.displacement.lanes, Lanes{}));
  separations_.move(proxy, lengths[0] + c.radius * lengths[1], lengths[2] + sweep.rotation);
  marks_[at(proxy)] = poses_[at(proxy)];
}

void CollisionDetector::begin_pairs() {
  separations_.prepare(broad_.slot_count(), broad_.fresh_slots());
  if (states_.size() < at(broad_.slot_count())) states_.resize(2 * at(broad_.slot_count()));
  for (const int slot : broad_.fresh_slots()) states_[at(slot)] = PairState();
}

// What is kept of a pair, made on the first call for it.
CollisionDetector::PairState& CollisionDetector::state_of(const BroadPhase::Pair& pair) {
  PairState& state = states_[at(pair.slot)];
  if (state.known) return state;
  const int a = shapes_->colliders()[at(pair.a)].shape, b = shapes_->colliders()[at(pair.b)].shape;
  state.margin = shapes_->margin(a, b);
  state.gap = shapes_->gap(a, b);
  state.contact_pair = shapes_->contact_pair(a, b);
  state.known = true;
  return state;
}

std::span<const Contact> CollisionDetector::detect(const Parameters& parameters, const Data& data) {
  return detect(parameters, data, 0.0, 0.0);
}

std::span<const Contact> CollisionDetector::detect(const Parameters& parameters, const Data& data, double h,
                                                   double extra, bool mocap_moves) {
  margin_ = options_.margin + extra;
  update_poses(data, h, mocap_moves);
  return collide_pairs({}, parameters, data, h);
}

std::span<const Contact> CollisionDetector::detect_of(std::span<const char> chosen, const Parameters& parameters,
                                                      const Data& data) {
  margin_ = options_.margin;
  update_poses(data, 0.0, true);
  return collide_pairs(chosen, parameters, data, 0.0);
}

std::span<const Contact> CollisionDetector::collide_pairs(std::span<const char> chosen, const Parameters& parameters,
                                                          const Data& data, double h) {
  broad_.find_pairs(*shapes_);
  begin_pairs();
  contacts_.clear();
  visits_left_ = CollisionLimits::kVisits;
  contacts_left_ = CollisionLimits::kContacts;
  const bool is_whole = data.scope.is_whole();
  const auto is_chosen = [&](int proxy) { return chosen[at(shapes_->colliders()[at(proxy)].body)] != 0; };
  counts_ = {};
  counts_.candidates = static_cast<int>(broad_.pairs().size());
  for (const BroadPhase::Pair& pair : broad_.pairs()) {
    if (!is_whole && moves_[at(pair.a)] == 0 && moves_[at(pair.b)] == 0) continue;
    if (!chosen.empty() && !is_chosen(pair.a) && !is_chosen(pair.b)) continue;
    count_way(pair.a);
    count_way(pair.b);
    if (separations_.apart(pair, margin_)) {
      ++counts_.apart;
    } else {
      collide_pair(pair, parameters, data, h);
    }
  }
  return contacts_;
}

// The largest gap between the boxes around two colliders, in their own axes, along an axis of either.
double CollisionDetector::own_box_gap(const BroadPhase::Pair& pair) const {
  const Collider &a = shapes_->colliders()[at(pair.a)], &b = shapes_->colliders()[at(pair.b)];
  const Pose &X_a = poses_[at(pair.a)], &X_b = poses_[at(pair.b)];
  const Vec3 &c_a = sweeps_[at(pair.a)].centre, &c_b = sweeps_[at(pair.b)].centre;
  const auto above = [&](const Pose& plane, const Collider& c, Vec3 centre, const Mat3& R) {
    return (transpose(plane.R) * (centre - plane.p)).z() - reach_along(c, R, plane.R).z();
  };
  if (a.half_space) return above(X_a, b, c_b, X_b.R);
  if (b.half_space) return above(X_b, a, c_a, X_a.R);
  const auto between = [&](const Collider& own, const Mat3& R_own, const Collider& other, const Mat3& R_other) {
    const Lanes along = absolute((transpose(R_own) * (c_b - c_a)).lanes);
    const Lanes gap = along - own.half.lanes - reach_along(other, R_other, R_own).lanes;
    return std::max({gap[0], gap[1], gap[2]}) - own.round;
  };
  return std::max(between(a, X_a.R, b, X_b.R), between(b, X_b.R, a, X_a.R));
}

// Two colliders are at least so far apart: they need no query before they have moved by what is beyond their reach.
void CollisionDetector::set_apart(const BroadPhase::Pair& pair, const PairState& state, double distance) {
  const double scale = sum(absolute(poses_[at(pair.a)].p.lanes) + absolute(poses_[at(pair.b)].p.lanes));
  separations_.set(pair, distance - state.margin - state.gap, scale + std::abs(distance));
}

// The manifolds of a pair, within what is left of CollisionLimits.
QueryStatus CollisionDetector::query_pair(const Collider& a, const Collider& b, const BroadPhase::Pair& pair,
                                          double reach, PairState& state) {
  const CollisionShape &A = shapes_->shape(a), &B = shapes_->shape(b);
  SurfaceWorkspace& surface = workspace_.surface;
  surface.allowance.visits = std::clamp(visits_left_, CollisionLimits::kLeastVisits, SurfaceWorkspace::kMostVisits);
  const std::size_t before = surface.visits;
  manifolds_.clear();
  const QueryStatus status = collide(A, poses_[at(pair.a)], B, poses_[at(pair.b)], reach, workspace_, &state.cache,
                                     manifolds_, options_.query);
  if (A.is_convex() && B.is_convex()) return status;
  visits_left_ -= std::min(visits_left_, surface.visits - before);
  const bool has_surface = A.surface() != nullptr || B.surface() != nullptr;
  if (shorten() || (has_surface && status == QueryStatus::kLimited)) ++counts_.shortened;
  return status;
}

// Leaves the deepest contacts of a pair if there are too many. Returns whether there were.
bool CollisionDetector::shorten() {
  const std::size_t most =
      std::clamp(contacts_left_, CollisionLimits::kLeastContacts, CollisionLimits::kContactsOfPair);
  std::size_t count = 0;
  for (const Manifold& m : manifolds_) count += static_cast<std::size_t>(m.count);
  contacts_left_ -= std::min({contacts_left_, count, most});
  if (count <= most) return false;
  const auto depth = [](const Manifold& m) {
    double least = kInfinity;
    for (const ManifoldPoint& p : m) least = std::min(least, p.distance);
    return least;
  };
  std::stable_sort(manifolds_.begin(), manifolds_.end(),
                   [&](const Manifold& x, const Manifold& y) { return depth(x) < depth(y); });
  std::size_t kept = 0;
  for (count = 0; kept < manifolds_.size(); ++kept) {
    count += static_cast<std::size_t>(manifolds_[kept].count);
    if (count > most) break;
  }
  manifolds_.resize(std::max<std::size_t>(kept, 1));
  return true;
}

void CollisionDetector::collide_pair(const BroadPhase::Pair& pair, const Parameters& parameters, const Data& data,
                                     double h) {
  const Model& model = shapes_->model();
  const Collider &a = shapes_->colliders()[at(pair.a)], &b = shapes_->colliders()[at(pair.b)];
  PairState& state = state_of(pair);
  if (!broad_.near(pair)) {  // the boxes hold the margins
    set_apart(pair, state, broad_.gap(pair) + 2.0 * margin_ + a.reach + b.reach);
    return;
  }
  const double reach = margin_ + state.margin + state.gap;
  double sweep = 0.0;
  if (h > 0.0) {
    const Sweep &p = sweeps_[at(pair.a)], &q = sweeps_[at(pair.b)];
    const Vec3 approach = p.displacement - q.displacement;
    sweep = std::sqrt(dot(approach, approach)) + p.rotation + q.rotation;
  }
  if (a.loose || b.loose) {
    if (const double gap = own_box_gap(pair); gap > reach + sweep) {
      set_apart(pair, state, gap);
      return;
    }
  }
  ++counts_.tested;
  const QueryStatus status = query_pair(a, b, pair, reach + sweep, state);
  if (status == QueryStatus::kInvalid || status == QueryStatus::kUnbounded) ++counts_.invalid;
  if (status == QueryStatus::kLimited) ++counts_.limited;
  if (manifolds_.empty()) {
    set_apart(pair, state, state.cache.query.apart);
    return;
  }
  Contact prototype;
  prototype.shape_a = a.shape;
  prototype.shape_b = b.shape;
  prototype.body_a = a.body;
  prototype.body_b = b.body;
  prototype.margin = state.margin;
  prototype.material =
      state.contact_pair >= 0
          ? material_of(model.contact_pairs[at(state.contact_pair)])
          : combine({parameters.shape_material[at(a.shape)], model.shapes[at(a.shape)].contact_dimension, a.curvature},
                    {parameters.shape_material[at(b.shape)], model.shapes[at(b.shape)].contact_dimension, b.curvature});
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

void CollisionDetector::add(const Contact& contact) {
  contacts_.insert(std::upper_bound(contacts_.begin(), contacts_.end(), contact, by_shapes), contact);
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
