#include "touchstone/sim/left_out.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"
#include "touchstone/contact/units.hpp"

namespace touchstone {
namespace {

// Of what gravity makes of a velocity within a step: how fast a contact must open to be left out.
constexpr double kClear = 0.3;

bool is_one_sided(BlockType type) { return type == BlockType::kCoulomb || type == BlockType::kNonNegative; }

// J v of a block.
void add_block_velocity(const Model& model, const Constraints& c, int block, const VectorX& v, double* out) {
  const Constraint& constraint = c.list[at(block)];
  const int size = c.blocks.size(block), stride = Constraints::stride_of(size);
  for (int i = 0; i < constraint.part_count; ++i) {
    const TreePart& part = c.parts[at(constraint.first_part + i)];
    const int* dof = c.dofs(model, part);
    const double* rows = c.J.data() + part.start;
    for (int k = part.first; k < part.count; ++k) {
      for (int r = 0; r < size; ++r) out[r] += rows[at(stride * k + r)] * v[dof[k]];
    }
  }
}

}  // namespace

bool LeftOut::choose(const Constraints& c, const VectorX& lambda, const VectorX& u, double h) {
  is_left_out_.clear();
  const double clear = kClear * kGravity * h;
  bool any = false;
  for (int block = 0; block < c.count(); ++block) {
    const int first = c.blocks.row[at(block)], last = c.blocks.row[at(block + 1)] - 1;
    // Not true where u is not known.
    if (!is_one_sided(c.blocks.type[at(block)]) || !(u[last] > 0.0)) continue;
    if (!(c.velocity[last] + c.bias[last] > clear) || c.list[at(block)].part_count == 0) continue;
    if (std::any_of(lambda.data() + first, lambda.data() + last + 1, [](double x) { return x != 0.0; })) continue;
    if (!any) is_left_out_.assign(at(c.count()), 0);
    any = true;
    is_left_out_[at(block)] = 1;
  }
  return any;
}

bool LeftOut::admit_closing(const Model& model, const Constraints& c, const VectorX& v, VectorX& u) {
  bool all_open = true;
  for (std::size_t block = 0; block < is_left_out_.size(); ++block) {
    if (is_left_out_[block] == 0) continue;
    const int first = c.blocks.row[block], last = c.blocks.row[block + 1] - 1;
    std::copy_n(c.bias.data() + first, last - first + 1, u.data() + first);
    add_block_velocity(model, c, static_cast<int>(block), v, u.data() + first);
    if (u[last] >= 0.0) continue;
    is_left_out_[block] = 0;
    all_open = false;
  }
  return all_open;
}

}  // namespace touchstone
