// The arithmetic of matrices in the sparse row layout of a model (Model::row_start): what the dynamics and the builder
// both need of the mass matrix.
#pragma once

#include <span>

#include "touchstone/base/index.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

// M += scale x x', where for_entries calls its argument with (dof, x of that dof). The dofs lie on one path: for others
// M has no entries.
template <typename ForEntries>
void add_rank_one(const Model& model, double scale, const ForEntries& for_entries, VectorX& M) {
  for_entries([&](int i, double x_i) {
    for_entries([&](int j, double x_j) {
      if (j > i) return;  // the lower triangle
      M[model.row_start[at(i)] + model.row_length[at(j)] - 1] += scale * x_i * x_j;
    });
  });
}

// The same for the coefficients of a tendon.
void add_tendon(const Model& model, int tendon, double scale, VectorX& M);

// Adds the armature of each of the tendons: a c_i c_j for each pair of its joints.
void add_tendon_armature(const Model& model, std::span<const int> tendons, const VectorX& armature, VectorX& M);

// The rows of some dofs, from one matrix to another; all of them if that has another size.
void copy_rows(const Model& model, std::span<const IndexRange> dofs, const VectorX& from, VectorX& to);

// Turns the rows of a matrix into its tree factor L' D L (Featherstone, ch. 8.5): unit diagonal implied, the diagonal
// slots keep D. Eliminating from the leaves to the root, dof k only touches its ancestors, so nothing fills in. With
// rows stored root first, an ancestor's row is a prefix of row k and each elimination is a contiguous vector update.
// Cost O(n depth^2). False if a pivot is not positive. `dofs`: of whole trees, ascending; others are left alone.
bool factorize_rows(const Model& model, std::span<const IndexRange> dofs, VectorX& L, VectorX& D_inverse);

// x <- L^-T x. Cost O(n depth).
void half_solve_rows(const Model& model, std::span<const IndexRange> dofs, const VectorX& L, VectorRef x);

}  // namespace touchstone
