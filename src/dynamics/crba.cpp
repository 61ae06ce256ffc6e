// Composite rigid bodies: M_ij = S_j . (I_i S_i) with I_i the inertia of everything beyond dof i, for j an ancestor
// of i (Featherstone, ch. 6). In world axes about one point the inertias of a subtree just add up. Cost O(n depth).
#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/long_trees.hpp"
#include "touchstone/dynamics/recursion.hpp"
#include "touchstone/model/mass_rows.hpp"

namespace touchstone {

namespace {

void sum_inertias(const Model& model, const Parameters& parameters, Data& data) {
  const std::vector<IndexRange>& bodies = data.scope.bodies;
  for (const IndexRange& range : bodies) {
    for (int b = range.begin; b < range.end; ++b) {
      if (model.body_kernels[b].tree < 0) continue;
      data.composite_inertia[b] = world_inertia(parameters.body_inertia[b], data.X_WB[b].R, data.body_com[b]);
    }
  }
  for (auto range = bodies.rbegin(); range != bodies.rend(); ++range) {
    for (int b = range->end - 1; b >= range->begin; --b) {
      const BodyKernel& body = model.body_kernels[b];
      if (body.tree >= 0 && model.body_kernels[body.parent].tree >= 0) {
        data.composite_inertia[body.parent] += data.composite_inertia[b];
      }
    }
  }
}

// The row of dof i, four entries at a time; the padding of the row is written too, and never read.
void fill_row(const Model& model, int i, Data& data) {
  const Force F = data.composite_inertia[model.dof_body[i]] * data.S[i];
  const auto power = [&](int dof) {
    const Motion& S = data.S[dof];
    return S.angular.lanes * F.torque.lanes + S.linear.lanes * F.force.lanes;
  };
  for (int k = model.row_start[i]; k < model.row_start[i + 1]; k += 4) {
    const int* dof = &model.row_dof[k];
    *reinterpret_cast<Lanes*>(&data.M[k]) = sum_each(power(dof[0]), power(dof[1]), power(dof[2]), power(dof[3]));
  }
}

}  // namespace

void crba(const Model& model, const Parameters& parameters, Data& data) {
  if (data.long_trees.used) return measure_bodies(model, parameters, data);
  sum_inertias(model, parameters, data);
  for (const IndexRange& range : data.scope.dofs) {
    for (int i = range.begin; i < range.end; ++i) {
      fill_row(model, i, data);
      data.M[model.row_start[i] + model.row_length[i] - 1] += parameters.dof_armature[i];
    }
  }
  add_tendon_armature(model, data.scope.tendons, parameters.tendon_armature, data.M);
}

void multiply_mass(const Model& model, const Data& data, const ConstVectorRef& x, VectorRef y) {
  require_size("x", x.size(), model.nv);
  require_size("y", y.size(), model.nv);
  for (int i = 0; i < model.nv; ++i) {
    const int start = model.row_start[i], last = start + model.row_length[i] - 1;
    double sum = data.M[last] * x[i];
    for (int k = start; k < last; ++k) {
      const int j = model.row_dof[k];
      sum += data.M[k] * x[j];
      y[j] += data.M[k] * x[i];
    }
    y[i] = sum;
  }
}

MatrixX dense_mass_matrix(const Model& model, const Data& data) {
  MatrixX M = MatrixX::Zero(model.nv, model.nv);
  for (int i = 0; i < model.nv; ++i) {
    for (int k = 0; k < model.row_length[i]; ++k) {
      const int j = model.row_dof[model.row_start[i] + k];
      M(i, j) = M(j, i) = data.M[model.row_start[i] + k];
    }
  }
  return M;
}

}  // namespace touchstone
