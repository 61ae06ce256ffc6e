#include "touchstone/contact/primal_hessian.hpp"

#include <algorithm>

namespace touchstone {

bool PrimalHessian::keeps_pattern(const JointSpace& space) {
  const PrimalData& primal = space.primal();
  const BlockSparseMatrix& J = primal.J;
  pattern_.clear();
  primal.A->append_pattern(pattern_);
  now_.clear();
  for (int k = 0; k < space.count(); ++k) {
    const int i = space.block(k);
    now_.push_back(J.row_size(i));
    now_.push_back(J.start[i + 1] - J.start[i]);
    now_.insert(now_.end(), J.col.begin() + J.start[i], J.col.begin() + J.start[i + 1]);
  }
  if (H.entries() > 0 && group_ == primal.A->group() && inertia_ == pattern_ && joined_ == now_) return true;
  group_ = primal.A->group();
  inertia_ = pattern_;
  joined_ = now_;
  return false;
}

void PrimalHessian::set_pattern(const JointSpace& space) {
  if (keeps_pattern(space)) return;
  const BlockSparseMatrix& J = space.primal().J;
  for (int k = 0; k < space.count(); ++k) {
    const int i = space.block(k);
    for (int p = J.start[i]; p < J.start[i + 1]; ++p) {
      for (int q = J.start[i]; q < J.start[i + 1]; ++q) pattern_.emplace_back(J.col[p], J.col[q]);
    }
  }
  H.set_pattern(group_, group_, pattern_);
  target_.clear();
  std::size_t largest = 0;
  for (int k = 0; k < space.count(); ++k) {
    const int i = space.block(k);
    for (int p = J.start[i]; p < J.start[i + 1]; ++p) {
      largest = std::max(largest, J.offset[p + 1] - J.offset[p]);
      for (int q = J.start[i]; q < J.start[i + 1]; ++q) target_.push_back(H.find(J.col[p], J.col[q]));
    }
  }
  product_.resize(largest);
}

void PrimalHessian::compute(const JointSpace& space, const BlockDiagonal& W) {
  const PrimalData& primal = space.primal();
  const BlockSparseMatrix& J = primal.J;
  H.set_zero();
  primal.A->add_to(H);
  std::size_t next = 0;
  for (int k = 0; k < space.count(); ++k) {
    const int i = space.block(k), m = J.row_size(i), count = J.start[i + 1] - J.start[i];
    const Eigen::Map<const MatrixX> weight(W.data(k), m, m);
    for (int q = 0; q < count; ++q) {
      const auto right = J.block(i, J.start[i] + q);
      Eigen::Map<MatrixX> product(product_.data(), m, right.cols());
      product = weight.lazyProduct(right);
      for (int p = 0; p < count; ++p) {
        const auto left = J.block(i, J.start[i] + p);
        Eigen::Map<MatrixX> target(H.data(target_[next + static_cast<std::size_t>(p * count + q)]), left.cols(),
                                   right.cols());
        target += left.transpose().lazyProduct(product);
      }
    }
    next += static_cast<std::size_t>(count) * static_cast<std::size_t>(count);
  }
}

}  // namespace touchstone
