#include "touchstone/math/block_sparse_lu.hpp"

#include <algorithm>
#include <utility>

#include "touchstone/math/block_sparse_cholesky.hpp"
#include "touchstone/math/dense_kernels.hpp"

namespace touchstone {

void BlockSparseLu::analyze(const BlockSparseMatrix& M) {
  if (symbolic_.matches(M)) return;
  symbolic_.analyze(M);
  allocated_ = false;
}

void BlockSparseLu::allocate(int rows) {
  if (allocated_) return;
  stack_.resize(symbolic_);
  lower_.resize(symbolic_.lower_values);
  upper_.resize(symbolic_.upper_values);
  exchange_.resize(static_cast<std::size_t>(rows));
  gather_.resize(static_cast<std::size_t>(symbolic_.largest_front));
  allocated_ = true;
}

bool BlockSparseLu::factorize(const BlockSparseMatrix& M, double shift, const BlockDiagonal* extra) {
  analyze(M);
  allocate(M.rows());
  is_symmetric_ = false;
  stack_.clear();
  for (int s = 0; s < static_cast<int>(symbolic_.supernodes.size()); ++s) {
    const BlockSparseSymbolic::Supernode& node = symbolic_.supernodes[s];
    const std::ptrdiff_t n = node.size;
    double* front = stack_.assemble(symbolic_, s, M, shift, extra, FrontStack::Part::kWhole);
    if (!partial_lu(front, node.size, node.size, node.pivots, exchange_.data() + node.first_pivot)) return false;
    std::copy(front, front + n * node.pivots, lower_.data() + node.lower);
    double* upper = upper_.data() + node.upper;
    for (std::ptrdiff_t c = node.pivots; c < n; ++c, upper += node.pivots) {
      std::copy(front + c * n, front + c * n + node.pivots, upper);
    }
    stack_.keep_update(symbolic_, s, FrontStack::Part::kWhole);
  }
  return true;
}

bool BlockSparseLu::factorize_symmetric(const BlockSparseMatrix& M, double shift, const BlockDiagonal* extra) {
  analyze(M);
  allocate(M.rows());
  is_symmetric_ = true;
  return factorize_cholesky(symbolic_, M, shift, extra, stack_, lower_.data());
}

void BlockSparseLu::solve(double* x) {
  if (is_symmetric_) return solve_cholesky(symbolic_, lower_.data(), gather_.data(), x);
  using Panel = Eigen::Map<const MatrixX>;
  const int count = static_cast<int>(symbolic_.supernodes.size());
  for (int s = 0; s < count; ++s) {
    const BlockSparseSymbolic::Supernode& node = symbolic_.supernodes[s];
    const int* row = symbolic_.row.data() + node.rows;
    const int* exchange = exchange_.data() + node.first_pivot;
    const Panel L(lower_.data() + node.lower, node.size, node.pivots);
    for (int r = 0; r < node.size; ++r) gather_[r] = x[row[r]];
    for (int k = 0; k < node.pivots; ++k) std::swap(gather_[k], gather_[exchange[k]]);
    Eigen::Map<VectorX> own(gather_.data(), node.pivots), rest(gather_.data() + node.pivots, node.size - node.pivots);
    L.topRows(node.pivots).triangularView<Eigen::UnitLower>().solveInPlace(own);
    rest.noalias() -= L.bottomRows(node.size - node.pivots) * own;
    for (int r = 0; r < node.size; ++r) x[row[r]] = gather_[r];
  }
  for (int s = count - 1; s >= 0; --s) {
    const BlockSparseSymbolic::Supernode& node = symbolic_.supernodes[s];
    const int* row = symbolic_.row.data() + node.rows;
    const Panel L(lower_.data() + node.lower, node.size, node.pivots);
    const Panel U(upper_.data() + node.upper, node.pivots, node.size - node.pivots);
    for (int r = 0; r < node.size; ++r) gather_[r] = x[row[r]];
    Eigen::Map<VectorX> own(gather_.data(), node.pivots), rest(gather_.data() + node.pivots, node.size - node.pivots);
    own.noalias() -= U * rest;
    L.topRows(node.pivots).triangularView<Eigen::Upper>().solveInPlace(own);
    for (int r = 0; r < node.pivots; ++r) x[row[r]] = gather_[r];
  }
}

double BlockSparseLu::refine(const BlockSparseMatrix& M, double shift, const BlockDiagonal* extra, const VectorX& b,
                             VectorX& x) {
  residual_ = shift * x;
  M.multiply_add(x.data(), residual_.data());
  for (int i = 0; extra != nullptr && i < M.block_rows(); ++i) {
    const int r = M.row_begin[i], m = M.row_size(i);
    residual_.segment(r, m).noalias() += Eigen::Map<const MatrixX>(extra->data(i), m, m) * x.segment(r, m);
  }
  residual_ = b - residual_;
  const double size = residual_.size() > 0 ? residual_.lpNorm<Eigen::Infinity>() : 0.0;
  solve(residual_);
  x += residual_;
  return size;
}

}  // namespace touchstone
