#include "touchstone/collision/collision_model.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/geometry/manifold.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/geometry/query.hpp"

namespace touchstone {
namespace {

std::uint64_t key_of(int a, int b) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(std::min(a, b))) << 32) |
         static_cast<std::uint32_t>(std::max(a, b));
}

std::size_t at(int i) { return static_cast<std::size_t>(i); }

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
  if (model.options.exclude_overlaps) exclude_overlaps();
}

// Every pair of moving shapes at the reference configuration; cost O(shapes^2), once.
void CollisionModel::exclude_overlaps() {
  Data data(*model_);
  forward_kinematics(*model_, model_->defaults, State(*model_), data);
  CollisionWorkspace workspace;
  std::vector<Manifold> manifolds;
  std::vector<Pose> poses;
  for (const Collider& c : colliders_) poses.push_back(data.X_WB[at(c.body)] * c.X_BS);
  const int count = static_cast<int>(colliders_.size());
  for (int i = 0; i < count; ++i) {
    for (int j = i + 1; j < count; ++j) {
      const Collider &a = colliders_[at(i)], &b = colliders_[at(j)];
      if (a.fixed || b.fixed || contact_pair(a.shape, b.shape) >= 0 || !wanted(i, j)) continue;
      manifolds.clear();
      collide(shape(a), poses[at(i)], shape(b), poses[at(j)], 0.0, workspace, nullptr, manifolds, {});
      double depth = 0.0;
      for (const Manifold& manifold : manifolds) {
        for (int k = 0; k < manifold.count; ++k) depth = std::max(depth, -manifold.points[k].distance);
      }
      if (!(depth > 0.0)) continue;
      excluded_shapes_.insert(key_of(a.shape, b.shape));
      overlapping_.emplace_back(a.shape, b.shape);
      warnings_.push_back(
          {model_->shapes[at(b.shape)].origin,
           fmt::format("shapes '{}' and '{}' overlap by {:.2g} m in the reference configuration and will not collide",
                       model_->shapes[at(a.shape)].name, model_->shapes[at(b.shape)].name, depth)});
    }
  }
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
    prepared_.push_back(std::make_unique<const CollisionShape>(CollisionShape::make(s)));
    if (key != nullptr) prepared_meshes.emplace(key, static_cast<int>(colliders_.size()));
    hull_ratio_.push_back(hull_ratio(s, *prepared_.back()));
  }
  c.shape = shape;
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
  warn_if_hollow(c);
}

void CollisionModel::warn_if_hollow(const Collider& collider) {
  if (!hollow(collider)) return;
  const ShapeElement& element = model_->shapes[at(collider.shape)];
  warnings_.push_back(
      {element.origin,
       fmt::format(
           "shape '{}' collides as the convex hull of mesh '{}', which has {:.1f} times its volume: things will "
           "touch the air in its hollows; 'touchstone decompose' splits the mesh into convex pieces",
           element.name, element.shape.mesh->name, hull_ratio_[at(collider.prepared)])});
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
  if (!excluded_shapes_.empty() && excluded_shapes_.contains(key_of(a.shape, b.shape))) return false;
  return !s.visual_only && !t.visual_only && bodies_may_touch(a.body, b.body);
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
