// The linear systems of all Newton methods for the NCP: (G + Lambda) x = b with a block diagonal Lambda.
//
// Method: multifrontal LU of G + Lambda, Cholesky's method if G is known to be symmetric and Lambda is; otherwise G is
//   taken as it is. Lambda regularises: neither a rank-deficient nor an ill-conditioned G hurts as long as Lambda stays
//   above kFloor.
// Rows that must not move get Lambda = kFixed, which is exact to rounding.
// Small: up to kLargestDense rows the matrix is taken as dense, without the rows that must not move, unless G is mostly
//   empty. If G is known to be symmetric, blocks whose Lambda is symmetric are eliminated first, by Cholesky's method.
// Joint space (joint_system.hpp): with a primal view and fewer degrees of freedom than rows, wherever the factor is the
//   smaller one there. Where the accuracy of a solution does not suffice, the system is factored in contact space; so
//   are all that follow once that has happened too often.
// Cost: one factorisation for each Lambda; each solution two triangular solves, in joint space a few times that.
#pragma once

#include <span>
#include <vector>

#include "touchstone/contact/dual.hpp"
#include "touchstone/math/aligned.hpp"
#include "touchstone/math/block_sparse_lu.hpp"
#include "touchstone/math/dense_factor.hpp"
#include "touchstone/solvers/newton/joint_system.hpp"
#include "touchstone/solvers/newton/smooth_law.hpp"

namespace touchstone {

class NewtonSystem {
 public:
  static constexpr double kFixed = kFixedSlope;
  static constexpr double kFloor = 1e-13;
  static constexpr int kLargestDense = kFewRows;

  // For a scaled dual problem, which must stay alive. Keeps the symbolic factors while the pattern holds. `space`, if
  // it has a problem, is what `dual` was prepared from, or the blocks of it that `dual` was cut out of; its primal view
  // is used, and asked for, where that is worth it.
  void prepare(const DualProblem& dual, const JointSpace& space = {});
  // Memory for a dense matrix of all rows, whatever Lambda will fix.
  void reserve_dense(const DualProblem& dual);

  BlockDiagonal Lambda;

  // `held` tells joint space of the blocks that Lambda holds to a plane by a penalty, in the order of blocks; it must
  // stay alive until the last solve. Returns false if the matrix is singular to rounding even with a larger floor.
  bool factorize(std::span<const HeldBlock> held = {});
  // Not a number where no factor is to be had.
  void solve(VectorX& x);

  bool in_joint_space() const { return in_joint_space_; }
  bool is_dense() const { return is_dense_; }
  // Multiplications of one factorisation; 0 before the first.
  double cost() const;
  int factorizations() const { return factorizations_; }
  void reset_count() { factorizations_ = 0; }
  const BlockSparseLu& lu() const { return lu_; }

 private:
  bool factorize_dense(double shift);
  void order_moving();
  void fill_dense(bool lower, double shift);
  void fill_column(int k, int first, const double* row);
  void fill_columns_3(int k, int first, const double* panel);
  void add_lambda(int first, int end);
  void solve_dense(VectorX& x);
  bool factorize_in_contact_space();
  bool is_symmetric(int block) const;  // Lambda's
  bool is_symmetric() const;           // the sum, as far as is known

  const DualProblem* dual_ = nullptr;
  bool is_dense_ = false;
  bool in_joint_space_ = false;  // whether factorisations begin there
  bool factored_joint_ = false;  // whether the last one is there
  bool failed_ = false;          // a solution there was not accurate enough
  int failures_ = 0;             // factorisations there, one after the other, of which that is true
  JointSystem joint_;
  BlockSparseLu lu_;
  int factorizations_ = 0;

  // --- small ---
  // A row of the dense matrix: where it is in the problem.
  struct MovingRow {
    int row = 0, block = 0;
  };
  std::vector<MovingRow> moving_;
  std::vector<int> others_;    // blocks whose part of Lambda is not symmetric
  std::vector<int> position_;  // nrow: the row in the dense matrix, -1 if it must not move
  int symmetric_rows_ = 0;     // the first rows of the dense matrix
  DenseFactor dense_;
  AlignedVector gather_;
};

}  // namespace touchstone
