// The inertia of some kinematic trees of a model, with the factor that the step has made anyway (contact/inertia.hpp).
//
// A clique is a tree, a free body among them. A group is a piece of a chain without branches, at most six dofs. A
// couples a dof with those before it on its path, so the joint-space system of an island has the union of the patterns
// of its trees and its constraints; what fills in is left to the symbolic factorisation.
//
// It holds copies of what it needs, so that it may outlive the step and the model.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "touchstone/contact/inertia.hpp"
#include "touchstone/dynamics/data.hpp"

namespace touchstone {

class TreeInertia final : public Inertia {
 public:
  // `trees` of the model, ascending; data has the factor of A (compute_free_motion). Keeps memory.
  void set(const Model& model, const Data& data, const std::vector<int>& trees);

  // nv: the group of a dof.
  const std::vector<int>& group_of() const { return group_of_; }

  void solve(int clique, double* x) const override;
  void half_solve(int clique, double* x, int columns) const override;
  void append_pattern(std::vector<std::pair<int, int>>& pattern) const override;
  void add_to(BlockSparseMatrix& H) const override;
  std::shared_ptr<const Inertia> scaled(double factor) const override;
  bool all_finite() const override;
  using Inertia::solve;

 private:
  void set_structure(const Model& model, const std::vector<int>& trees);
  void add_groups(const Model& model, int tree);
  void expand_factor();
  // Calls use(ancestor, first, end) for the groups on the path of a group, itself included: their slots in the row of
  // its last dof.
  template <typename Use>
  void for_path(int group, Use use) const;
  int row_length(int dof) const { return row_start_[dof + 1] - row_start_[dof]; }

  std::vector<int> trees_, lengths_;         // of the structure: trees, and the lengths of their rows
  std::vector<int> children_;                // scratch
  std::vector<int> row_start_{0}, row_dof_;  // nv + 1; the path to each dof, itself last, as dofs of the island
  std::vector<int> group_of_;                // nv
  VectorX L_, A_;                            // rows of the factor, diagonal slots D; of A
  VectorX D_inverse_, root_;                 // nv: 1 / D, and its root
};

}  // namespace touchstone
