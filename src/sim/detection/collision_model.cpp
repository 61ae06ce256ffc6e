#include "touchstone/sim/detection/collision_model.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/sim/detection/material.hpp"
#include "touchstone/sim/detection/overlaps.hpp"

namespace touchstone {
namespace {

std::uint64_t key_of(int a, int b) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(std::min(a, b))) << 32) |
         static_cast<std::uint32_t>(std::max(a, b));
}

bool collides(const ShapeElement& shape) {
  return !shape.visual_only && (shape.contact_type != 0 || shape.contact_affinity != 0);
}

double volume(const Polytope& hull) {
  double six_volumes = 0.0;
  for (const Eigen::Vector3i& t : hull.triangles) {
    six_volumes += dot(hull.vertices[at(t[0])], cross(hull.vertices[at(t[1])], hull.vertices[at(t[2])]));
  }
  return six_volumes / 6.0;
}

// Of an open or badly oriented surface a generous guess, zero for a flat one.
double volume_of_surface(const Shape& mesh) {
  for (const MeshInertia kind : {MeshInertia::kExact, MeshInertia::kLegacy}) {
    try {
      return volume(mesh, kind);
    } catch (const Error&) {
      continue;
    }
  }
  return 0.0;
}

double hull_ratio(const Shape& s, const CollisionShape& prepared) {
  if (s.type != ShapeType::kMesh || s.mesh_collision != MeshCollision::kHull || s.mesh->triangles.empty()) return 1.0;
  const Polytope* hull = prepared.is_convex() ? prepared.pieces()[0].polytope() : nullptr;
  const double mesh_volume = volume_of_surface(s);
  return hull == nullptr || !(mesh_volume > 0.0) ? 1.0 : volume(*hull) / mesh_volume;
}

// Errors name the shape.
std::unique_ptr<const CollisionShape> prepare(const ShapeElement& element) {
  try {
    return std::make_unique<const CollisionShape>(CollisionShape::make(element.shape));
  } catch (const Error& error) {
    Origin where = element.origin;
    if (where.element.empty()) where.element = fmt::format("shape '{}'", element.name);
    throw InputError({.where = std::move(where), .message = error.message(), .remedy = error.remedy()});
  }
}

}  // namespace

CollisionModel::CollisionModel(const Model& model) : model_(&model) {
  for (const ContactExclusion& e : model.contact_exclusions) exclusions_.insert(key_of(e.body_a, e.body_b));
  std::vector<bool> wanted_by_pair(at(model.nshape), false);
  for (std::size_t i = 0; i < model.contact_pairs.size(); ++i) {
    const ContactPair& pair = model.contact_pairs[i];
    contact_pairs_.emplace(key_of(pair.shape_a, pair.shape_b), static_cast<int>(i));
    wanted_by_pair[at(pair.shape_a)] = wanted_by_pair[at(pair.shape_b)] = true;
  }
  std::unordered_map<const void*, int> prepared_meshes;
  collider_of_.assign(at(model.nshape), -1);
  for (int i = 0; i < model.nshape; ++i) {
    if (collides(model.shapes[at(i)]) || wanted_by_pair[at(i)]) add_collider(i, prepared_meshes);
  }
  for (const ContactPair& pair : model.contact_pairs) {
    for (const int shape : {pair.shape_a, pair.shape_b}) {
      Collider& c = colliders_[at(collider_of(shape))];
      c.reach = std::max(c.reach, pair.margin + pair.gap);
    }
  }
  warn_of_hollows();
  find_bases();
  const auto flagged = [&](const Collider& c) { return model.shapes[at(c.shape)].exclude_overlaps; };
  if (model.options.exclude_overlaps || std::any_of(colliders_.begin(), colliders_.end(), flagged)) exclude_overlaps();
}

// Which fixed base each body's tree is mounted on.
void CollisionModel::find_bases() {
  tree_base_.assign(at(model_->nbody), 0);
  for (int b = 1; b < model_->nbody; ++b) {
    const int weld = model_->body_weld[at(b)];
    if (weld == 0) continue;
    const int parent = model_->bodies[at(b)].parent;
    tree_base_[at(b)] = model_->body_weld[at(parent)] == 0 ? model_->bodies[at(b)].fixed_base : tree_base_[at(parent)];
  }
}

bool CollisionModel::mounted(const Collider& base, const Collider& moving) const {
  const int number = model_->shapes[at(base.shape)].fixed_base;
  return number > 0 && base.fixed && !moving.fixed &&
         model_->bodies[at(model_->body_weld[at(moving.body)])].fixed_base == number;
}

// Whether an overlap in the reference configuration is a reason not to collide. Surroundings always collide.
bool CollisionModel::may_leave_out(int collider_a, int collider_b) const {
  const Collider &a = colliders_[at(collider_a)], &b = colliders_[at(collider_b)];
  if (contact_pair(a.shape, b.shape) >= 0) return false;
  const ShapeElement &s = model_->shapes[at(a.shape)], &t = model_->shapes[at(b.shape)];
  const bool flagged = s.exclude_overlaps && t.exclude_overlaps;
  if (!a.fixed && !b.fixed) return flagged || model_->options.exclude_overlaps;
  if (!flagged || (a.fixed && b.fixed)) return false;
  const int base = a.fixed ? s.fixed_base : t.fixed_base;
  return base > 0 && tree_base_[at(a.fixed ? b.body : a.body)] == base;
}

void CollisionModel::exclude_overlaps() {
  Data data(*model_);
  forward_kinematics(*model_, model_->defaults, State(*model_), data);
  const auto asked = [this](int i, int j) { return may_leave_out(i, j) && wanted(i, j); };
  const std::vector<std::pair<int, int>> pairs = find_overlaps(*this, data, 0.0, asked, &overlap_counts_);
  if (pairs.empty()) return;
  warnings_.push_back(
      {{model_->file, 0, {}},
       fmt::format("{} overlap in the reference configuration and will not collide: {}",
                   pairs.size() == 1 ? std::string("two shapes") : fmt::format("{} pairs of shapes", pairs.size()),
                   describe_overlaps(*this, data, pairs))});
  overlapping_.reserve(pairs.size());
  for (const auto& [i, j] : pairs) overlapping_.emplace_back(colliders_[at(i)].shape, colliders_[at(j)].shape);
}

void CollisionModel::add_collider(int shape, std::unordered_map<const void*, int>& prepared_meshes) {
  const ShapeElement& element = model_->shapes[at(shape)];
  const Shape& s = element.shape;
  // Shapes that share a mesh share its hull: preparing it is the expensive part.
  const bool plain_mesh = s.type == ShapeType::kMesh && s.mesh_collision != MeshCollision::kPieces;
  const void* key = plain_mesh ? s.mesh.get() : nullptr;
  const auto known = prepared_meshes.find(key);
  Collider c;
  if (key != nullptr && known != prepared_meshes.end() &&
      model_->shapes[at(colliders_[at(known->second)].shape)].shape.mesh_collision == s.mesh_collision) {
    c.prepared = colliders_[at(known->second)].prepared;
  } else {
    c.prepared = static_cast<int>(prepared_.size());
    prepared_.push_back(prepare(element));
    if (key != nullptr) prepared_meshes.emplace(key, static_cast<int>(colliders_.size()));
    hull_ratio_.push_back(hull_ratio(s, *prepared_.back()));
  }
  c.shape = shape;
  c.curvature = curvature_radius(s);
  c.body = element.body;
  c.X_BS = Pose(element.pose);
  c.reach = element.margin + element.gap;
  c.half_space = s.type == ShapeType::kPlane;
  const bool is_mocap = model_->body_kernels[at(element.body)].mocap >= 0;
  c.fixed = model_->body_weld[at(element.body)] == 0 && !is_mocap;
  if (!c.half_space) {
    const Aabb box(prepared_[at(c.prepared)]->bounds(Pose()));
    c.centre = box.centre();
    const Vec3 half = 0.5 * (box.upper - box.lower);
    c.radius = std::sqrt(dot(half, half));
    c.half = half;
    if (s.type == ShapeType::kSphere || s.type == ShapeType::kCapsule) {
      c.round = half.x();
      c.half = half - Vec3(c.round, c.round, c.round);
    }
    c.loose = s.type == ShapeType::kMesh || s.type == ShapeType::kHeightField;
  }
  collider_of_[at(shape)] = static_cast<int>(colliders_.size());
  colliders_.push_back(c);
}

void CollisionModel::warn_of_hollows() {
  constexpr std::size_t kNamed = 8;
  std::size_t count = 0;
  std::string names;
  for (const Collider& collider : colliders_) {
    if (!hollow(collider) || ++count > kNamed) continue;
    const ShapeElement& element = model_->shapes[at(collider.shape)];
    names += fmt::format("{}'{}' (mesh '{}', {:.1f} times)", count == 1 ? "" : ", ", element.name,
                         element.shape.mesh->name, hull_ratio_[at(collider.prepared)]);
  }
  if (count == 0) return;
  if (count > kNamed) names += fmt::format(", and {} more", count - kNamed);
  warnings_.push_back(
      {{model_->file, 0, {}},
       fmt::format("things will touch the air in hollows of meshes that collide as their convex hulls, which have many "
                   "times their volume: {}; 'touchstone decompose' splits them into convex pieces",
                   names)});
}

bool CollisionModel::bodies_may_touch(int body_a, int body_b) const {
  const int weld_a = model_->body_weld[at(body_a)], weld_b = model_->body_weld[at(body_b)];
  if (weld_a == weld_b) return false;
  if (model_->options.filter_parent_contacts && weld_a != 0 && weld_b != 0) {
    const int parent_a = model_->body_weld[at(model_->bodies[at(weld_a)].parent)];
    const int parent_b = model_->body_weld[at(model_->bodies[at(weld_b)].parent)];
    if (parent_a == weld_b || parent_b == weld_a) return false;
  }
  return exclusions_.empty() || !exclusions_.contains(key_of(body_a, body_b));
}

bool CollisionModel::wanted(int collider_a, int collider_b) const {
  const Collider &a = colliders_[at(collider_a)], &b = colliders_[at(collider_b)];
  if (contact_pair(a.shape, b.shape) >= 0) return true;
  const ShapeElement &s = model_->shapes[at(a.shape)], &t = model_->shapes[at(b.shape)];
  if (((s.contact_type & t.contact_affinity) | (t.contact_type & s.contact_affinity)) == 0) return false;
  if (s.visual_only || t.visual_only || !bodies_may_touch(a.body, b.body)) return false;
  if (model_->options.filter_parent_contacts && (mounted(a, b) || mounted(b, a))) return false;
  return overlapping_.empty() || !std::binary_search(overlapping_.begin(), overlapping_.end(),
                                                     std::pair<int, int>(std::minmax(a.shape, b.shape)));
}

int CollisionModel::contact_pair(int shape_a, int shape_b) const {
  if (contact_pairs_.empty()) return -1;
  const auto found = contact_pairs_.find(key_of(shape_a, shape_b));
  return found == contact_pairs_.end() ? -1 : found->second;
}

double CollisionModel::margin(int shape_a, int shape_b) const {
  const int pair = contact_pair(shape_a, shape_b);
  if (pair >= 0) return model_->contact_pairs[at(pair)].margin;
  return model_->shapes[at(shape_a)].margin + model_->shapes[at(shape_b)].margin;
}

double CollisionModel::gap(int shape_a, int shape_b) const {
  const int pair = contact_pair(shape_a, shape_b);
  if (pair >= 0) return model_->contact_pairs[at(pair)].gap;
  return model_->shapes[at(shape_a)].gap + model_->shapes[at(shape_b)].gap;
}

}  // namespace touchstone
