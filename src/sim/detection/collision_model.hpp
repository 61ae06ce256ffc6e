// What collision detection needs to know of a model: the shapes that can collide, made ready for queries, and which of
// them may touch which. Made once, immutable, shared between threads.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "touchstone/collision/broad/broad_phase.hpp"
#include "touchstone/collision/collision_shape.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

// What a search for overlapping shapes did (overlaps.hpp).
struct OverlapCounts {
  long long candidates = 0;  // pairs that were asked for and whose boxes overlap
  long long queries = 0;     // of them those that the narrow phase had to decide
};

// A colliding shape. Its place in CollisionModel::colliders is its proxy in the broad phase.
struct Collider {
  int shape = -1;  // in Model::shapes
  int body = -1;
  int prepared = -1;  // in CollisionModel::prepared
  Pose X_BS;
  Vec3 centre;          // of the shape's bounds, in its frame
  double radius = 0.0;  // of a ball around that centre
  // The shape lies within a box around that centre, along the axes of its frame, grown by `round` on all sides: exactly
  // a sphere, capsule or box, otherwise its bounds.
  Vec3 half;
  double round = 0.0;
  bool loose = false;            // much smaller than that box, and costly to query
  double curvature = kInfinity;  // m: curvature_radius
  double reach = 0.0;            // its share of the largest distance at which it has contacts, m
  bool fixed = false;            // never moves
  bool half_space = false;
};

class CollisionModel : public PairFilter {
 public:
  explicit CollisionModel(const Model& model);

  const std::vector<Collider>& colliders() const { return colliders_; }
  const CollisionShape& shape(const Collider& collider) const {
    return *prepared_[static_cast<std::size_t>(collider.prepared)];
  }
  // The collider of a model's shape, -1 for a shape that never collides.
  int collider_of(int shape) const { return collider_of_[static_cast<std::size_t>(shape)]; }

  // Whether two colliders may touch. MuJoCo's rules: not on one body, nor on bodies that are welded together; not on
  // parent and child, unless the parent does not move (SimulationOptions::filter_parent_contacts); not for excluded
  // bodies; and one's contact type must match the other's affinity. A ContactPair of the model overrules all of these.
  // Beyond MuJoCo: the rule of parents holds for a robot's fixed base too (Body::fixed_base), and shapes that overlap
  // in the reference configuration are left out where the model says so (ShapeElement::exclude_overlaps).
  bool wanted(int collider_a, int collider_b) const override;

  // The index in Model::contact_pairs for two shapes, -1 if the model has none.
  int contact_pair(int shape_a, int shape_b) const;
  // The distance at which two shapes are taken to touch, and how much farther contacts are looked for, m.
  double margin(int shape_a, int shape_b) const;
  double gap(int shape_a, int shape_b) const;

  // Whether it is a mesh that collides as its convex hull although that is much larger than the mesh.
  bool hollow(const Collider& collider) const {
    return hull_ratio_[static_cast<std::size_t>(collider.prepared)] > kHollow;
  }
  // Names those meshes, and the first pairs of the next.
  const std::vector<Warning>& warnings() const { return warnings_; }
  // Pairs of shapes that do not collide because they overlap in the reference configuration
  // (ShapeElement::exclude_overlaps), the smaller shape first, sorted.
  const std::vector<std::pair<int, int>>& overlapping() const { return overlapping_; }
  // What it took to find them.
  const OverlapCounts& overlap_counts() const { return overlap_counts_; }
  const Model& model() const { return *model_; }

 private:
  bool bodies_may_touch(int body_a, int body_b) const;
  bool mounted(const Collider& base, const Collider& moving) const;
  bool may_leave_out(int collider_a, int collider_b) const;
  void find_bases();
  void add_collider(int shape, std::unordered_map<const void*, int>& prepared_meshes);
  void warn_of_hollows();
  void exclude_overlaps();

  // A hull with more than so many times the volume of its mesh fills hollows that matter.
  static constexpr double kHollow = 1.5;

  const Model* model_;  // outlives this
  std::vector<Collider> colliders_;
  std::vector<int> collider_of_;  // nshape
  std::vector<std::unique_ptr<const CollisionShape>> prepared_;
  std::vector<double> hull_ratio_;  // by prepared shape: volume of the hull over that of the mesh, 1 for other shapes
  std::unordered_set<std::uint64_t> exclusions_;          // pairs of bodies
  std::unordered_map<std::uint64_t, int> contact_pairs_;  // pairs of shapes -> index
  std::vector<int> tree_base_;                            // nbody: the fixed base that its tree is mounted on, 0: none
  std::vector<std::pair<int, int>> overlapping_;
  OverlapCounts overlap_counts_;
  std::vector<Warning> warnings_;
};

}  // namespace touchstone
