// A static bounding volume tree over the triangles or pieces of a shape.
//
// Built once, top down, by the surface area heuristic over bins (Wald, "On Fast Construction of SAH-based Bounding
// Volume Hierarchies", 2007). The nodes are one flat array, children beside each other; queries use a stack of fixed
// size and allocate nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "touchstone/geometry/mesh.hpp"
#include "touchstone/math/vec3.hpp"

namespace touchstone {

class Bvh {
 public:
  Bvh() = default;
  // One box for each item. Boxes must be finite.
  explicit Bvh(const std::vector<Bounds>& boxes);

  bool empty() const { return nodes_.empty(); }
  // The box of all items; not for an empty tree.
  Bounds bounds() const { return {nodes_[0].lower.eigen(), nodes_[0].upper.eigen()}; }

  // Calls visit(item) for every item whose node overlaps the box. visit returns false to end the search.
  template <typename Visit>
  void overlapping(const Bounds& box, Visit&& visit) const {
    const Vec3 lower(box.lower), upper(box.upper);
    search([&](const Node& node) { return overlap(node, lower, upper) ? 0.0 : -1.0; }, visit);
  }

  // Calls visit(item) for every item whose box reaches below the plane normal.x = offset.
  template <typename Visit>
  void below(Vec3 normal, double offset, Visit&& visit) const {
    search([&](const Node& node) { return lowest(node, normal) <= offset ? 0.0 : -1.0; }, visit);
  }

  // Calls visit(item, limit) for the items whose boxes the ray origin + t direction meets at 0 <= t <= limit, nearer
  // boxes first as a rule. visit may lower the limit.
  template <typename Visit>
  void along_ray(Vec3 origin, Vec3 direction, double limit, Visit&& visit) const {
    search(
        [&](const Node& node) {
          const double t = entry(node, origin, direction, limit);
          return t <= limit ? t : -1.0;
        },
        [&](int item) {
          visit(item, limit);
          return true;
        });
  }

  // Calls visit(item, limit) for the items whose boxes are nearer to the box than `limit`, which visit may lower.
  template <typename Visit>
  void near(const Bounds& box, double limit, Visit&& visit) const {
    const Vec3 lower(box.lower), upper(box.upper);
    search(
        [&](const Node& node) {
          const double d = gap(node, lower, upper);
          return d <= limit ? d : -1.0;
        },
        [&](int item) {
          visit(item, limit);
          return true;
        });
  }

 private:
  struct Node {
    Vec3 lower, upper;
    int first = 0;  // leaf: of items_; else the left child, with the right one after it
    int count = 0;  // of items; 0: not a leaf
  };
  static constexpr int kMaxDepth = 64;

  class Builder;

  static bool overlap(const Node& node, Vec3 lower, Vec3 upper) {
    for (int k = 0; k < 3; ++k) {
      if (node.lower[k] > upper[k] || lower[k] > node.upper[k]) return false;
    }
    return true;
  }
  static double lowest(const Node& node, Vec3 normal) {
    const Vec3 a(node.lower.lanes * normal.lanes), b(node.upper.lanes * normal.lanes);
    return sum(a.lanes < b.lanes ? a.lanes : b.lanes);
  }
  static double entry(const Node& node, Vec3 origin, Vec3 direction, double limit);
  static double gap(const Node& node, Vec3 lower, Vec3 upper);

  // `order` gives a node's place in the queue, smaller first, or a negative number to leave it out.
  template <typename Order, typename Visit>
  void search(const Order& order, Visit&& visit) const {
    if (nodes_.empty() || !(order(nodes_[0]) >= 0.0)) return;
    int stack[kMaxDepth + 1], size = 0;
    stack[size++] = 0;
    while (size > 0) {
      const Node& node = nodes_[static_cast<std::size_t>(stack[--size])];
      if (node.count > 0) {
        if (!(order(node) >= 0.0)) continue;  // what was visited since may have ruled it out
        for (int k = node.first; k < node.first + node.count; ++k) {
          if (!visit(items_[static_cast<std::size_t>(k)])) return;
        }
        continue;
      }
      const double left = order(nodes_[static_cast<std::size_t>(node.first)]);
      const double right = order(nodes_[static_cast<std::size_t>(node.first) + 1]);
      const bool left_first = left <= right;
      if (left_first && right >= 0.0) stack[size++] = node.first + 1;
      if (left >= 0.0) stack[size++] = node.first;
      if (!left_first && right >= 0.0) stack[size++] = node.first + 1;
    }
  }

  std::vector<Node> nodes_;
  std::vector<int> items_;
};

}  // namespace touchstone
