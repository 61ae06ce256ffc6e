// Which part of a model the dynamics works on: all of it, but for kinematic trees that are left out because they rest.
// What was computed for those before stays as it is. Trees that an equality, a loop joint, a tendon or an actuator
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
  std::vector<int> tendons, actuators, equalities, loop_joints;
  std::vector<IndexRange> resting_dofs;  // the others
  bool has_tree(int tree) const { return in_[static_cast<std::size_t>(tree)] != 0; }
  bool is_whole() const { return resting_dofs.empty(); }

 private:
  void select(const Model& model);

  std::vector<char> in_;                                                            // ntree
  std::vector<int> tendon_tree_, actuator_tree_, equality_tree_, loop_joint_tree_;  // one of its trees, -1: none
};

}  // namespace touchstone
