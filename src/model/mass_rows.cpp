#include "touchstone/model/mass_rows.hpp"

#include <algorithm>

#include "touchstone/math/vec3.hpp"

namespace touchstone {

void add_tendon(const Model& model, int tendon, double scale, VectorX& M) {
  const auto for_terms = [&](auto&& use) {
    for (const Tendon::Term& term : model.tendons[tendon].terms) use(model.joint_dof[term.joint], term.coefficient);
  };
  add_rank_one(model, scale, for_terms, M);
}

void add_tendon_armature(const Model& model, std::span<const int> tendons, const VectorX& armature, VectorX& M) {
  for (const int t : tendons) {
    if (armature[t] != 0.0) add_tendon(model, t, armature[t], M);
  }
}

void copy_rows(const Model& model, std::span<const IndexRange> dofs, const VectorX& from, VectorX& to) {
  if (to.size() != from.size()) {
    to = from;
    return;
  }
  for (const IndexRange& range : dofs) {
    std::copy(from.data() + model.row_start[range.begin], from.data() + model.row_start[range.end],
              to.data() + model.row_start[range.begin]);
  }
}

namespace {

Lanes& lanes_at(double* p) { return *reinterpret_cast<Lanes*>(p); }
Lanes lanes_at(const double* p) { return *reinterpret_cast<const Lanes*>(p); }

// One elimination as it goes on: row k, its ancestors, and the inverse of its pivot.
struct Elimination {
  const double* row;
  const int* dof;        // of each entry of the row
  const int* row_start;  // of each dof
  double* L;
  double inverse;

  double* target(int j) const { return L + row_start[dof[j]]; }
  Lanes scale(int j) const { return broadcast(row[j] * inverse); }
};

// row_i -= (row_k[i] / D) row_k for the ancestors at the positions [from, to), whose rows reach into the N-th group of
// four entries: N is known, so the part of row k stays in registers.
template <int N>
void update_ancestors(const Elimination& e, int from, int to) {
  Lanes part[N];
  for (int t = 0; t < N; ++t) part[t] = lanes_at(e.row + 4 * t);
  for (int j = from; j < to; ++j) {
    double* target = e.target(j);
    const Lanes scale = e.scale(j);
    for (int t = 0; t < N; ++t) lanes_at(target + 4 * t) -= scale * part[t];
  }
}

void update_deep_ancestors(const Elimination& e, int from, int to) {
  for (int j = from; j < to; ++j) {
    double* target = e.target(j);
    const Lanes scale = e.scale(j);
    for (int t = 0; t <= j; t += 4) lanes_at(target + t) -= scale * lanes_at(e.row + t);
  }
}

// Removes dof k from the rows of its ancestors; then scales row k.
double eliminate(const Model& model, int k, double* L) {
  double* row = L + model.row_start[k];
  const int last = model.row_length[k] - 1;
  const Elimination e{row, model.row_dof.data() + model.row_start[k], model.row_start.data(), L, 1.0 / row[last]};
  for (int from = 0; from < last; from += 4) {
    const int to = std::min(from + 4, last);
    switch (from / 4) {
      case 0:
        update_ancestors<1>(e, from, to);
        break;
      case 1:
        update_ancestors<2>(e, from, to);
        break;
      case 2:
        update_ancestors<3>(e, from, to);
        break;
      case 3:
        update_ancestors<4>(e, from, to);
        break;
      case 4:
        update_ancestors<5>(e, from, to);
        break;
      default:
        update_deep_ancestors(e, from, to);
        break;
    }
  }
  for (int j = 0; j < last; ++j) row[j] *= e.inverse;
  return e.inverse;
}

}  // namespace

bool factorize_rows(const Model& model, std::span<const IndexRange> dofs, VectorX& L, VectorX& D_inverse) {
  bool positive = true;
  for (auto range = dofs.rbegin(); range != dofs.rend(); ++range) {
    for (int k = range->end - 1; k >= range->begin; --k) {
      const double pivot = L[model.row_start[k] + model.row_length[k] - 1];
      positive = positive && pivot > 0.0;  // false for NaN
      D_inverse[k] = eliminate(model, k, L.data());
    }
  }
  return positive;
}

void half_solve_rows(const Model& model, std::span<const IndexRange> dofs, const VectorX& L, VectorRef x) {
  for (auto range = dofs.rbegin(); range != dofs.rend(); ++range) {
    for (int k = range->end - 1; k >= range->begin; --k) {
      const double xk = x[k];
      if (xk == 0.0) continue;
      const double* row = L.data() + model.row_start[k];
      const int* dof = model.row_dof.data() + model.row_start[k];
      for (int j = 0; j < model.row_length[k] - 1; ++j) x[dof[j]] -= row[j] * xk;
    }
  }
}

}  // namespace touchstone
