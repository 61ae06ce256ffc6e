#include "touchstone/dynamics/tendon_path.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"

namespace touchstone {

bool is_on_path(const Model& model, const Tendon& tendon) {
  const auto is_ancestor = [&](int j, int i) {
    return j <= i && model.row_length[at(j)] <= model.row_length[at(i)] &&
           model.row_dof[at(model.row_start[at(i)] + model.row_length[at(j)] - 1)] == j;
  };
  for (const Tendon::Term& a : tendon.terms) {
    for (const Tendon::Term& b : tendon.terms) {
      const int i = model.joint_dof[at(a.joint)], j = model.joint_dof[at(b.joint)];
      if (!is_ancestor(std::min(i, j), std::max(i, j))) return false;
    }
  }
  return true;
}

}  // namespace touchstone
