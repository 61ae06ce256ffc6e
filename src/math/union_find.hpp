// Groups of numbers 0 .. n-1 that were joined pair by pair (union-find with path halving). The smallest member stands
// for its group, so that the numbering of groups does not depend on the order of the joins.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace touchstone {

class UnionFind {
 public:
  // Every number by itself. Reuses memory.
  void reset(int count) {
    parent_.resize(static_cast<std::size_t>(count));
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  // The smallest member of the group.
  int root(int i) {
    while (parent(i) != i) i = parent(i) = parent(parent(i));
    return i;
  }
  void join(int a, int b) {
    a = root(a);
    b = root(b);
    parent(std::max(a, b)) = std::min(a, b);
  }

 private:
  int& parent(int i) { return parent_[static_cast<std::size_t>(i)]; }

  std::vector<int> parent_;
};

}  // namespace touchstone
