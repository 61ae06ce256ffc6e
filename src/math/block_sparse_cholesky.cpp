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
  return factorize_cholesky(symbolic_, M, shift, extra, stack_, lower_.data());
}

void BlockSparseCholesky::solve(double* x) { solve_cholesky(symbolic_, lower_.data(), gather_.data(), x); }

bool factorize_cholesky(const BlockSparseSymbolic& symbolic, const BlockSparseMatrix& M, double shift,
                        const BlockDiagonal* extra, FrontStack& stack, double* lower) {
  stack.clear();
  for (int s = 0; s < static_cast<int>(symbolic.supernodes.size()); ++s) {
    const BlockSparseSymbolic::Supernode& node = symbolic.supernodes[s];
    double* front = stack.assemble(symbolic, s, M, shift, extra, FrontStack::Part::kTriangle);
    if (!partial_cholesky(front, node.size, node.size, node.pivots)) return false;
    std::copy(front, front + static_cast<std::ptrdiff_t>(node.size) * node.pivots, lower + node.lower);
    stack.keep_update(symbolic, s, FrontStack::Part::kTriangle);
  }
  return true;
}

void solve_cholesky(const BlockSparseSymbolic& symbolic, const double* lower, double* gather, double* x) {
  using Panel = Eigen::Map<const MatrixX>;
  const int count = static_cast<int>(symbolic.supernodes.size());
  for (int s = 0; s < count; ++s) {
    const BlockSparseSymbolic::Supernode& node = symbolic.supernodes[s];
    const int* row = symbolic.row.data() + node.rows;
    const Panel L(lower + node.lower, node.size, node.pivots);
    for (int r = 0; r < node.size; ++r) gather[r] = x[row[r]];
    Eigen::Map<VectorX> own(gather, node.pivots), rest(gather + node.pivots, node.size - node.pivots);
    L.topRows(node.pivots).triangularView<Eigen::Lower>().solveInPlace(own);
    rest.noalias() -= L.bottomRows(node.size - node.pivots) * own;
    for (int r = 0; r < node.size; ++r) x[row[r]] = gather[r];
  }
  for (int s = count - 1; s >= 0; --s) {
    const BlockSparseSymbolic::Supernode& node = symbolic.supernodes[s];
    const int* row = symbolic.row.data() + node.rows;
    const Panel L(lower + node.lower, node.size, node.pivots);
    for (int r = 0; r < node.size; ++r) gather[r] = x[row[r]];
    Eigen::Map<VectorX> own(gather, node.pivots), rest(gather + node.pivots, node.size - node.pivots);
    own.noalias() -= L.bottomRows(node.size - node.pivots).transpose() * rest;
    L.topRows(node.pivots).transpose().triangularView<Eigen::Upper>().solveInPlace(own);
    for (int r = 0; r < node.pivots; ++r) x[row[r]] = gather[r];
  }
}

}  // namespace touchstone
