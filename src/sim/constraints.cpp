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
  J.clear();
  position.clear();
  drift.clear();
  surface_velocity.clear();
  row_length.clear();
}

ConstraintWriter::ConstraintWriter(const Model& model, const Data& data, Constraints& constraints)
    : model_(model), data_(data), c_(constraints) {
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

void ConstraintWriter::add_dof(int dof, int row, double value) {
  TreePart& own = part(dof);
  const int i = position(own, dof);
  own.first = std::min(own.first, i);
  c_.J[own.start + at(c_.stride(c_.count() - 1) * i + row)] += value;
}

void ConstraintWriter::set_dof(int dof, double value) {
  const int count = model_.row_length[at(dof)];
  c_.list.back().part_count = 1;
  c_.parts.push_back({model_.dof_tree[at(dof)], dof, count, count - 1, c_.J.size()});
  c_.J.resize(c_.J.size() + at(count), 0.0);
  c_.J.back() = value;
}

void ConstraintWriter::add_point(int body, Vec3 p, double sign, const Vec3* linear, const Vec3* angular, int rows) {
  const int leaf = model_.body_last_dof[at(body)];
  if (leaf < 0) return;
  TreePart& own = part(leaf);
  own.first = 0;
  const int stride = c_.stride(c_.count() - 1), length = model_.row_length[at(leaf)];
  double* x = c_.J.data() + own.start;
  const Vec3 arm = p - data_.reference_point[at(own.tree)];
  const int* dofs = model_.row_dof.data() + model_.row_start[at(leaf)];
  // linear.(S.linear + S.angular x arm) = linear.S.linear + (arm x linear).S.angular
  if (stride == 1) {
    const Lanes force = sign * linear[0].lanes, moment = sign * (cross(arm, linear[0]) + angular[0]).lanes;
    for (int i = 0; i < length; ++i) {
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
    for (int i = 0; i < length; ++i) {
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
  add_point(rows.body_b, rows.point_b, 1.0, rows.linear, rows.angular, rows.count);
  add_point(rows.body_a, rows.point_a, -1.0, rows.linear, rows.angular, rows.count);
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

// Dofs of a path that are solved for together: what lies before them is then read and written once for all.
constexpr int kTogether = 4;

// x <- D^-1/2 L^-T x on a path, for a block of several rows: `width` times four lanes a dof. Dof k of the path has its
// ancestors before it, in the order of its row of L.
template <int width>
struct LaneRows {
  static constexpr int kStride = 4 * width;
  Lanes values[width];

  static LaneRows load(const double* x, int k) {
    LaneRows rows;
    for (int w = 0; w < width; ++w) rows.values[w] = load_lanes(x + kStride * k + 4 * w);
    return rows;
  }
  void store(double* x, int k) const {
    for (int w = 0; w < width; ++w) store_lanes(values[w], x + kStride * k + 4 * w);
  }
  void subtract(double factor, const LaneRows& other) {
    for (int w = 0; w < width; ++w) values[w] -= broadcast(factor) * other.values[w];
  }
  void scale(double factor) {
    for (int w = 0; w < width; ++w) values[w] *= broadcast(factor);
  }
  bool is_zero() const {
    auto zeros = values[0] == Lanes{};
    for (int w = 1; w < width; ++w) zeros &= values[w] == Lanes{};
    return (zeros[0] & zeros[1] & zeros[2] & zeros[3]) != 0;
  }
};

// The same for a single row.
template <>
struct LaneRows<0> {
  double value;

  static LaneRows load(const double* x, int k) { return {x[k]}; }
  void store(double* x, int k) const { x[k] = value; }
  void subtract(double factor, const LaneRows& other) { value -= factor * other.value; }
  void scale(double factor) { value *= factor; }
  bool is_zero() const { return value == 0.0; }
};

template <int stride>
void half_solve_path(const Model& model, const VectorX& L, const double* root, const int* dofs, int count,
                     double* __restrict x) {
  using Rows = LaneRows<stride / 4>;
  const auto row_of = [&](int k) { return L.data() + model.row_start[at(dofs[k])]; };
  int end = count;
  for (; end >= kTogether; end -= kTogether) {
    const int first = end - kTogether;
    const double* row[kTogether];
    Rows own[kTogether];
    for (int i = kTogether - 1; i >= 0; --i) {
      row[i] = row_of(first + i);
      own[i] = Rows::load(x, first + i);
      for (int other = kTogether - 1; other > i; --other) own[i].subtract(row[other][first + i], own[other]);
    }
    for (int j = 0; j < first; ++j) {
      Rows target = Rows::load(x, j);
      for (int i = kTogether - 1; i >= 0; --i) target.subtract(row[i][j], own[i]);
      target.store(x, j);
    }
    for (int i = 0; i < kTogether; ++i) {
      own[i].scale(root[dofs[first + i]]);
      own[i].store(x, first + i);
    }
  }
  for (int k = end - 1; k >= 0; --k) {
    Rows own = Rows::load(x, k);
    for (int j = 0; j < k; ++j) {
      Rows target = Rows::load(x, j);
      target.subtract(row_of(k)[j], own);
      target.store(x, j);
    }
    own.scale(root[dofs[k]]);
    own.store(x, k);
  }
}

// The same on a whole tree. Leaves come last, so dofs are visited backwards; where all is zero it stays so.
template <int stride>
void half_solve_tree(const Model& model, const VectorX& L, const double* root, int tree, double* x) {
  const int first = model.tree_first_dof[at(tree)], end = model.tree_first_dof[at(tree + 1)];
  using Rows = LaneRows<stride / 4>;
  for (int k = end - 1; k >= first; --k) {
    Rows own = Rows::load(x, k - first);
    if (own.is_zero()) continue;
    const double* row = L.data() + model.row_start[at(k)];
    const int* dof = model.row_dof.data() + model.row_start[at(k)];
    for (int j = 0; j < model.row_length[at(k)] - 1; ++j) {
      Rows target = Rows::load(x, dof[j] - first);
      target.subtract(row[j], own);
      target.store(x, dof[j] - first);
    }
    own.scale(root[k]);
    own.store(x, k - first);
  }
}

template <int stride>
void half_solve_part(const Model& model, const VectorX& L, const Constraints& c, const TreePart& part, double* x) {
  if (part.path >= 0) {
    half_solve_path<stride>(model, L, c.root.data(), c.dofs(model, part), part.count, x);
  } else {
    half_solve_tree<stride>(model, L, c.root.data(), part.tree, x);
  }
}

}  // namespace

namespace {

// Rows on a single dof k: D^-1/2 L^-T e_k is the row w_k = root_k e_k - sum_j L_kj w_j of a recursion over the
// ancestors j of k. A row has the layout of a row of L (Model::row_start), and ends in zeros.
class UnitRows {
 public:
  UnitRows(const Model& model, const VectorX& L, Constraints& c) : model_(model), L_(L), c_(c) {
    c.unit_rows.resize(static_cast<std::size_t>(L.size()));
    c.has_unit_row.assign(at(model.nv), 0);
  }

  const double* operator()(int dof) {
    if (c_.has_unit_row[at(dof)] == 0) {
      const int* path = model_.row_dof.data() + model_.row_start[at(dof)];
      int i = model_.row_length[at(dof)] - 1;
      while (i > 0 && c_.has_unit_row[at(path[i - 1])] == 0) --i;
      for (; i < model_.row_length[at(dof)]; ++i) make(path[i], path);
    }
    return row(dof);
  }

 private:
  double* row(int dof) { return c_.unit_rows.data() + model_.row_start[at(dof)]; }

  void make(int dof, const int* path) {
    const int last = model_.row_length[at(dof)] - 1;
    const double* factor = L_.data() + model_.row_start[at(dof)];
    double* own = row(dof);
    for (int i = 0; i <= last; i += 8) {  // two groups of lanes at a time
      Lanes low{}, high{};
      for (int j = i; j < last; ++j) {
        const double* other = row(path[j]) + i;
        low -= broadcast(factor[j]) * load_lanes(other);
        if (j >= i + 4) high -= broadcast(factor[j]) * load_lanes(other + 4);
      }
      store_lanes(low, own + i);
      if (last >= i + 4) store_lanes(high, own + i + 4);
    }
    own[last] = c_.root[at(dof)];
    c_.has_unit_row[at(dof)] = 1;
  }

  const Model& model_;
  const VectorX& L_;
  Constraints& c_;
};

}  // namespace

void solve_constraint_rows(const Model& model, const Scope& scope, const VectorX& L, const VectorX& D_inverse,
                           Constraints& c) {
  c.root.resize(at(model.nv));
  for (const IndexRange& range : scope.dofs) {
    for (int k = range.begin; k < range.end; ++k) c.root[at(k)] = std::sqrt(D_inverse[k]);
  }
  c.Y.resize(c.J.size());
  UnitRows unit_row(model, L, c);
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int stride = c.stride(block);
    for (int i = 0; i < constraint.part_count; ++i) {
      const TreePart& part = c.parts[at(constraint.first_part + i)];
      const double* from = c.J.data() + part.start;
      double* x = c.Y.data() + part.start;
      if (stride == 1 && part.path >= 0 && part.first == part.count - 1) {
        const double* row = unit_row(part.path);
        for (int k = 0; k < part.count; ++k) x[k] = from[part.first] * row[k];
        continue;
      }
      std::copy_n(from, stride * part.count, x);
      stride == 1   ? half_solve_part<1>(model, L, c, part, x)
      : stride == 4 ? half_solve_part<4>(model, L, c, part, x)
                    : half_solve_part<8>(model, L, c, part, x);
    }
  }
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
