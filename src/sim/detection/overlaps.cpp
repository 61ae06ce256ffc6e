#include "touchstone/sim/detection/overlaps.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/collision/broad/aabb_tree.hpp"
#include "touchstone/collision/narrow/closed_forms.hpp"
#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone {
namespace {

// A capsule within a shape, along z of its own frame; a negative radius: none is known.
struct Core {
  Pose X;  // in the shape, later in the world
  double half_length = 0.0;
  double radius = -1.0;
};

Mat3 axes_with_z_along(int axis) {
  const Vec3 x(1, 0, 0), y(0, 1, 0), z(0, 0, 1);
  if (axis == 0) return {y, z, x};
  return axis == 1 ? Mat3{z, x, y} : Mat3{x, y, z};
}

Core core_of_box(const Vector3& half) {
  int longest = 0;
  half.maxCoeff(&longest);
  const double radius = half.minCoeff();
  const Pose X(axes_with_z_along(longest), Vec3());
  return {X, half[longest] - radius, radius};
}

// The largest ball around the mean of its vertices that a hull contains.
Core core_of_hull(const Polytope& hull) {
  if (hull.triangles.empty()) return {};
  Vec3 centre;
  for (const Vec3& vertex : hull.vertices) centre = centre + vertex;
  centre = centre * (1.0 / static_cast<double>(hull.vertices.size()));
  double radius = std::numeric_limits<double>::infinity();
  for (std::size_t f = 0; f < hull.face_normals.size(); ++f) {
    const Vec3 corner = hull.vertices[at(hull.face_vertices[at(hull.first_face_vertex[f])])];
    radius = std::min(radius, dot(hull.face_normals[f], corner - centre));
  }
  return {Pose(Mat3::identity(), centre), 0.0, std::isfinite(radius) ? radius : -1.0};
}

Core core_of(const Shape& shape, const CollisionShape& prepared) {
  const Vector3& size = shape.size;
  switch (shape.type) {
    case ShapeType::kSphere:
      return {Pose(), 0.0, size[0]};
    case ShapeType::kCapsule:
      return {Pose(), size[1], size[0]};
    case ShapeType::kCylinder: {
      const double radius = std::min(size[0], size[1]);
      return {Pose(), size[1] - radius, radius};
    }
    case ShapeType::kEllipsoid:
      return {Pose(), 0.0, size.minCoeff()};
    case ShapeType::kBox:
      return core_of_box(size);
    default: {
      const Polytope* hull = prepared.is_convex() ? prepared.pieces()[0].polytope() : nullptr;
      return hull == nullptr ? Core{} : core_of_hull(*hull);
    }
  }
}

class Search {
 public:
  Search(const CollisionModel& shapes, const Data& data, double least_depth) : shapes_(shapes), depth_(least_depth) {
    const std::vector<Collider>& colliders = shapes.colliders();
    std::vector<Core> prepared;  // by prepared shape
    std::vector<bool> known;
    for (const Collider& c : colliders) {
      if (at(c.prepared) >= known.size()) {
        known.resize(at(c.prepared) + 1, false);
        prepared.resize(known.size());
      }
      if (!known[at(c.prepared)]) {
        prepared[at(c.prepared)] = core_of(shapes.model().shapes[at(c.shape)].shape, shapes.shape(c));
        known[at(c.prepared)] = true;
      }
      poses_.push_back(data.X_WB[at(c.body)] * c.X_BS);
      Core core = prepared[at(c.prepared)];
      core.X = poses_.back() * core.X;
      cores_.push_back(core);
      boxes_.push_back(c.half_space ? Aabb() : Aabb(shapes.shape(c).bounds(poses_.back())));
    }
  }

  std::vector<std::pair<int, int>> run(const std::function<bool(int, int)>& asked) {
    const std::vector<Collider>& colliders = shapes_.colliders();
    std::vector<std::pair<int, int>> found;
    std::vector<int> half_spaces, partners;
    // Later colliders first, so that each one meets those of larger number only.
    AabbTree tree;
    tree.reserve(static_cast<int>(colliders.size()));
    std::vector<std::size_t> first(colliders.size() + 1, 0);
    for (int i = static_cast<int>(colliders.size()) - 1; i >= 0; --i) {
      partners = half_spaces;
      if (colliders[at(i)].half_space) {
        for (int j = i + 1; j < static_cast<int>(colliders.size()); ++j) partners.push_back(j);
        half_spaces.push_back(i);
      } else {
        tree.query(boxes_[at(i)], [&](int j) { partners.push_back(j); });
        tree.insert(boxes_[at(i)], i);
      }
      std::sort(partners.begin(), partners.end());
      partners.erase(std::unique(partners.begin(), partners.end()), partners.end());
      for (auto j = partners.rbegin(); j != partners.rend(); ++j) {
        if (asked(i, *j) && overlap(i, *j)) found.emplace_back(i, *j);
      }
      if (found.size() > kMostOverlaps) fail_too_many();
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

  double depth(int i, int j) {
    const std::vector<Collider>& colliders = shapes_.colliders();
    manifolds_.clear();
    collide(shapes_.shape(colliders[at(i)]), poses_[at(i)], shapes_.shape(colliders[at(j)]), poses_[at(j)], 0.0,
            workspace_, nullptr, manifolds_, {});
    double depth = 0.0;
    for (const Manifold& manifold : manifolds_) {
      for (int k = 0; k < manifold.count; ++k) depth = std::max(depth, -manifold.points[k].distance);
    }
    return depth;
  }

  const OverlapCounts& counts() const { return counts_; }

 private:
  bool overlap(int i, int j) {
    ++counts_.candidates;
    // Rounding must not make an overlap of a mere touch.
    constexpr double kSafe = 1.0 - 1e-9;
    const Core &a = cores_[at(i)], &b = cores_[at(j)];
    if (a.radius > 0.0 && b.radius > 0.0) {
      const double apart = closed_forms::segment_segment(a.half_length, a.X, b.half_length, b.X).distance;
      if (apart < kSafe * (a.radius + b.radius) - depth_) return true;
    }
    ++counts_.queries;
    return depth(i, j) > depth_;
  }

  [[noreturn]] void fail_too_many() const {
    throw InputError({.where = {shapes_.model().file, 0, {}},
                      .message = fmt::format("more than {} pairs of shapes overlap", kMostOverlaps),
                      .remedy = "put the bodies apart, or give them contact types that do not match"});
  }

  const CollisionModel& shapes_;
  double depth_;
  std::vector<Pose> poses_;  // by collider, as the next two
  std::vector<Core> cores_;
  std::vector<Aabb> boxes_;
  CollisionWorkspace workspace_;
  std::vector<Manifold> manifolds_;
  OverlapCounts counts_;
};

}  // namespace

std::vector<std::pair<int, int>> find_overlaps(const CollisionModel& shapes, const Data& data, double least_depth,
                                               const std::function<bool(int, int)>& asked, OverlapCounts* counts) {
  Search search(shapes, data, least_depth);
  std::vector<std::pair<int, int>> found = search.run(asked);
  if (counts != nullptr) *counts = search.counts();
  return found;
}

std::string describe_overlaps(const CollisionModel& shapes, const Data& data,
                              const std::vector<std::pair<int, int>>& pairs) {
  constexpr std::size_t kNamed = 8;
  Search search(shapes, data, 0.0);
  // Shapes without a name have a number only: the body tells more.
  const auto name = [&](int collider) {
    const Collider& c = shapes.colliders()[at(collider)];
    const std::string& shape = shapes.model().shapes[at(c.shape)].name;
    const std::string& body = shapes.model().bodies[at(c.body)].name;
    const bool said = c.body == 0 || shape.find(body) != std::string::npos;
    return said ? fmt::format("'{}'", shape) : fmt::format("'{}' of '{}'", shape, body);
  };
  std::string text;
  for (std::size_t k = 0; k < std::min(kNamed, pairs.size()); ++k) {
    const auto [i, j] = pairs[k];
    text += fmt::format("{}{} and {} by {:.2g} m", k == 0 ? "" : ", ", name(i), name(j), search.depth(i, j));
  }
  if (pairs.size() > kNamed) text += fmt::format(", and {} more", pairs.size() - kNamed);
  return text;
}

std::vector<Warning> start_warnings(const CollisionModel& shapes, const State& start) {
  constexpr double kNotable = 1e-3;  // m; what soft contacts at rest have, and what is pushed out without a jolt
  const Model& model = shapes.model();
  if (!model.options.contacts_enabled) return {};
  Data data(model);
  forward_kinematics(model, model.defaults, start, data);
  const std::vector<Collider>& colliders = shapes.colliders();
  const auto asked = [&](int i, int j) {
    return !(colliders[at(i)].fixed && colliders[at(j)].fixed) && shapes.wanted(i, j);
  };
  const std::vector<std::pair<int, int>> pairs = find_overlaps(shapes, data, kNotable, asked);
  if (pairs.empty()) return {};
  return {{{model.file, 0, {}},
           fmt::format("{} overlap at the start and will be pushed apart: {}",
                       pairs.size() == 1 ? std::string("two shapes") : fmt::format("{} pairs of shapes", pairs.size()),
                       describe_overlaps(shapes, data, pairs))}};
}

}  // namespace touchstone
