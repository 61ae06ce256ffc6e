// Which part of a model the dynamics works on: all of it, but for kinematic trees that are left out because they rest.
// What was computed for those before stays as it is: vectors of dofs that the dynamics fills in (forces, impulses, free
// velocities) are set in scope alone. Trees that an equality, a loop joint, a tendon or an actuator
// joins are left out together.
#pragma once

#include <span>
#include <vector>

#include "touchstone/base/index.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

class Scope {
 public:
  explicit Scope(const Model& model);  // everything

  // `left_out`: ntree, 1 for a tree that is left out. Allocates nothing.
  void set(const Model& model, std::span<const char> left_out);
  void set_whole(const Model& model);

  // Ascending. Bodies without the world; those that do not move are always in.
  std::vector<IndexRange> bodies, joints, dofs;
  std::vector<IndexRange> coordinates;  // of the joints: entries of q
  std::vector<int> tendons, actuators, equalities, loop_joints;
  std::vector<IndexRange> resting_dofs;  // the others
  bool has_tree(int tree) const { return in_[static_cast<std::size_t>(tree)] != 0; }
  bool is_whole() const { return resting_dofs.empty(); }

 private:
  void select(const Model& model);

  std::vector<char> in_;                                                            // ntree
  std::vector<int> tendon_tree_, actuator_tree_, equality_tree_, loop_joint_tree_;  // one of its trees, -1: none
};

// Calls use(first, count) for each range: what a step does to vectors it does to the part in scope, so that what sleeps
// costs nothing.
template <typename Use>
void over(std::span<const IndexRange> ranges, const Use& use) {
  for (const IndexRange& range : ranges) use(range.begin, range.end - range.begin);
}

// to = from, in the ranges.
inline void copy_ranges(std::span<const IndexRange> ranges, const VectorX& from, VectorX& to) {
  over(ranges, [&](int first, int count) { to.segment(first, count) = from.segment(first, count); });
}
inline bool equal_ranges(std::span<const IndexRange> ranges, const VectorX& a, const VectorX& b) {
  for (const IndexRange& range : ranges) {
    const int count = range.end - range.begin;
    if (a.segment(range.begin, count) != b.segment(range.begin, count)) return false;
  }
  return true;
}
inline double dot_ranges(std::span<const IndexRange> ranges, const VectorX& a, const VectorX& b) {
  double sum = 0.0;
  over(ranges, [&](int first, int count) { sum += a.segment(first, count).dot(b.segment(first, count)); });
  return sum;
}
inline bool finite_ranges(std::span<const IndexRange> ranges, const VectorX& x) {
  for (const IndexRange& range : ranges) {
    if (!x.segment(range.begin, range.end - range.begin).allFinite()) return false;
  }
  return true;
}

}  // namespace touchstone
