#include "touchstone/solvers/gauss_seidel/gauss_seidel.hpp"

#include <Eigen/SVD>

#include "touchstone/math/cones.hpp"

namespace touchstone {
namespace {

constexpr double kRankTolerance = 1e-10;  // singular values below this times the largest count as zero

using SmallMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, kMaxBlockSize, kMaxBlockSize>;

// The inverse of a block that has one. Returns false, with `result` undefined, if its rank is in doubt.
template <int m>
bool invert(const Eigen::Map<const MatrixX>& A, Eigen::Map<MatrixX>& result) {
  using Fixed = Eigen::Matrix<double, m, m>;
  const Fixed copy = A;
  Fixed inverse;
  if constexpr (m <= 3) {
    inverse = copy.inverse();
  } else {
    inverse = Eigen::PartialPivLU<Fixed>(copy).inverse();
  }
  result = inverse;
  // The product of the norms bounds the ratio of the singular values.
  return copy.norm() * inverse.norm() * kRankTolerance < 1.0;
}

// The singular vectors of a planar loop's block that carry nothing must not be divided by.
void pseudoinverse_of(const Eigen::Map<const MatrixX>& A, Eigen::Map<MatrixX> result) {
  if (A.rows() == 1) {
    result(0, 0) = A(0, 0) > 0.0 ? 1.0 / A(0, 0) : 0.0;
    return;
  }
  if (A.rows() == 3 && invert<3>(A, result)) return;  // connections
  if (A.rows() == 6 && invert<6>(A, result)) return;  // welds
  const SmallMatrix copy = A;
  const Eigen::JacobiSVD<SmallMatrix> svd(copy, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const auto& values = svd.singularValues();
  result.setZero();
  for (int k = 0; k < values.size(); ++k) {
    if (values[k] > kRankTolerance * values[0]) {
      result += svd.matrixV().col(k) * svd.matrixU().col(k).transpose() / values[k];
    }
  }
}

}  // namespace

void GaussSeidelOptions::describe(OptionList& list) {
  SolverOptions::describe(list);
  list.add("relaxation", relaxation, 0.0, 2.0, "share of the local solution that is taken");
  list.add("relaxation_min", relaxation_min, 0.0, 2.0, "lower bound of the relaxation");
  list.add("relaxation_decay", relaxation_decay, 0.0, 1.0, "factor on the relaxation after each sweep");
}

void GaussSeidelWorkspace::prepare_equalities() {
  pseudoinverse.resize(dual.G.values.size());
  for (int i = 0; i < dual.nblock(); ++i) {
    if (dual.blocks.type[i] != BlockType::kEquality) continue;
    const int m = dual.blocks.size(i);
    pseudoinverse_of({dual.diagonal_block(i), m, m}, {pseudoinverse.data() + dual.G.offset[dual.diagonal[i]], m, m});
  }
}

void solve_simple_block(const DualProblem& dual, const AlignedVector& pseudoinverse, int block, const double* u,
                        double* lambda) {
  const int r = dual.blocks.row[block], m = dual.blocks.size(block);
  if (dual.blocks.type[block] == BlockType::kEquality) {
    const double* inverse = pseudoinverse.data() + dual.G.offset[dual.diagonal[block]];
    for (int c = 0; c < m; ++c) {
      for (int k = 0; k < m; ++k) lambda[k] -= inverse[c * m + k] * u[c];
    }
    return;
  }
  // A row without diagonal takes a step of the size of the others.
  const double a = dual.diagonal_block(block)[0] > 0.0 ? dual.diagonal_block(block)[0] : dual.d[block];
  lambda[0] -= u[0] / a;
  lambda[0] = dual.blocks.type[block] == BlockType::kBox
                  ? project_interval(lambda[0], dual.blocks.lo[r], dual.blocks.hi[r])
                  : project_nonnegative(lambda[0]);
}

}  // namespace touchstone
