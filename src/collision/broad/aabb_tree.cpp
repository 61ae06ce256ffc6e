#include "touchstone/collision/broad/aabb_tree.hpp"

#include <algorithm>

namespace touchstone {

double ray_entry(const Aabb& box, Vec3 origin, Vec3 inverse, double length) {
  double enter = 0.0, leave = length;
  for (int k = 0; k < 3; ++k) {
    const double low = (box.lower[k] - origin[k]) * inverse[k], high = (box.upper[k] - origin[k]) * inverse[k];
    // A ray in a plane of the box gives 0 times infinity: NaN loses every comparison, and so does not count.
    enter = std::max(enter, std::min(low, high));
    leave = std::min(leave, std::max(low, high));
  }
  return enter <= leave ? enter : std::numeric_limits<double>::infinity();
}

int AabbTree::allocate() {
  if (!free_.empty()) {
    const int i = free_.back();
    free_.pop_back();
    node(i) = Node{};
    return i;
  }
  nodes_.emplace_back();
  return static_cast<int>(nodes_.size()) - 1;
}

void AabbTree::reserve(int leaves) {
  nodes_.reserve(2 * index(leaves));
  free_.reserve(2 * index(leaves));
  leaves_.reserve(index(leaves));
}

void AabbTree::clear() {
  nodes_.clear();
  free_.clear();
  root_ = -1;
  leaf_count_ = 0;
}

int AabbTree::insert(const Aabb& box, int item) {
  const int leaf = allocate();
  node(leaf).box = box;
  node(leaf).item = item;
  ++leaf_count_;
  attach(leaf);
  return leaf;
}

void AabbTree::remove(int leaf) {
  detach(leaf);
  free_.push_back(leaf);
  --leaf_count_;
}

void AabbTree::move(int leaf, const Aabb& box) {
  if (stays_near_sibling(leaf, box)) {
    node(leaf).box = box;
    refit_changed(node(leaf).parent);
    return;
  }
  detach(leaf);
  node(leaf).box = box;
  attach(leaf);
}

// Whether the box around a leaf and its sibling would be no larger than both of them.
bool AabbTree::stays_near_sibling(int leaf, const Aabb& box) const {
  const int parent = node(leaf).parent;
  if (parent < 0) return false;
  const Aabb& sibling = node(node(parent).child[node(parent).child[0] == leaf ? 1 : 0]).box;
  return half_area(join(sibling, box)) <= half_area(sibling) + half_area(box);
}

void AabbTree::attach(int leaf) {
  if (root_ < 0) {
    root_ = leaf;
    node(leaf).parent = -1;
    return;
  }
  const int sibling = best_sibling(node(leaf).box);
  const int parent = allocate();
  const int grandparent = node(sibling).parent;
  node(parent).parent = grandparent;
  node(parent).child[0] = sibling;
  node(parent).child[1] = leaf;
  if (grandparent < 0) {
    root_ = parent;
  } else {
    Node& g = node(grandparent);
    g.child[g.child[0] == sibling ? 0 : 1] = parent;
  }
  node(sibling).parent = parent;
  node(leaf).parent = parent;
  refit_upwards(parent);
  if (height() > kMaxHeight) rebuild();
}

void AabbTree::detach(int leaf) {
  const int parent = node(leaf).parent;
  if (parent < 0) {
    root_ = -1;
    return;
  }
  const int grandparent = node(parent).parent;
  const int sibling = node(parent).child[node(parent).child[0] == leaf ? 1 : 0];
  node(sibling).parent = grandparent;
  if (grandparent < 0) {
    root_ = sibling;
  } else {
    Node& g = node(grandparent);
    g.child[g.child[0] == parent ? 0 : 1] = sibling;
    // No rotations: whoever is attached next makes them.
    for (int i = grandparent; i >= 0; i = node(i).parent) {
      const Aabb box = node(i).box;
      const int height = node(i).height;
      refit(i);
      if (node(i).height == height && contains(node(i).box, box)) break;
    }
  }
  free_.push_back(parent);
}

// Descends while a child could hold the box for less than pairing it with the node at hand. `inherited` is what the
// box adds to the ancestors of that node.
int AabbTree::best_sibling(const Aabb& box) const {
  int i = root_;
  double inherited = 0.0;
  const double box_area = half_area(box);
  while (!node(i).leaf()) {
    const Node& n = node(i);
    const double joined = half_area(join(n.box, box));
    const double here = inherited + joined;  // a new parent of n and the box
    inherited += joined - half_area(n.box);
    int best = -1;
    double best_bound = here;
    for (const int child : n.child) {
      const Node& c = node(child);
      const double grown_area = half_area(join(c.box, box));
      // A leaf would get a new parent; below an inner child at least the box's own area is added.
      const double bound = c.leaf() ? inherited + grown_area : inherited + grown_area - half_area(c.box) + box_area;
      if (bound < best_bound) {
        best_bound = bound;
        best = child;
      }
    }
    if (best < 0) return i;
    i = best;
  }
  return i;
}

void AabbTree::refit(int i) {
  Node& n = node(i);
  const Node &a = node(n.child[0]), &b = node(n.child[1]);
  n.box = join(a.box, b.box);
  n.height = 1 + std::max(a.height, b.height);
}

void AabbTree::refit_upwards(int from) {
  for (int i = from; i >= 0; i = node(i).parent) {
    refit(i);
    rotate(i);
  }
}

// The same, up to where nothing changes any more.
void AabbTree::refit_changed(int from) {
  for (int i = from; i >= 0; i = node(i).parent) {
    const Aabb box = node(i).box;
    const int height = node(i).height;
    refit(i);
    rotate(i);
    if (node(i).height == height && contains(box, node(i).box) && contains(node(i).box, box)) return;
  }
}

void AabbTree::swap_subtrees(int a, int b) {
  const int parent_a = node(a).parent, parent_b = node(b).parent;
  Node &pa = node(parent_a), &pb = node(parent_b);
  const int slot_a = pa.child[0] == a ? 0 : 1, slot_b = pb.child[0] == b ? 0 : 1;
  pa.child[slot_a] = b;
  pb.child[slot_b] = a;
  node(a).parent = parent_b;
  node(b).parent = parent_a;
}

// Swaps a child with a grandchild on the other side where that shrinks the box between them most.
void AabbTree::rotate(int i) {
  const Node& n = node(i);
  if (n.height < 2) return;
  double best_gain = 0.0;
  int best_child = -1, best_grandchild = -1;
  for (int side = 0; side < 2; ++side) {
    const int child = n.child[side];
    const Node& other = node(n.child[1 - side]);
    if (other.leaf()) continue;
    const double area = half_area(other.box);
    for (int k = 0; k < 2; ++k) {
      // `child` takes the place of other.child[k]: the box of `other` becomes that of child and the one that stays.
      const double gain = area - half_area(join(node(child).box, node(other.child[1 - k]).box));
      if (gain > best_gain) {
        best_gain = gain;
        best_child = child;
        best_grandchild = other.child[k];
      }
    }
  }
  if (best_child < 0) return;
  const int between = node(best_grandchild).parent;
  swap_subtrees(best_child, best_grandchild);
  refit(between);
  refit(i);
}

double AabbTree::cost() const {
  if (root_ < 0) return 0.0;
  double sum = 0.0;
  std::vector<int> stack{root_};
  while (!stack.empty()) {
    const Node& n = node(stack.back());
    stack.pop_back();
    if (n.leaf()) continue;
    sum += half_area(n.box);
    stack.insert(stack.end(), {n.child[0], n.child[1]});
  }
  return sum;
}

// Keeps the leaves and their numbers, and makes all inner nodes anew by halving along the longest axis of the centres.
void AabbTree::rebuild() {
  leaves_.clear();
  free_.clear();
  std::vector<int> stack{root_};
  while (!stack.empty()) {
    const int i = stack.back();
    stack.pop_back();
    if (node(i).leaf()) {
      leaves_.push_back(i);
      continue;
    }
    stack.insert(stack.end(), {node(i).child[0], node(i).child[1]});
    free_.push_back(i);
  }
  std::sort(leaves_.begin(), leaves_.end());
  root_ = build(leaves_.data(), static_cast<int>(leaves_.size()), -1);
}

int AabbTree::build(int* leaves, int count, int parent) {
  if (count == 1) {
    node(leaves[0]).parent = parent;
    return leaves[0];
  }
  Aabb centres = Aabb::empty();
  for (int i = 0; i < count; ++i) {
    const Vec3 c = node(leaves[i]).box.centre();
    centres = join(centres, {c, c});
  }
  const Vec3 extent = centres.upper - centres.lower;
  const int axis = extent.x() >= extent.y() && extent.x() >= extent.z() ? 0 : (extent.y() >= extent.z() ? 1 : 2);
  const int half = count / 2;
  std::nth_element(leaves, leaves + half, leaves + count, [&](int a, int b) {
    const double ca = node(a).box.centre()[axis], cb = node(b).box.centre()[axis];
    return ca != cb ? ca < cb : a < b;
  });
  const int i = allocate();
  node(i).parent = parent;
  const int first = build(leaves, half, i), second = build(leaves + half, count - half, i);
  node(i).child[0] = first;
  node(i).child[1] = second;
  refit(i);
  return i;
}

bool AabbTree::valid() const {
  if (root_ < 0) return leaf_count_ == 0;
  if (node(root_).parent >= 0) return false;
  int leaves = 0;
  std::vector<int> stack{root_};
  while (!stack.empty()) {
    const int i = stack.back();
    stack.pop_back();
    const Node& n = node(i);
    if (n.leaf()) {
      ++leaves;
      continue;
    }
    const Node &a = node(n.child[0]), &b = node(n.child[1]);
    if (a.parent != i || b.parent != i || n.height != 1 + std::max(a.height, b.height)) return false;
    if (!contains(n.box, a.box) || !contains(n.box, b.box)) return false;
    stack.insert(stack.end(), {n.child[0], n.child[1]});
  }
  return leaves == leaf_count_;
}

}  // namespace touchstone
