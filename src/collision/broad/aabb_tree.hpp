// A binary tree of axis-aligned boxes whose leaves come, go and move.
//
// Method: a new leaf descends to the sibling where it adds least to the total surface area of the tree (the surface
// area heuristic of ray tracing, Goldsmith and Salmon 1987; greedily, as in Catto, "Dynamic Bounding Volume
// Hierarchies", GDC 2019); on the way back up each node tries the four rotations that swap a child with a grandchild
// and takes the best. Queries keep their stack on the stack: the height is bounded, since a tree that grows too high
// is built anew from its leaves.
// Cost: insertion, removal and box queries O(log n) for boxes that are spread out.
#pragma once

#include <vector>

#include "touchstone/collision/broad/aabb.hpp"

namespace touchstone {

class AabbTree {
 public:
  // A leaf with the caller's number `item`. Returns its node, valid until removed.
  int insert(const Aabb& box, int item);
  void remove(int leaf);
  // Gives a leaf another box. One that stays near its sibling stays in its place, others are inserted anew.
  void move(int leaf, const Aabb& box);
  void clear();
  void reserve(int leaves);

  const Aabb& box(int node) const { return nodes_[index(node)].box; }
  int item(int leaf) const { return nodes_[index(leaf)].item; }
  int leaf_count() const { return leaf_count_; }
  int height() const { return root_ < 0 ? 0 : nodes_[index(root_)].height; }
  // The sum of half the surface areas of the inner nodes: how much work a query is.
  double cost() const;

  // Calls visit(item) for each leaf whose box overlaps `box`, in an order that depends on the tree alone.
  template <class Visit>
  void query(const Aabb& box, Visit&& visit) const {
    if (root_ < 0 || !overlap(nodes_[index(root_)].box, box)) return;
    int stack[kMaxHeight + 2];
    int size = 0;
    stack[size++] = root_;
    while (size > 0) {
      const Node& node = nodes_[index(stack[--size])];
      if (node.leaf()) {
        visit(node.item);
        continue;
      }
      if (overlap(nodes_[index(node.child[1])].box, box)) stack[size++] = node.child[1];
      if (overlap(nodes_[index(node.child[0])].box, box)) stack[size++] = node.child[0];
    }
  }

  // Calls length = visit(item, length) for leaves that the ray origin + t direction, 0 <= t <= length, enters. The
  // answer is how far the ray still has to look: the distance of a hit, or the same length.
  template <class Visit>
  void raycast(Vec3 origin, Vec3 direction, double length, Visit&& visit) const {
    if (root_ < 0) return;
    const Vec3 inverse(Lanes{1.0, 1.0, 1.0, 0.0} / Lanes{direction.x(), direction.y(), direction.z(), 1.0});
    int stack[kMaxHeight + 2];
    int size = 0;
    stack[size++] = root_;
    while (size > 0) {
      const Node& node = nodes_[index(stack[--size])];
      if (ray_entry(node.box, origin, inverse, length) > length) continue;
      if (node.leaf()) {
        length = visit(node.item, length);
        continue;
      }
      const double first = ray_entry(nodes_[index(node.child[0])].box, origin, inverse, length);
      const double second = ray_entry(nodes_[index(node.child[1])].box, origin, inverse, length);
      const int near = first <= second ? 0 : 1;  // on top of the stack
      stack[size++] = node.child[1 - near];
      stack[size++] = node.child[near];
    }
  }

  // For tests: parents, boxes and heights are consistent.
  bool valid() const;

 private:
  static constexpr int kMaxHeight = 120;

  struct Node {
    Aabb box;
    int parent = -1;
    int child[2] = {-1, -1};
    int item = -1;
    int height = 0;
    bool leaf() const { return child[0] < 0; }
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  Node& node(int i) { return nodes_[index(i)]; }
  const Node& node(int i) const { return nodes_[index(i)]; }

  int allocate();
  void attach(int leaf);
  void detach(int leaf);
  int best_sibling(const Aabb& box) const;
  bool stays_near_sibling(int leaf, const Aabb& box) const;
  void refit_upwards(int from);
  void refit_changed(int from);
  void refit(int i);
  void rotate(int i);
  void swap_subtrees(int a, int b);
  void rebuild();
  int build(int* leaves, int count, int parent);

  std::vector<Node> nodes_;
  std::vector<int> free_;
  std::vector<int> leaves_;  // scratch of rebuild
  int root_ = -1;
  int leaf_count_ = 0;
};

}  // namespace touchstone
