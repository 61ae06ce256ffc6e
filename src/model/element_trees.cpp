#include "touchstone/model/element_trees.hpp"

#include <utility>

namespace touchstone {
namespace {

class Collector {
 public:
  explicit Collector(const Model& model) : model_(model) {}

  void add_body(int body) {
    const int tree = body >= 0 ? model_.body_kernels[body].tree : -1;
    if (tree >= 0) trees_.push_back(tree);
  }
  void add_joint(int joint) { trees_.push_back(model_.dof_tree[model_.joint_dof[joint]]); }
  void add_site(int site) {
    if (site >= 0) add_body(model_.sites[site].body);
  }
  void add_loop_joint(const LoopJoint& joint) {
    add_body(joint.body_a);
    add_body(joint.body_b);
  }
  void add_tendon(const Tendon& tendon) {
    for (const Tendon::Term& term : tendon.terms) add_joint(term.joint);
  }
  std::vector<int> take() { return std::move(trees_); }

 private:
  const Model& model_;
  std::vector<int> trees_;
};

void join_all(const std::vector<int>& list, UnionFind& trees) {
  for (const int tree : list) trees.join(list.front(), tree);
}

}  // namespace

std::vector<int> trees_of(const Model& model, const Equality& equality) {
  Collector trees(model);
  for (const auto& [element, coordinate] :
       {std::pair(equality.a, equality.coordinate_a), std::pair(equality.b, equality.coordinate_b)}) {
    if (element < 0) continue;
    if (coordinate >= 0) {
      trees.add_loop_joint(model.loop_joints[element]);
      continue;
    }
    switch (sides_of(equality.type)) {
      case EqualitySides::kBodies:
        trees.add_body(element);
        break;
      case EqualitySides::kJoints:
        trees.add_joint(element);
        break;
      case EqualitySides::kTendons:
        trees.add_tendon(model.tendons[element]);
        break;
    }
  }
  return trees.take();
}

std::vector<int> trees_of(const Model& model, const LoopJoint& joint) {
  Collector trees(model);
  trees.add_loop_joint(joint);
  return trees.take();
}

std::vector<int> trees_of(const Model& model, const Tendon& tendon) {
  Collector trees(model);
  trees.add_tendon(tendon);
  return trees.take();
}

std::vector<int> trees_of(const Model& model, const Actuator& actuator) {
  Collector trees(model);
  switch (actuator.transmission) {
    case TransmissionType::kJoint:
    case TransmissionType::kJointInParent:
      trees.add_joint(actuator.target);
      break;
    case TransmissionType::kTendon:
      trees.add_tendon(model.tendons[actuator.target]);
      break;
    case TransmissionType::kSite:
    case TransmissionType::kSliderCrank:
      trees.add_site(actuator.target);
      trees.add_site(actuator.reference_site);
      break;
    case TransmissionType::kLoopJoint:
      trees.add_loop_joint(model.loop_joints[actuator.target]);
      break;
  }
  return trees.take();
}

void join_loops(const Model& model, UnionFind& trees) {
  for (const Equality& equality : model.equalities) {
    if (equality.active && model.options.equalities_enabled) join_all(trees_of(model, equality), trees);
  }
  for (const LoopJoint& joint : model.loop_joints) {
    if (joint.active) join_all(trees_of(model, joint), trees);
  }
}

void join_elements(const Model& model, UnionFind& trees) {
  join_loops(model, trees);
  for (const Tendon& tendon : model.tendons) join_all(trees_of(model, tendon), trees);
  for (const Actuator& actuator : model.actuators) join_all(trees_of(model, actuator), trees);
}

}  // namespace touchstone
