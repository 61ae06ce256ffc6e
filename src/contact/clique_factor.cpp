#include "touchstone/contact/clique_factor.hpp"

#include <Eigen/Cholesky>

namespace touchstone {
namespace {

constexpr int kBody = 6;     // dofs of a free body, the usual clique
constexpr int kContact = 3;  // rows of a contact, the usual block

using Matrix6 = Eigen::Matrix<double, kBody, kBody>;
using Matrix63 = Eigen::Matrix<double, kBody, kContact>;
using Matrix36 = Eigen::Matrix<double, kContact, kBody>;

template <typename Matrix>
bool factorize_block(Eigen::Map<Matrix> block) {
  return Eigen::LLT<Eigen::Ref<Matrix>>(block).info() == Eigen::Success;
}

}  // namespace

int CliqueFactor::factorize(const PrimalData& primal) {
  L.assign(primal.A.begin(), primal.A.end());
  for (int c = 0; c < primal.nclique(); ++c) {
    double* data = L.data() + primal.A_offset[c];
    const int n = primal.clique_size(c);
    const bool good = n == kBody ? factorize_block(Eigen::Map<Matrix6>(data, n, n))
                                 : factorize_block(Eigen::Map<MatrixX>(data, n, n));
    if (!good) return c;
  }
  return -1;
}

void CliqueFactor::solve(const PrimalData& primal, VectorX& x) const {
  for (int c = 0; c < primal.nclique(); ++c) {
    const int n = primal.clique_size(c);
    const Eigen::Map<const MatrixX> factor(L.data() + primal.A_offset[c], n, n);
    auto part = x.segment(primal.clique[c], n);
    factor.triangularView<Eigen::Lower>().solveInPlace(part);
    factor.transpose().triangularView<Eigen::Upper>().solveInPlace(part);
  }
}

void CliqueFactor::half_solve_jacobian(const PrimalData& primal, AlignedVector& Y) const {
  const BlockSparseMatrix& J = primal.J;
  Y.resize(J.offset.back());
  for (int i = 0; i < J.block_rows(); ++i) {
    const int m = J.row_size(i);
    for (int k = J.start[i]; k < J.start[i + 1]; ++k) {
      const int c = J.col[k], n = primal.clique_size(c);
      double* y = Y.data() + J.offset[k];
      const double* factor = L.data() + primal.A_offset[c];
      if (n == kBody && m == kContact) {
        Eigen::Map<Matrix63> block(y);
        block = Eigen::Map<const Matrix36>(J.data(k)).transpose();
        Eigen::Map<const Matrix6>(factor).triangularView<Eigen::Lower>().solveInPlace(block);
      } else {
        Eigen::Map<MatrixX> block(y, n, m);
        block = J.block(i, k).transpose();
        Eigen::Map<const MatrixX>(factor, n, n).triangularView<Eigen::Lower>().solveInPlace(block);
      }
    }
  }
}

}  // namespace touchstone
