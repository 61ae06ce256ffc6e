#include "touchstone/contact/primal_hessian.hpp"

#include <algorithm>

namespace touchstone {

void PrimalHessian::set_pattern(const ContactProblem& problem) {
  const BlockSparseMatrix& J = problem.primal.J;
  if (J_pattern_.same_pattern(J) && H.row_begin == problem.primal.clique && H.entries() > 0) return;
  J_pattern_.row_begin = J.row_begin;
  J_pattern_.col_begin = J.col_begin;
  J_pattern_.start = J.start;
  J_pattern_.col = J.col;
  pattern_.clear();
  for (int c = 0; c < problem.primal.nclique(); ++c) pattern_.emplace_back(c, c);
  for (int i = 0; i < J.block_rows(); ++i) {
    for (int p = J.start[i]; p < J.start[i + 1]; ++p) {
      for (int q = J.start[i]; q < J.start[i + 1]; ++q) pattern_.emplace_back(J.col[p], J.col[q]);
    }
  }
  H.set_pattern(problem.primal.clique, problem.primal.clique, pattern_);
  target_.clear();
  std::size_t largest = 0;
  for (int i = 0; i < J.block_rows(); ++i) {
    for (int p = J.start[i]; p < J.start[i + 1]; ++p) {
      largest = std::max(largest, J.offset[p + 1] - J.offset[p]);
      for (int q = J.start[i]; q < J.start[i + 1]; ++q) target_.push_back(H.find(J.col[p], J.col[q]));
    }
  }
  product_.resize(largest);
}

void PrimalHessian::compute(const ContactProblem& problem, const BlockDiagonal& W) {
  const PrimalData& primal = problem.primal;
  const BlockSparseMatrix& J = primal.J;
  H.set_zero();
  for (int c = 0; c < primal.nclique(); ++c) H.block(c, H.find(c, c)) = primal.A_block(c);
  std::size_t next = 0;
  for (int i = 0; i < J.block_rows(); ++i) {
    const int m = J.row_size(i), count = J.start[i + 1] - J.start[i];
    const Eigen::Map<const MatrixX> weight(W.data(i), m, m);
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
