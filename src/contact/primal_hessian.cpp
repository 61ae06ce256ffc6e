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

namespace {

// The sizes of a contact between free bodies are known to the compiler.
constexpr int kContact = 3, kFreeBody = 6;
using Rows = Eigen::Matrix<double, kContact, kFreeBody>;

bool is_free_contact(Eigen::Index rows, Eigen::Index cols) { return rows == kContact && cols == kFreeBody; }

// product = weight right.
void weigh(const Eigen::Map<const MatrixX>& weight, const Eigen::Ref<const MatrixX>& right,
           Eigen::Map<MatrixX>& product) {
  if (is_free_contact(right.rows(), right.cols())) {
    Eigen::Map<Rows>(product.data()).noalias() =
        Eigen::Map<const Matrix3>(weight.data()).lazyProduct(Eigen::Map<const Rows>(right.data()));
  } else {
    product = weight.lazyProduct(right);
  }
}

// target += left' product.
void add_product(const Eigen::Ref<const MatrixX>& left, const Eigen::Map<MatrixX>& product, double* target) {
  if (is_free_contact(left.rows(), left.cols()) && product.cols() == kFreeBody) {
    Eigen::Map<Eigen::Matrix<double, kFreeBody, kFreeBody>>(target).noalias() +=
        Eigen::Map<const Rows>(left.data()).transpose().lazyProduct(Eigen::Map<const Rows>(product.data()));
    return;
  }
  Eigen::Map<MatrixX>(target, left.cols(), product.cols()) += left.transpose().lazyProduct(product);
}

}  // namespace

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
      weigh(weight, right, product);
      for (int p = 0; p < count; ++p) {
        add_product(J.block(i, J.start[i] + p), product,
                    H.data(target_[next + static_cast<std::size_t>(p * count + q)]));
      }
    }
    next += static_cast<std::size_t>(count) * static_cast<std::size_t>(count);
  }
}

}  // namespace touchstone
