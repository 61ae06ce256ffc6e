#include "touchstone/sim/constraints.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/math/block_sparse_matrix.hpp"
#include "touchstone/math/lanes.hpp"
#include "touchstone/sim/constraints/kind.hpp"

namespace touchstone {
void Constraints::clear() {
  blocks.clear();
  list.clear();
  parts.clear();
  listed.clear();
  J.clear();
  position.clear();
  drift.clear();
  surface_velocity.clear();
  row_length.clear();
}

ConstraintWriter::ConstraintWriter(const Model& model, const Data& data, Constraints& constraints, Parts parts)
    : model_(model), data_(data), c_(constraints), has_jacobian_(parts == Parts::kAll) {
  while (c_.all_dofs.size() < at(model.nv)) c_.all_dofs.push_back(static_cast<int>(c_.all_dofs.size()));
}

void ConstraintWriter::begin(ConstraintKind kind, int index, int side) {
  first_value_ = c_.J.size();
  c_.list.push_back({kind, index, side, static_cast<int>(c_.parts.size()), 0});
}

// Whether a dof is the given one or moves it.
bool ConstraintWriter::is_on_path(int dof, int path) const {
  const int depth = model_.row_length[at(dof)];
  return depth <= model_.row_length[at(path)] && model_.row_dof[at(model_.row_start[at(path)] + depth - 1)] == dof;
}

// Where a dof is stored; the part must cover it.
int ConstraintWriter::position(const TreePart& part, int dof) const {
  if (part.list >= 0) {
    const int* first = c_.listed.data() + part.list;
    return static_cast<int>(std::lower_bound(first, first + part.count, dof) - first);
  }
  return part.path >= 0 ? model_.row_length[at(dof)] - 1 : dof - model_.tree_first_dof[at(part.tree)];
}

// Gives a part other dofs, zero when new, behind everything that has been written so far.
void ConstraintWriter::move_part(TreePart& part, int path) {
  const TreePart old = part;
  const int stride = c_.stride(c_.count() - 1), tree = part.tree;
  part.path = path;
  part.count =
      path >= 0 ? model_.row_length[at(path)] : model_.tree_first_dof[at(tree + 1)] - model_.tree_first_dof[at(tree)];
  part.start = c_.J.size();
  part.first = old.count == 0 ? part.count : 0;
  c_.J.resize(c_.J.size() + at(part.count * stride), 0.0);
  const int* dofs = c_.dofs(model_, old);
  for (int i = 0; i < old.count; ++i) {
    const double* from = c_.J.data() + old.start + at(stride * i);
    std::copy_n(from, stride, c_.J.data() + part.start + at(stride * position(part, dofs[i])));
  }
}

// The part of the block that is being written on the tree of a dof, made to cover the path to it.
TreePart& ConstraintWriter::part(int leaf) {
  const int tree = model_.dof_tree[at(leaf)];
  Constraint& constraint = c_.list.back();
  for (int i = 0; i < constraint.part_count; ++i) {
    TreePart& known = c_.parts[at(constraint.first_part + i)];
    if (known.tree != tree) continue;
    if (known.path >= 0 && !is_on_path(leaf, known.path)) move_part(known, is_on_path(known.path, leaf) ? leaf : -1);
    return known;
  }
  ++constraint.part_count;
  c_.parts.push_back({.tree = tree});
  move_part(c_.parts.back(), leaf);
  return c_.parts.back();
}

// The same where paths are long: made to cover the path to a dof but for its first ones, behind everything that has
// been written so far.
TreePart& ConstraintWriter::listed_part(int leaf, int skipped) {
  const int tree = model_.dof_tree[at(leaf)], stride = c_.stride(c_.count() - 1);
  Constraint& constraint = c_.list.back();
  TreePart old{.tree = tree};
  int index = constraint.first_part;
  while (index < static_cast<int>(c_.parts.size()) && c_.parts[at(index)].tree != tree) ++index;
  if (index < static_cast<int>(c_.parts.size())) {
    old = c_.parts[at(index)];
  } else {
    ++constraint.part_count;
    c_.parts.push_back(old);
  }
  TreePart& part = c_.parts[at(index)];
  const int* path = model_.row_dof.data() + model_.row_start[at(leaf)];
  const int length = model_.row_length[at(leaf)];
  part.list = static_cast<int>(c_.listed.size());
  c_.listed.resize(c_.listed.size() + at(old.count + length - skipped));
  const int* known = old.count > 0 ? c_.listed.data() + old.list : nullptr;
  int* first = c_.listed.data() + part.list;
  part.count = static_cast<int>(std::set_union(known, known + old.count, path + skipped, path + length, first) - first);
  c_.listed.resize(at(part.list + part.count));
  part.start = c_.J.size();
  part.first = 0;
  c_.J.resize(c_.J.size() + at(part.count * stride), 0.0);
  for (int i = 0; i < old.count; ++i) {
    const double* from = c_.J.data() + old.start + at(stride * i);
    std::copy_n(from, stride, c_.J.data() + part.start + at(stride * position(part, c_.listed[at(old.list + i)])));
  }
  return part;
}

// How many dofs move two bodies alike: the first ones of the paths to both.
int ConstraintWriter::shared_dofs(int body_a, int body_b) const {
  int a = model_.body_last_dof[at(body_a)], b = model_.body_last_dof[at(body_b)];
  while (a >= 0 && b >= 0 && a != b) {
    int& deeper = model_.row_length[at(a)] >= model_.row_length[at(b)] ? a : b;
    deeper = model_.dof_parent[at(deeper)];
  }
  return a >= 0 && b >= 0 ? model_.row_length[at(a)] : 0;
}

void ConstraintWriter::add_dof(int dof, int row, double value) {
  if (!has_jacobian_) return;
  const bool is_long = data_.long_trees.used;
  TreePart& own = is_long ? listed_part(dof, model_.row_length[at(dof)] - 1) : part(dof);
  const int i = position(own, dof);
  own.first = std::min(own.first, i);
  c_.J[own.start + at(c_.stride(c_.count() - 1) * i + row)] += value;
}

void ConstraintWriter::set_dof(int dof, double value) {
  if (!has_jacobian_) return;
  if (data_.long_trees.used) return add_dof(dof, 0, value);
  const int count = model_.row_length[at(dof)];
  c_.list.back().part_count = 1;
  c_.parts.push_back({model_.dof_tree[at(dof)], dof, -1, count, count - 1, c_.J.size()});
  c_.J.resize(c_.J.size() + at(count), 0.0);
  c_.J.back() = value;
}

void ConstraintWriter::add_point(int body, Vec3 p, double sign, const Vec3* linear, const Vec3* angular, int rows,
                                 int skipped) {
  const int leaf = model_.body_last_dof[at(body)];
  if (!has_jacobian_ || leaf < 0 || skipped == model_.row_length[at(leaf)]) return;
  TreePart& own = data_.long_trees.used ? listed_part(leaf, skipped) : part(leaf);
  own.first = 0;
  const int stride = c_.stride(c_.count() - 1), length = model_.row_length[at(leaf)];
  double* x = c_.J.data() + own.start;
  const Vec3 arm = p - data_.reference_point[at(own.tree)];
  const int* dofs = model_.row_dof.data() + model_.row_start[at(leaf)];
  // linear.(S.linear + S.angular x arm) = linear.S.linear + (arm x linear).S.angular
  if (stride == 1) {
    const Lanes force = sign * linear[0].lanes, moment = sign * (cross(arm, linear[0]) + angular[0]).lanes;
    for (int i = skipped; i < length; ++i) {
      const Motion& S = data_.S[at(dofs[i])];
      x[position(own, dofs[i])] += sum(force * S.linear.lanes + moment * S.angular.lanes);
    }
    return;
  }
  for (int first = 0; first < rows; first += 4) {
    Lanes force[4] = {}, moment[4] = {};  // of four rows; then components of them
    for (int r = first; r < std::min(rows, first + 4); ++r) {
      force[r - first] = sign * linear[r].lanes;
      moment[r - first] = sign * (cross(arm, linear[r]) + angular[r]).lanes;
    }
    transpose(force);
    transpose(moment);
    for (int i = skipped; i < length; ++i) {
      const Motion& S = data_.S[at(dofs[i])];
      double* target = x + stride * (own.path >= 0 ? i : position(own, dofs[i])) + first;
      Lanes row = load_lanes(target);
      for (int k = 0; k < 3; ++k) row += force[k] * broadcast(S.linear.lanes[k]);
      for (int k = 0; k < 3; ++k) row += moment[k] * broadcast(S.angular.lanes[k]);
      store_lanes(row, target);
    }
  }
}

void ConstraintWriter::add_pair(const PairRows& rows) {
  if (!has_jacobian_) return;
  const int skipped = data_.long_trees.used ? shared_dofs(rows.body_a, rows.body_b) : 0;
  add_point(rows.body_b, rows.point_b, 1.0, rows.linear, rows.angular, rows.count, skipped);
  // Of a loop that is open by e the dofs that move both ends would have e times their axis: seen from body a they do
  // not.
  add_point(rows.body_a, skipped > 0 ? rows.point_b : rows.point_a, -1.0, rows.linear, rows.angular, rows.count,
            skipped);
}

void ConstraintWriter::add_tendon(int tendon, double sign) {
  for (const Tendon::Term& term : model_.tendons[at(tendon)].terms) {
    add_dof(model_.joint_dof[at(term.joint)], 0, sign * term.coefficient);
  }
}

void ConstraintWriter::end(const double* position, const double* length) {
  const int rows = c_.blocks.size(c_.count() - 1);
  for (int r = 0; r < rows; ++r) {
    c_.position.push_back(position[r]);
    c_.row_length.push_back(length[r]);
    c_.drift.push_back(0.0);
  }
}

void ConstraintWriter::set_drift(const Vec3& drift, int first) {
  double* rows = c_.drift.data() + c_.blocks.row[at(c_.count() - 1)] + first;
  for (int k = 0; k < 3; ++k) rows[k] = drift[k];
}

void ConstraintWriter::set_row_drift(double drift, int row) {
  c_.drift[at(c_.blocks.row[at(c_.count() - 1)] + row)] = drift;
}

void ConstraintWriter::cancel() {
  c_.J.resize(first_value_);
  c_.parts.resize(at(c_.list.back().first_part));
  c_.list.pop_back();
  Blocks& b = c_.blocks;
  b.type.pop_back();
  b.row.pop_back();
  for (std::vector<double>* values : {&b.mu, &b.lo, &b.hi}) values->resize(at(b.rows()));
}

bool ConstraintWriter::moves(int row, const VectorX& dof_weight, double least) const {
  const Constraint& constraint = c_.list.back();
  const int stride = c_.stride(c_.count() - 1);
  double sum = 0.0;
  for (int i = 0; i < constraint.part_count; ++i) {
    const TreePart& part = c_.parts[at(constraint.first_part + i)];
    const int* dofs = c_.dofs(model_, part);
    const double* J = c_.J.data() + part.start + row;
    for (int k = part.count - 1; k >= 0; --k) {
      sum += J[stride * k] * J[stride * k] * dof_weight[dofs[k]];
      if (sum >= least) return true;
    }
  }
  return !(sum < least);  // true for NaN
}

double ConstraintWriter::rate(int row, const ConstVectorRef& v) const {
  const Constraint& constraint = c_.list.back();
  const int stride = c_.stride(c_.count() - 1);
  double sum = 0.0;
  for (int i = 0; i < constraint.part_count; ++i) {
    const TreePart& part = c_.parts[at(constraint.first_part + i)];
    const int* dofs = c_.dofs(model_, part);
    const double* J = c_.J.data() + part.start + row;
    for (int k = 0; k < part.count; ++k) sum += J[stride * k] * v[dofs[k]];
  }
  return sum;
}

namespace {

// result[i] = J v[i], block by block.
template <int vectors>
void multiply_jacobian(const Model& model, const Constraints& c, const std::array<const double*, vectors>& v,
                       const std::array<double*, vectors>& result) {
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int stride = c.stride(block), row = c.blocks.row[at(block)];
    if (stride == 1) {
      double sums[vectors] = {};
      for (int p = 0; p < constraint.part_count; ++p) {
        const TreePart& part = c.parts[at(constraint.first_part + p)];
        const int* dofs = c.dofs(model, part);
        for (int k = part.first; k < part.count; ++k) {
          for (std::size_t i = 0; i < vectors; ++i) sums[i] += c.J[part.start + at(k)] * v[i][dofs[k]];
        }
      }
      for (std::size_t i = 0; i < vectors; ++i) result[i][row] = sums[i];
      continue;
    }
    Lanes low[vectors] = {}, high[vectors] = {};
    for (int p = 0; p < constraint.part_count; ++p) {
      const TreePart& part = c.parts[at(constraint.first_part + p)];
      const int* dofs = c.dofs(model, part);
      const double* J = c.J.data() + part.start + at(stride * part.first);
      for (int k = part.first; k < part.count; ++k, J += stride) {
        for (std::size_t i = 0; i < vectors; ++i) {
          const double speed = v[i][dofs[k]];
          low[i] += load_lanes(J) * broadcast(speed);
          if (stride == 8) high[i] += load_lanes(J + 4) * broadcast(speed);
        }
      }
    }
    for (std::size_t i = 0; i < vectors; ++i) {
      for (int r = 0; r < c.blocks.size(block); ++r) result[i][row + r] = r < 4 ? low[i][r] : high[i][r - 4];
    }
  }
}

}  // namespace

void constraint_velocity(const Model& model, const Constraints& c, const ConstVectorRef& v, VectorRef result) {
  multiply_jacobian<1>(model, c, {v.data()}, {result.data()});
}

void constraint_velocities(const Model& model, const Constraints& c, const ConstVectorRef& v_1,
                           const ConstVectorRef& v_2, VectorRef result_1, VectorRef result_2) {
  multiply_jacobian<2>(model, c, {v_1.data(), v_2.data()}, {result_1.data(), result_2.data()});
}

void add_constraint_force(const Model& model, const Constraints& c, const ConstVectorRef& lambda, VectorRef tau) {
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int stride = c.stride(block), row = c.blocks.row[at(block)];
    if (stride == 1) {
      for (int i = 0; i < constraint.part_count; ++i) {
        const TreePart& part = c.parts[at(constraint.first_part + i)];
        const int* dofs = c.dofs(model, part);
        for (int k = part.first; k < part.count; ++k) tau[dofs[k]] += c.J[part.start + at(k)] * lambda[row];
      }
      continue;
    }
    Lanes impulse[2] = {};
    for (int r = 0; r < c.blocks.size(block); ++r) impulse[r / 4][r % 4] = lambda[row + r];
    for (int i = 0; i < constraint.part_count; ++i) {
      const TreePart& part = c.parts[at(constraint.first_part + i)];
      const int* dofs = c.dofs(model, part);
      const double* J = c.J.data() + part.start + at(stride * part.first);
      for (int k = part.first; k < part.count; ++k, J += stride) {
        Lanes products = load_lanes(J) * impulse[0];
        if (stride == 8) products += load_lanes(J + 4) * impulse[1];
        tau[dofs[k]] += sum(products);
      }
    }
  }
}

}  // namespace touchstone
