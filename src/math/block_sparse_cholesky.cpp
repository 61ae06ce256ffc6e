#include "touchstone/math/block_sparse_cholesky.hpp"

#include <algorithm>

#include "touchstone/math/dense_kernels.hpp"

namespace touchstone {

void BlockSparseCholesky::analyze(const BlockSparseMatrix& M) {
  if (symbolic_.matches(M)) return;
  symbolic_.analyze(M);
  allocated_ = false;
}

void BlockSparseCholesky::allocate() {
  if (allocated_) return;
  stack_.resize(symbolic_);
  lower_.resize(symbolic_.lower_values);
  gather_.resize(static_cast<std::size_t>(symbolic_.largest_front));
  allocated_ = true;
}

bool BlockSparseCholesky::factorize(const BlockSparseMatrix& M, double shift, const BlockDiagonal* extra) {
  analyze(M);
  allocate();
  stack_.clear();
  for (int s = 0; s < static_cast<int>(symbolic_.supernodes.size()); ++s) {
    const BlockSparseSymbolic::Supernode& node = symbolic_.supernodes[s];
    double* front = stack_.assemble(symbolic_, s, M, shift, extra);
    if (!partial_cholesky(front, node.size, node.size, node.pivots)) return false;
    std::copy(front, front + static_cast<std::ptrdiff_t>(node.size) * node.pivots, lower_.data() + node.lower);
    stack_.keep_update(symbolic_, s);
  }
  return true;
}

void BlockSparseCholesky::solve(double* x) {
  using Panel = Eigen::Map<const MatrixX>;
  const int count = static_cast<int>(symbolic_.supernodes.size());
  for (int s = 0; s < count; ++s) {
    const BlockSparseSymbolic::Supernode& node = symbolic_.supernodes[s];
    const int* row = symbolic_.row.data() + node.rows;
    const Panel L(lower_.data() + node.lower, node.size, node.pivots);
    for (int r = 0; r < node.size; ++r) gather_[r] = x[row[r]];
    Eigen::Map<VectorX> own(gather_.data(), node.pivots), rest(gather_.data() + node.pivots, node.size - node.pivots);
    L.topRows(node.pivots).triangularView<Eigen::Lower>().solveInPlace(own);
    rest.noalias() -= L.bottomRows(node.size - node.pivots) * own;
    for (int r = 0; r < node.size; ++r) x[row[r]] = gather_[r];
  }
  for (int s = count - 1; s >= 0; --s) {
    const BlockSparseSymbolic::Supernode& node = symbolic_.supernodes[s];
    const int* row = symbolic_.row.data() + node.rows;
    const Panel L(lower_.data() + node.lower, node.size, node.pivots);
    for (int r = 0; r < node.size; ++r) gather_[r] = x[row[r]];
    Eigen::Map<VectorX> own(gather_.data(), node.pivots), rest(gather_.data() + node.pivots, node.size - node.pivots);
    own.noalias() -= L.bottomRows(node.size - node.pivots).transpose() * rest;
    L.topRows(node.pivots).transpose().triangularView<Eigen::Upper>().solveInPlace(own);
    for (int r = 0; r < node.pivots; ++r) x[row[r]] = gather_[r];
  }
}

}  // namespace touchstone
