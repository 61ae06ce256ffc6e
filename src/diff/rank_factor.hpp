// The inverse of a small square matrix with a positive diagonal, or where it is singular its pseudo-inverse: the
// least-squares solution of least norm, after rows and columns were scaled so that the diagonal is one.
//
// Method: elimination with complete pivoting, K = P L D U Q with unit triangles whose entries are at most one, hence
// well conditioned; of rank r, L has r columns and U r rows, and K^+ = Q' U' (U U')^-1 D^-1 (L' L)^-1 L' P'.
#pragma once

#include <vector>

#include "touchstone/diff/growing.hpp"

namespace touchstone {

class RankFactor {
 public:
  // Pivots below this share of the largest are zero. Above what equalities give way by (1e-9): where they say the same
  // twice, digits would be lost in impulses that cancel.
  static constexpr double kTolerance = 1e-8;

  // `K` is overwritten. `inverse` (same size): K^-1 or K^+.
  void invert(Eigen::Ref<MatrixX> K, Eigen::Ref<MatrixX> inverse);
  int rank() const { return rank_; }

 private:
  void scale(Eigen::Ref<MatrixX> K);
  void eliminate(Eigen::Ref<MatrixX> K);
  void invert_singular(Eigen::Ref<MatrixX> K, Eigen::Ref<MatrixX> inverse);

  int rank_ = 0;
  std::vector<int> row_, column_;  // of the matrix that each row and column of the factor is
  Growing<MatrixX> right_, left_, gram_;
  Growing<VectorX> scale_;
};

}  // namespace touchstone
