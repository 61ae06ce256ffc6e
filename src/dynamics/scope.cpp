#include "touchstone/dynamics/scope.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"
#include "touchstone/model/element_trees.hpp"

namespace touchstone {
namespace {

template <typename Element>
std::vector<int> first_trees(const Model& model, const std::vector<Element>& elements) {
  std::vector<int> first;
  for (const Element& element : elements) {
    const std::vector<int> trees = trees_of(model, element);
    first.push_back(trees.empty() ? -1 : trees.front());
  }
  return first;
}

void extend(std::vector<IndexRange>& ranges, int index) {
  if (ranges.empty() || ranges.back().end != index) ranges.push_back({index, index});
  ranges.back().end = index + 1;
}

}  // namespace

Scope::Scope(const Model& model)
    : in_(at(model.ntree), 1),
      tendon_tree_(first_trees(model, model.tendons)),
      actuator_tree_(first_trees(model, model.actuators)),
      equality_tree_(first_trees(model, model.equalities)),
      loop_joint_tree_(first_trees(model, model.loop_joints)) {
  for (std::vector<IndexRange>* ranges : {&bodies, &joints, &dofs, &coordinates, &resting_dofs})
    ranges->reserve(at(model.ntree + 1));
  bodies.reserve(at(model.nbody));
  for (std::vector<int>* list : {&tendons, &actuators, &equalities}) list->reserve(at(model.nu + model.ntendon));
  equalities.reserve(model.equalities.size());
  loop_joints.reserve(model.loop_joints.size());
  set_whole(model);
}

void Scope::set(const Model& model, std::span<const char> left_out) {
  for (std::size_t t = 0; t < in_.size(); ++t) in_[t] = left_out[t] != 0 ? 0 : 1;
  select(model);
}

void Scope::set_whole(const Model& model) {
  std::fill(in_.begin(), in_.end(), 1);
  select(model);
}

void Scope::select(const Model& model) {
  for (std::vector<IndexRange>* ranges : {&bodies, &joints, &dofs, &coordinates, &resting_dofs}) ranges->clear();
  for (int b = 1; b < model.nbody; ++b) {
    const int tree = model.body_kernels[at(b)].tree;
    if (tree < 0 || has_tree(tree)) extend(bodies, b);
  }
  for (int j = 0; j < model.njoint; ++j) {
    if (has_tree(model.dof_tree[at(model.joint_dof[at(j)])])) extend(joints, j);
  }
  for (const IndexRange& range : joints) {
    const int end = range.end < model.njoint ? model.joint_q[at(range.end)] : model.nq;
    coordinates.push_back({model.joint_q[at(range.begin)], end});
  }
  for (int i = 0; i < model.nv; ++i) extend(has_tree(model.dof_tree[at(i)]) ? dofs : resting_dofs, i);
  const auto list_elements = [&](const std::vector<int>& trees, std::vector<int>& list) {
    list.clear();
    for (std::size_t k = 0; k < trees.size(); ++k) {
      if (trees[k] < 0 || has_tree(trees[k])) list.push_back(static_cast<int>(k));
    }
  };
  list_elements(tendon_tree_, tendons);
  list_elements(actuator_tree_, actuators);
  list_elements(equality_tree_, equalities);
  list_elements(loop_joint_tree_, loop_joints);
}

}  // namespace touchstone
