#include "touchstone/diff/rank_factor.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include <Eigen/Cholesky>

#include "touchstone/base/index.hpp"

namespace touchstone {
namespace {

// Of a matrix whose diagonal is one: what rounding may make of two entries that are the same.
constexpr double kSame = 1e-14;

// y <- (C C')^-1 y with the Cholesky factor C: for one small vector, where Eigen's solver for blocks has much to set
// up.
void divide(const Growing<MatrixX>& factor, Growing<VectorX>::View& y) {
  const Growing<MatrixX>::ConstView C = factor.view();
  const Eigen::Index n = y.size();
  for (Eigen::Index k = 0; k < n; ++k) {
    y[k] /= C(k, k);
    y.tail(n - k - 1) -= y[k] * C.col(k).tail(n - k - 1);
  }
  for (Eigen::Index k = n - 1; k >= 0; --k) {
    y[k] = (y[k] - C.col(k).tail(n - k - 1).dot(y.tail(n - k - 1))) / C(k, k);
  }
}

}  // namespace

void RankFactor::scale() {
  Matrix::View K = K_.view();
  Growing<VectorX>::View scale = scale_.resize(K.rows(), 1);
  for (Eigen::Index i = 0; i < K.rows(); ++i) scale[i] = K(i, i) > 0.0 ? 1.0 / std::sqrt(K(i, i)) : 1.0;
  for (Eigen::Index j = 0; j < K.cols(); ++j) K.col(j) = scale[j] * K.col(j).cwiseProduct(scale);
}

bool RankFactor::is_symmetric() const {
  const Matrix::ConstView K = K_.view();
  for (Eigen::Index j = 0; j < K.cols(); ++j) {
    for (Eigen::Index i = 0; i < j; ++i) {
      if (!(std::abs(K(i, j) - K(j, i)) <= kSame)) return false;
    }
  }
  return true;
}

void RankFactor::factor(bool semidefinite) {
  const Eigen::Index n = K_.rows();
  row_.resize(at(n));
  pivot_.resize(n, 1);
  rank_ = 0;
  scale();
  symmetric_ = semidefinite && is_symmetric();
  symmetric_ ? eliminate_symmetric() : eliminate();
  if (rank_ == n) return;
  set_gram(left_, left_gram_);
  if (!symmetric_) set_gram(right_, right_gram_);
}

// Column by column: what is left of the column of the largest diagonal entry, after those before it. Rows stay where
// they are, and are zero once they were a pivot.
void RankFactor::eliminate_symmetric() {
  const Matrix::ConstView K = std::as_const(K_).view();
  const Eigen::Index n = K.rows();
  Matrix::View L = left_.resize(n, n);
  Growing<VectorX>::View left_over = largest_.resize(n, 1), weights = scratch_.resize(n, 1);
  left_over = K.diagonal();
  double largest = 0.0;
  for (Eigen::Index k = 0; k < n; ++k, ++rank_) {
    Eigen::Index p = 0;
    const double pivot = left_over.maxCoeff(&p);
    if (k == 0) largest = pivot;
    if (!(pivot > kTolerance * largest)) break;
    weights.head(k) = pivot_.view().head(k).cwiseProduct(L.row(p).head(k).transpose());
    L.col(k) = K.col(p);
    L.col(k).noalias() -= L.leftCols(k) * weights.head(k);
    L.col(k) /= pivot;
    for (Eigen::Index i = 0; i < k; ++i) L(row_[at(i)], k) = 0.0;
    L(p, k) = 1.0;
    left_over -= pivot * L.col(k).cwiseAbs2();
    left_over[p] = 0.0;
    row_[at(k)] = static_cast<int>(p);
    pivot_.view()[k] = pivot;
  }
  left_.shrink(n, rank_);
}

void RankFactor::eliminate() {
  Matrix::View K = K_.view();
  const Eigen::Index n = K.rows();
  column_.resize(at(n));
  std::iota(row_.begin(), row_.end(), 0);
  std::iota(column_.begin(), column_.end(), 0);
  Growing<VectorX>::View most = largest_.resize(n, 1);
  for (Eigen::Index j = 0; j < n; ++j) most[j] = K.col(j).cwiseAbs().maxCoeff();
  double largest = 0.0;
  for (Eigen::Index k = 0; k < n; ++k, ++rank_) {
    Eigen::Index i = 0, j = 0;
    const double pivot = most.tail(n - k).maxCoeff(&j);
    if (k == 0) largest = pivot;
    if (!(pivot > kTolerance * largest)) break;
    j += k;
    K.col(j).tail(n - k).cwiseAbs().maxCoeff(&i);
    i += k;
    if (i != k) {
      K.row(i).swap(K.row(k));
      std::swap(row_[at(i)], row_[at(k)]);
    }
    if (j != k) {
      K.col(j).swap(K.col(k));
      std::swap(column_[at(j)], column_[at(k)]);
      std::swap(most[j], most[k]);
    }
    const Eigen::Index rest = n - k - 1;
    pivot_.view()[k] = K(k, k);
    K.col(k).tail(rest) /= K(k, k);
    for (Eigen::Index c = k + 1; c < n; ++c) {
      K.col(c).tail(rest) -= K(k, c) * K.col(k).tail(rest);
      most[c] = K.col(c).tail(rest).cwiseAbs().maxCoeff();
    }
  }
  Matrix::View L = left_.set_zero(n, rank_), U = right_.set_zero(n, rank_);
  for (Eigen::Index k = 0; k < rank_; ++k) {
    L(row_[at(k)], k) = U(column_[at(k)], k) = 1.0;
    for (Eigen::Index i = k + 1; i < n; ++i) {
      L(row_[at(i)], k) = K(i, k);
      U(column_[at(i)], k) = K(k, i) / K(k, k);
    }
  }
}

void RankFactor::set_gram(const Matrix& triangle, Matrix& gram) const {
  gram.resize(rank_, rank_).noalias() = triangle.view().transpose() * triangle.view();
  if (rank_ == 0) return;
  Eigen::Ref<MatrixX> matrix = gram.view();
  const Eigen::LLT<Eigen::Ref<MatrixX>> in_place(matrix);
}

void RankFactor::solve(VectorRef x, const Matrix& first, const Matrix& first_gram, const std::vector<int>& first_order,
                       const Matrix& second, const Matrix& second_gram, const std::vector<int>& second_order) const {
  const Matrix::ConstView A = first.view(), B = second.view();
  const auto pivots = pivot_.view().head(rank_);
  Growing<VectorX>::View y = scratch_.resize(rank_, 1);
  x = x.cwiseProduct(scale_.view());
  if (rank_ < K_.rows()) {
    y.noalias() = A.transpose() * x;
    divide(first_gram, y);
    y = y.cwiseQuotient(pivots);
    divide(second_gram, y);
    x.noalias() = B * y;
  } else {
    for (Eigen::Index k = 0; k < rank_; ++k) {
      y[k] = x[first_order[at(k)]];
      x -= y[k] * A.col(k);
    }
    y = y.cwiseQuotient(pivots);
    x.setZero();
    for (Eigen::Index k = rank_ - 1; k >= 0; --k) x[second_order[at(k)]] = y[k] - B.col(k).dot(x);
  }
  x = x.cwiseProduct(scale_.view());
}

void RankFactor::form_inverse(Eigen::Ref<MatrixX> inverse) const {
  inverse.setIdentity();
  for (Eigen::Index k = 0; k < inverse.cols(); ++k) solve(inverse.col(k));
}

// What a triangle gives to the inverse, with the scale: L^-T, or of a singular matrix L (L' L)^-1, column by column.
void RankFactor::form_part(const Matrix& triangle, const Matrix& gram, const std::vector<int>& order,
                           PaddedMatrix& part) const {
  const Matrix::ConstView T = triangle.view();
  PaddedMatrix::View X = part.resize(static_cast<int>(K_.rows()), rank_);
  if (rank_ < K_.rows()) {
    const Matrix::ConstView C = gram.view();
    for (Eigen::Index k = 0; k < rank_; ++k) {
      X.col(k) = T.col(k);
      X.col(k).noalias() -= X.leftCols(k) * C.row(k).head(k).transpose();
      X.col(k) /= C(k, k);
    }
    for (Eigen::Index k = rank_ - 1; k >= 0; --k) {
      const Eigen::Index rest = rank_ - k - 1;
      X.col(k).noalias() -= X.rightCols(rest) * C.col(k).tail(rest);
      X.col(k) /= C(k, k);
    }
  } else {
    for (Eigen::Index k = 0; k < rank_; ++k) {
      X.col(k).setZero();
      X.col(k).noalias() -= X.leftCols(k) * T.row(order[at(k)]).head(k).transpose();
      X(order[at(k)], k) += 1.0;
    }
  }
  X.array().colwise() *= scale_.view().array();
}

void RankFactor::form_split(PaddedMatrix& left, PaddedMatrix& right, Growing<VectorX>& weights) const {
  form_part(left_, left_gram_, row_, left);
  if (!symmetric_) form_part(right_, right_gram_, column_, right);
  weights.resize(rank_, 1) = pivot_.view().head(rank_).cwiseInverse();
}

}  // namespace touchstone
