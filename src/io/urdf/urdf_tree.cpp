#include "touchstone/io/urdf/urdf_tree.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace touchstone {
namespace {

using NameMap = std::unordered_map<std::string_view, int>;

[[noreturn]] void fail_at(const Origin& where, std::string message, std::string remedy) {
  throw InputError(ErrorDetail{.where = where, .message = std::move(message), .remedy = std::move(remedy)});
}

template <typename Element>
NameMap unique_names(const std::vector<Element>& elements, const char* kind) {
  NameMap names;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto [found, is_new] = names.emplace(elements[i].name, static_cast<int>(i));
    if (is_new) continue;
    const Origin& first = elements[static_cast<std::size_t>(found->second)].origin;
    fail_at(elements[i].origin, fmt::format("the {} name '{}' is taken by line {}", kind, elements[i].name, first.line),
            "rename one of them");
  }
  return names;
}

int find_link(const NameMap& links, const UrdfJoint& joint, const std::string& name, const char* role) {
  const auto found = links.find(name);
  if (found == links.end()) {
    fail_at(joint.origin, fmt::format("the {} link '{}' does not exist", role, name),
            "correct the name or add the link");
  }
  return found->second;
}

// The links that nothing hangs from above, by name; at most a few.
std::vector<std::string> root_names(const UrdfRobot& robot, const UrdfTree& tree) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < robot.links.size() && names.size() < kMost; ++i) {
    if (tree.parent_joint[i] < 0) names.push_back(fmt::format("'{}'", robot.links[i].name));
  }
  return names;
}

void find_root(const UrdfRobot& robot, UrdfTree& tree) {
  for (std::size_t i = 0; i < robot.links.size(); ++i) {
    if (tree.parent_joint[i] >= 0) continue;
    if (tree.root >= 0) {
      fail_at(robot.links[i].origin,
              fmt::format("more than one link has no parent joint: {}", fmt::join(root_names(robot, tree), ", ")),
              "join them with (fixed) joints, or remove the loose ones");
    }
    tree.root = static_cast<int>(i);
  }
  if (tree.root < 0) {
    fail_at(robot.joints.front().origin, "the joints form a cycle: every link has a parent",
            "remove the joint that closes the loop");
  }
}

void order_links(const UrdfRobot& robot, const std::vector<std::vector<int>>& children, UrdfTree& tree) {
  std::vector<int> stack{tree.root};
  std::vector<bool> reached(robot.links.size(), false);
  while (!stack.empty()) {
    const int link = stack.back();
    stack.pop_back();
    tree.order.push_back(link);
    reached[static_cast<std::size_t>(link)] = true;
    const std::vector<int>& below = children[static_cast<std::size_t>(link)];
    stack.insert(stack.end(), below.rbegin(), below.rend());
  }
  // Each link has one parent at most, so what the root does not reach goes round in circles.
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (reached[i]) continue;
    fail_at(robot.joints[static_cast<std::size_t>(tree.parent_joint[i])].origin,
            fmt::format("the joints form a cycle: link '{}' is its own ancestor, or below one that is",
                        robot.links[i].name),
            "remove the joint that closes the loop");
  }
}

}  // namespace

UrdfTree make_urdf_tree(const UrdfRobot& robot) {
  if (robot.links.empty()) fail_at(robot.origin, "the robot has no links", "add a <link>");
  const NameMap links = unique_names(robot.links, "link");
  unique_names(robot.joints, "joint");
  UrdfTree tree;
  tree.parent_joint.assign(robot.links.size(), -1);
  std::vector<std::vector<int>> children(robot.links.size());
  for (std::size_t j = 0; j < robot.joints.size(); ++j) {
    const UrdfJoint& joint = robot.joints[j];
    const int parent = find_link(links, joint, joint.parent, "parent");
    const int child = find_link(links, joint, joint.child, "child");
    int& above = tree.parent_joint[static_cast<std::size_t>(child)];
    if (above >= 0) {
      fail_at(joint.origin,
              fmt::format("link '{}' has two parent joints, '{}' and '{}'", joint.child,
                          robot.joints[static_cast<std::size_t>(above)].name, joint.name),
              "URDF holds trees only; write a loop as MJCF with <equality>");
    }
    above = static_cast<int>(j);
    children[static_cast<std::size_t>(parent)].push_back(child);
    tree.parent_link.push_back(parent);
  }
  find_root(robot, tree);
  order_links(robot, children, tree);
  return tree;
}

}  // namespace touchstone
