// The tree factor M = L' D L without fill-in (Featherstone, ch. 8.5): eliminating from the leaves to the root, dof k
// only touches its ancestors. With rows stored root first, the row of an ancestor is a prefix of row k, so each
// elimination is a contiguous vector update. Cost O(n depth^2) to factor, O(n depth) to solve.
#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/math/vec3.hpp"

namespace touchstone {

namespace {

Lanes& lanes_at(double* p) { return *reinterpret_cast<Lanes*>(p); }

// Removes dof k: row_i -= (row_k[i] / D) row_k for every ancestor i; then scales row k.
double eliminate(const Model& model, int k, double* L) {
  double* row = L + model.row_start[k];
  const int* dof = model.row_dof.data() + model.row_start[k];
  const int last = model.row_length[k] - 1;
  const double inverse = 1.0 / row[last];
  for (int j = 0; j < last; ++j) {
    double* target = L + model.row_start[dof[j]];
    const Lanes scale = broadcast(row[j] * inverse);
    for (int t = 0; t <= j; t += 4) lanes_at(target + t) -= scale * lanes_at(row + t);
  }
  for (int j = 0; j < last; ++j) row[j] *= inverse;
  return inverse;
}

bool eliminate_all(const Model& model, Data& data) {
  bool positive = true;
  for (int k = model.nv - 1; k >= 0; --k) {
    const double pivot = data.L[model.row_start[k] + model.row_length[k] - 1];
    positive = positive && pivot > 0.0;  // false for NaN
    data.D_inverse[k] = eliminate(model, k, data.L.data());
  }
  return positive;
}

}  // namespace

bool factorize(const Model& model, Data& data) {
  data.L = data.M;
  return eliminate_all(model, data);
}

bool factorize(const Model& model, const ConstVectorRef& shift, Data& data) {
  require_size("shift", shift.size(), model.nv);
  data.L = data.M;
  for (int i = 0; i < model.nv; ++i) data.L[model.row_start[i] + model.row_length[i] - 1] += shift[i];
  return eliminate_all(model, data);
}

void half_solve(const Model& model, const Data& data, VectorRef x) {
  require_size("x", x.size(), model.nv);
  for (int k = model.nv - 1; k >= 0; --k) {
    const double xk = x[k];
    if (xk == 0.0) continue;
    const double* row = data.L.data() + model.row_start[k];
    const int* dof = model.row_dof.data() + model.row_start[k];
    for (int j = 0; j < model.row_length[k] - 1; ++j) x[dof[j]] -= row[j] * xk;
  }
}

void solve(const Model& model, const Data& data, VectorRef x) {
  require_size("x", x.size(), model.nv);
  half_solve(model, data, x);
  for (int k = 0; k < model.nv; ++k) {
    const double* row = data.L.data() + model.row_start[k];
    const int* dof = model.row_dof.data() + model.row_start[k];
    double xk = x[k] * data.D_inverse[k];
    for (int j = 0; j < model.row_length[k] - 1; ++j) xk -= row[j] * x[dof[j]];
    x[k] = xk;
  }
}

void solve_path(const Model& model, const Data& data, int body, Eigen::Ref<MatrixX> X) {
  require_size("X", X.rows(), model.nv);
  const int leaf = model.body_last_dof[body];
  if (leaf < 0) {
    X.setZero();
    return;
  }
  const int tree = model.dof_tree[leaf];
  const int* path = model.row_dof.data() + model.row_start[leaf];
  const int length = model.row_length[leaf];
  for (Eigen::Index column = 0; column < X.cols(); ++column) {
    auto x = X.col(column);
    // L^-T leaves zeros off the path alone, so only the path is visited.
    for (int p = length - 1; p > 0; --p) {
      const double* row = data.L.data() + model.row_start[path[p]];
      const double xp = x[path[p]];
      for (int j = 0; j < p; ++j) x[path[j]] -= row[j] * xp;
    }
    for (int p = 0; p < length; ++p) x[path[p]] *= data.D_inverse[path[p]];
    // Then L^-1 spreads from the path to the rest of the tree.
    for (int k = model.tree_first_dof[tree]; k < model.tree_first_dof[tree + 1]; ++k) {
      const double* row = data.L.data() + model.row_start[k];
      const int* dof = model.row_dof.data() + model.row_start[k];
      for (int j = 0; j < model.row_length[k] - 1; ++j) x[k] -= row[j] * x[dof[j]];
    }
  }
}

}  // namespace touchstone
