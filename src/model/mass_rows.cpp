#include "touchstone/model/mass_rows.hpp"

#include "touchstone/math/vec3.hpp"

namespace touchstone {

void add_tendon_armature(const Model& model, const VectorX& armature, VectorX& M) {
  for (int t = 0; t < model.ntendon; ++t) {
    if (armature[t] == 0.0) continue;
    for (const Tendon::Term& row : model.tendons[t].terms) {
      for (const Tendon::Term& column : model.tendons[t].terms) {
        const int i = model.joint_dof[row.joint], j = model.joint_dof[column.joint];
        if (j > i) continue;  // the lower triangle
        M[model.row_start[i] + model.row_length[j] - 1] += armature[t] * row.coefficient * column.coefficient;
      }
    }
  }
}

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

}  // namespace

bool factorize_rows(const Model& model, VectorX& L, VectorX& D_inverse) {
  bool positive = true;
  for (int k = model.nv - 1; k >= 0; --k) {
    const double pivot = L[model.row_start[k] + model.row_length[k] - 1];
    positive = positive && pivot > 0.0;  // false for NaN
    D_inverse[k] = eliminate(model, k, L.data());
  }
  return positive;
}

void half_solve_rows(const Model& model, const VectorX& L, VectorRef x) {
  for (int k = model.nv - 1; k >= 0; --k) {
    const double xk = x[k];
    if (xk == 0.0) continue;
    const double* row = L.data() + model.row_start[k];
    const int* dof = model.row_dof.data() + model.row_start[k];
    for (int j = 0; j < model.row_length[k] - 1; ++j) x[dof[j]] -= row[j] * xk;
  }
}

}  // namespace touchstone
