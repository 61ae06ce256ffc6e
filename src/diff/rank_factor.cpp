#include "touchstone/diff/rank_factor.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include <Eigen/Cholesky>

#include "touchstone/base/index.hpp"

namespace touchstone {

void RankFactor::scale(Eigen::Ref<MatrixX> K) {
  Growing<VectorX>::View scale = scale_.resize(K.rows(), 1);
  for (Eigen::Index i = 0; i < K.rows(); ++i) scale[i] = K(i, i) > 0.0 ? 1.0 / std::sqrt(K(i, i)) : 1.0;
  K.array().colwise() *= scale.array();
  K.array().rowwise() *= scale.transpose().array();
}

void RankFactor::eliminate(Eigen::Ref<MatrixX> K) {
  const Eigen::Index n = K.rows();
  row_.resize(at(n));
  column_.resize(at(n));
  std::iota(row_.begin(), row_.end(), 0);
  std::iota(column_.begin(), column_.end(), 0);
  rank_ = 0;
  double largest = 0.0;
  for (Eigen::Index k = 0; k < n; ++k, ++rank_) {
    Eigen::Index i = 0, j = 0;
    const double pivot = K.bottomRightCorner(n - k, n - k).cwiseAbs().maxCoeff(&i, &j);
    if (k == 0) largest = pivot;
    if (!(pivot > kTolerance * largest)) return;
    i += k;
    j += k;
    if (i != k) {
      K.row(i).swap(K.row(k));
      std::swap(row_[at(i)], row_[at(k)]);
    }
    if (j != k) {
      K.col(j).swap(K.col(k));
      std::swap(column_[at(j)], column_[at(k)]);
    }
    const Eigen::Index rest = n - k - 1;
    K.col(k).tail(rest) /= K(k, k);
    K.bottomRightCorner(rest, rest).noalias() -= K.col(k).tail(rest) * K.row(k).tail(rest);
  }
}

void RankFactor::invert(Eigen::Ref<MatrixX> K, Eigen::Ref<MatrixX> inverse) {
  scale(K);
  eliminate(K);
  const Eigen::Index n = K.rows();
  const auto scaled_back = [&] {
    inverse.array().colwise() *= scale_.view().array();
    inverse.array().rowwise() *= scale_.view().transpose().array();
  };
  if (rank_ < n) {
    invert_singular(K, inverse);
    return scaled_back();
  }
  Growing<MatrixX>::View X = right_.set_zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i) X(i, row_[at(i)]) = 1.0;
  K.triangularView<Eigen::UnitLower>().solveInPlace(X);
  K.triangularView<Eigen::Upper>().solveInPlace(X);
  for (Eigen::Index i = 0; i < n; ++i) inverse.row(column_[at(i)]) = X.row(i);
  scaled_back();
}

void RankFactor::invert_singular(Eigen::Ref<MatrixX> K, Eigen::Ref<MatrixX> inverse) {
  const Eigen::Index n = K.rows(), r = rank_;
  inverse.setZero();
  if (r == 0) return;
  Growing<MatrixX>::View L = left_.set_zero(n, r), U = right_.set_zero(r, n), gram = gram_.resize(r, r);
  for (Eigen::Index k = 0; k < r; ++k) {
    L(row_[at(k)], k) = U(k, column_[at(k)]) = 1.0;
    for (Eigen::Index i = k + 1; i < n; ++i) {
      L(row_[at(i)], k) = K(i, k);
      U(k, column_[at(i)]) = K(k, i) / K(k, k);
    }
  }
  gram.noalias() = L.transpose() * L;
  const Eigen::LLT<Eigen::Ref<MatrixX>> left(gram);
  Growing<MatrixX>::View columns = left_.view();
  Eigen::Ref<MatrixX> lower = gram;
  // (L' L)^-1 L', transposed in place: L M^-1 column by column of its transpose.
  lower.triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(columns);
  lower.triangularView<Eigen::Lower>().solveInPlace<Eigen::OnTheRight>(columns);
  for (Eigen::Index k = 0; k < r; ++k) columns.col(k) /= K(k, k);
  gram.noalias() = U * U.transpose();
  const Eigen::LLT<Eigen::Ref<MatrixX>> right(gram);
  lower.triangularView<Eigen::Lower>().solveInPlace(U);
  lower.triangularView<Eigen::Lower>().transpose().solveInPlace(U);
  inverse.noalias() = U.transpose() * columns.transpose();
}

}  // namespace touchstone
