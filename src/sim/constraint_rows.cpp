// Y = D^-1/2 L^-T J': the rows of constraints solved with the factor of A.
#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/math/block_sparse_matrix.hpp"
#include "touchstone/math/lanes.hpp"
#include "touchstone/sim/constraints.hpp"

namespace touchstone {

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

}  // namespace touchstone
