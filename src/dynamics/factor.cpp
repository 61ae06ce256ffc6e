// Solving with the mass matrix; the factor itself is in model/mass_rows.
#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/model/mass_rows.hpp"

namespace touchstone {

bool factorize(const Model& model, Data& data) {
  copy_rows(model, data.scope.dofs, data.M, data.L);
  return factorize_rows(model, data.scope.dofs, data.L, data.D_inverse);
}

bool factorize(const Model& model, const ConstVectorRef& shift, Data& data) {
  require_size("shift", shift.size(), model.nv);
  copy_rows(model, data.scope.dofs, data.M, data.L);
  for (int i = 0; i < model.nv; ++i) data.L[model.row_start[i] + model.row_length[i] - 1] += shift[i];
  return factorize_rows(model, data.scope.dofs, data.L, data.D_inverse);
}

void half_solve(const Model& model, const Data& data, VectorRef x) {
  require_size("x", x.size(), model.nv);
  half_solve_rows(model, data.scope.dofs, data.L, x);
}

namespace {

void solve_rows(const Model& model, std::span<const IndexRange> dofs, const VectorX& L, const VectorX& D_inverse,
                VectorRef x) {
  require_size("x", x.size(), model.nv);
  half_solve_rows(model, dofs, L, x);
  for (const IndexRange& range : dofs) {
    for (int k = range.begin; k < range.end; ++k) {
      const double* row = L.data() + model.row_start[k];
      const int* dof = model.row_dof.data() + model.row_start[k];
      double xk = x[k] * D_inverse[k];
      for (int j = 0; j < model.row_length[k] - 1; ++j) xk -= row[j] * x[dof[j]];
      x[k] = xk;
    }
  }
}

}  // namespace

void solve(const Model& model, const Data& data, VectorRef x) {
  if (data.long_trees.used) return data.long_trees.motion.solve(data.S, x);
  solve_rows(model, data.scope.dofs, data.L, data.D_inverse, x);
}

void solve(const Model& model, const TreeFactor& factor, VectorRef x) {
  const IndexRange dofs[] = {{0, model.nv}};
  solve_rows(model, dofs, factor.L, factor.D_inverse, x);
}

void solve(const Model& model, const Scope& scope, const TreeFactor& factor, VectorRef x) {
  solve_rows(model, scope.dofs, factor.L, factor.D_inverse, x);
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
