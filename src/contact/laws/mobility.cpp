#include "touchstone/contact/laws/mobility.hpp"

#include <algorithm>
#include <cmath>

namespace touchstone {
namespace {

using Square = Eigen::Map<MatrixX>;

void add_from_primal(const PrimalData& primal, int block, AlignedVector& scratch, Square W) {
  const BlockSparseMatrix& J = primal.J;
  const int m = J.row_size(block);
  for (int k = J.start[block]; k < J.start[block + 1];) {
    const int n = primal.A->clique_size(primal.A->clique_of()[J.col[k]]);
    scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(n) * kMaxBlockSize));
    half_solve_jacobian(primal, block, k, scratch.data());
    const Eigen::Map<const MatrixX> Y(scratch.data(), n, m);
    W += Y.transpose().lazyProduct(Y);
  }
}

}  // namespace

void compute_mobility(const ContactProblem& problem, BlockDiagonal& W, AlignedVector& scratch) {
  W.set_partition(problem.blocks.row);
  for (int i = 0; i < problem.nblock(); ++i) {
    const int r = problem.blocks.row[i], m = problem.blocks.size(i);
    Square own(W.data(i), m, m);
    if (!problem.has_dual()) {
      add_from_primal(problem.primal, i, scratch, own);
      continue;
    }
    if (problem.dual.form == DualData::Form::kDense) {
      own = problem.dual.G_dense.block(r, r, m, m);
    } else if (const int entry = problem.dual.G_sparse.find(i, i); entry >= 0) {
      own = problem.dual.G_sparse.block(i, entry);
    }
    if (problem.R.size() > 0) own.diagonal() -= problem.R.segment(r, m);
  }
}

double inverse_mass(const double* W, int size) {
  constexpr int kTangents = 2;
  const int tangents = std::min(size - 1, kTangents);
  double sum = 0.0;
  for (int a = 0; a <= tangents; ++a) {
    for (int b = 0; b <= tangents; ++b) {
      const int row = a < tangents ? a : size - 1, column = b < tangents ? b : size - 1;
      sum += W[column * size + row] * W[column * size + row];
    }
  }
  return std::sqrt(sum) / (tangents + 1);
}

}  // namespace touchstone
