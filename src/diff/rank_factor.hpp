// A small square matrix with a positive diagonal, factored for its inverse or, where it is singular, its
// pseudo-inverse: the least-squares solution of least norm, after rows and columns were scaled so that the diagonal is
// one.
//
// Method: elimination with complete pivoting, K = L D U with unit triangles (but for the order of rows and columns)
// whose entries are at most one, hence well conditioned; of rank r, L has r columns and U r rows, and
// K^+ = U' (U U')^-1 D^-1 (L' L)^-1 L'. If K is symmetric and semidefinite the largest entry is on the diagonal,
// U = L', and a step costs a product with the columns that are there.
#pragma once

#include <vector>

#include "touchstone/diff/growing.hpp"
#include "touchstone/math/tile_product.hpp"

namespace touchstone {

class RankFactor {
 public:
  // Pivots below this share of the largest are zero. Above what equalities give way by (1e-9): where they say the same
  // twice, digits would be lost in impulses that cancel.
  static constexpr double kTolerance = 1e-8;

  // The matrix to fill in (n x n) for `factor`, which overwrites it.
  Growing<MatrixX>::View begin(Eigen::Index n) { return K_.resize(n, n); }
  // `semidefinite`: K is, wherever it is symmetric.
  void factor(bool semidefinite);
  int rank() const { return rank_; }

  // x <- K^-1 x or K^+ x, and with the transpose of K.
  void solve(VectorRef x) const { solve(x, left_, left_gram_, row_, right(), right_gram(), column()); }
  void solve_transposed(VectorRef x) const { solve(x, right(), right_gram(), column(), left_, left_gram_, row_); }
  // K^-1 or K^+.
  void form_inverse(Eigen::Ref<MatrixX> inverse) const;
  // The same as right diag(weights) left', n x rank each; where K is symmetric right is left, and not filled in.
  void form_split(PaddedMatrix& left, PaddedMatrix& right, Growing<VectorX>& weights) const;
  bool symmetric() const { return symmetric_; }

 private:
  using Matrix = Growing<MatrixX>;

  bool is_symmetric() const;
  void scale();
  void eliminate();
  void eliminate_symmetric();
  void set_gram(const Matrix& triangle, Matrix& gram) const;
  void solve(VectorRef x, const Matrix& first, const Matrix& first_gram, const std::vector<int>& first_order,
             const Matrix& second, const Matrix& second_gram, const std::vector<int>& second_order) const;
  void form_part(const Matrix& triangle, const Matrix& gram, const std::vector<int>& order, PaddedMatrix& part) const;
  const Matrix& right() const { return symmetric_ ? left_ : right_; }
  const Matrix& right_gram() const { return symmetric_ ? left_gram_ : right_gram_; }
  const std::vector<int>& column() const { return symmetric_ ? row_ : column_; }

  int rank_ = 0;
  bool symmetric_ = false;
  std::vector<int> row_, column_;  // of the matrix, by pivot
  Matrix K_;
  Matrix left_, right_;             // n x rank: L, and U'; rows in the order of the matrix
  Matrix left_gram_, right_gram_;   // of singular matrices: Cholesky factors of L' L and U U'
  Growing<VectorX> scale_, pivot_;  // n
  Growing<VectorX> largest_;        // n: of each column
  mutable Growing<VectorX> scratch_;
};

}  // namespace touchstone
