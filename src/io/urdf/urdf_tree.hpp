// The links and joints of a URDF file as a checked tree.
#pragma once

#include <vector>

#include "touchstone/io/urdf/urdf_document.hpp"

namespace touchstone {

struct UrdfTree {
  int root = -1;                  // link without a parent
  std::vector<int> order;         // links, depth first from the root, children in the order of the joints
  std::vector<int> parent_joint;  // for each link: the joint it hangs on, -1 for the root
  std::vector<int> parent_link;   // for each joint
};

// Throws InputError unless names are unique, joints name links, and all links hang together below one root.
// Works without recursion: chains may be long.
UrdfTree make_urdf_tree(const UrdfRobot& robot);

}  // namespace touchstone
