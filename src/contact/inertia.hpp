// The inertia A of a contact problem, known by what can be done with it. A problem of a file or a generator brings
// dense blocks (DenseInertia), a simulation the sparse factors of its kinematic trees (sim/tree_inertia.hpp): nothing
// is formed that is not needed, and nothing is factored twice.
//
// Dofs come in groups, the block columns of J: those of a body, or of a few joints of a chain. Groups come in cliques,
// between which A is zero: a free body, a kinematic tree, later a deformable body.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "touchstone/math/aligned.hpp"
#include "touchstone/math/block_sparse_matrix.hpp"
#include "touchstone/math/types.hpp"

namespace touchstone {

class Inertia {
 public:
  virtual ~Inertia() = default;

  // ngroup + 1: first dof of a group, then the number of dofs.
  const std::vector<int>& group() const { return group_; }
  // nclique + 1: first group of a clique, then the number of groups.
  const std::vector<int>& clique() const { return clique_; }
  // ngroup: the clique of a group.
  const std::vector<int>& clique_of() const { return clique_of_; }

  int nv() const { return group_.back(); }
  int ngroup() const { return static_cast<int>(group_.size()) - 1; }
  int nclique() const { return static_cast<int>(clique_.size()) - 1; }
  int first_dof(int clique) const { return group_[clique_[clique]]; }
  int clique_size(int clique) const { return group_[clique_[clique + 1]] - first_dof(clique); }
  // The first clique whose block is not positive definite; -1 if all are, and only then it may be solved with.
  int broken_clique() const { return broken_clique_; }

  // Of one clique. x begins at its first dof and has its size.
  virtual void solve(int clique, double* x) const = 0;  // x <- A^-1 x
  // x <- S x for `columns` columns one after another, where A^-1 = S' S.
  virtual void half_solve(int clique, double* x, int columns) const = 0;

  // What a joint-space system A + J' W J needs: the pairs of groups that A couples, all diagonal ones and both of (p,
  // q) and (q, p), are appended; and A is added to a matrix that has them.
  virtual void append_pattern(std::vector<std::pair<int, int>>& pattern) const = 0;
  virtual void add_to(BlockSparseMatrix& H) const = 0;

  // The same times a positive factor.
  virtual std::shared_ptr<const Inertia> scaled(double factor) const = 0;
  virtual bool all_finite() const = 0;

  // All cliques at once: x <- A^-1 x, and A itself by groups.
  void solve(VectorX& x) const;
  BlockSparseMatrix matrix() const;

 protected:
  Inertia() = default;
  Inertia(const Inertia&) = default;
  Inertia(Inertia&&) = default;
  Inertia& operator=(const Inertia&) = default;
  Inertia& operator=(Inertia&&) = default;

  std::vector<int> group_{0}, clique_{0}, clique_of_;
  int broken_clique_ = -1;
};

// A dense symmetric block for each clique, which is one group.
class DenseInertia final : public Inertia {
 public:
  // Returns the number of the new clique. Throws Error unless the block is square and not empty.
  int add(const Eigen::Ref<const MatrixX>& block);
  // Another block for a clique, of the same size.
  void set(int clique, const Eigen::Ref<const MatrixX>& block);
  Eigen::Map<const MatrixX> block(int clique) const;

  void solve(int clique, double* x) const override;
  void half_solve(int clique, double* x, int columns) const override;
  void append_pattern(std::vector<std::pair<int, int>>& pattern) const override;
  void add_to(BlockSparseMatrix& H) const override;
  std::shared_ptr<const Inertia> scaled(double factor) const override;
  bool all_finite() const override;
  using Inertia::solve;

 private:
  void factorize(int clique);

  std::vector<std::size_t> offset_{0};  // nclique + 1: where the block of a clique begins
  std::vector<char> broken_;            // nclique
  AlignedVector A_, L_;                 // column-major blocks one after another; A = L L', lower triangles
};

}  // namespace touchstone
