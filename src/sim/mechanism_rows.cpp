#include "touchstone/sim/mechanism_rows.hpp"

#include <Eigen/SVD>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/sim/constraints/kinds.hpp"

namespace touchstone {
namespace {

constexpr double kRankShare = 1e-6;  // of the largest singular value: what is below counts as zero
constexpr double kAtLimit = 1e-6;    // m or rad: nearer than this a limit is reached

}  // namespace

MatrixX dense_rows(const Model& model, const Constraints& c, const std::vector<int>& rows, bool half) {
  MatrixX all = MatrixX::Zero(c.rows(), model.nv);
  const AlignedVector& values = half ? c.Y : c.J;
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int stride = c.stride(block), first = c.blocks.row[at(block)];
    for (int p = 0; p < constraint.part_count; ++p) {
      const TreePart& part = c.parts[at(constraint.first_part + p)];
      const int* dofs = c.dofs(model, part);
      for (int k = 0; k < part.count; ++k) {
        for (int r = 0; r < c.blocks.size(block); ++r)
          all(first + r, dofs[k]) = values[part.start + at(stride * k + r)] * c.row_length[at(first + r)];
      }
    }
  }
  MatrixX chosen(static_cast<Eigen::Index>(rows.size()), model.nv);
  for (std::size_t i = 0; i < rows.size(); ++i) chosen.row(static_cast<Eigen::Index>(i)) = all.row(rows[i]);
  return chosen;
}

RowFactor::RowFactor(const Model& model, LoopClosure& closure, const std::vector<int>& rows)
    : J(dense_rows(model, closure.rows(), rows, false)) {
  if (rows.empty()) return;
  const Eigen::BDCSVD<MatrixX> svd(dense_rows(model, closure.rows(), rows, true), Eigen::ComputeThinU);
  const VectorX& all = svd.singularValues();
  while (rank < all.size() && all[rank] > kRankShare * all[0]) ++rank;
  U = svd.matrixU().leftCols(rank);
  values = all.head(rank);
}

VectorX RowFactor::project(const Model& model, const Data& data, MatrixX& V) const {
  return project(model, data, MatrixX::Zero(J.rows(), V.cols()), V);
}

VectorX RowFactor::project(const Model& model, const Data& data, const MatrixX& rates, MatrixX& V) const {
  VectorX multipliers = VectorX::Zero(J.rows());
  for (int round = 0; round < 2 && rank > 0; ++round) {  // the second removes what rounding has left
    const MatrixX lambda =
        U * values.array().square().inverse().matrix().asDiagonal() * (U.transpose() * (J * V - rates));
    MatrixX change = J.transpose() * lambda;
    for (Eigen::Index k = 0; k < V.cols(); ++k) solve(model, data, change.col(k));
    V -= change;
    if (V.cols() > 0) multipliers -= lambda.col(V.cols() - 1);
  }
  return multipliers;
}

std::vector<int> rows_of_loops(const Constraints& c) {
  std::vector<int> rows;
  for (int block = 0; block < c.count(); ++block) {
    if (entry_of(c.list[at(block)].kind).violation != Violation::kTwoSided) continue;
    for (int row = c.blocks.row[at(block)]; row < c.blocks.row[at(block + 1)]; ++row) rows.push_back(row);
  }
  return rows;
}

std::vector<int> rows_at_limits(const Constraints& c) {
  std::vector<int> rows;
  for (int block = 0; block < c.count(); ++block) {
    const int row = c.blocks.row[at(block)];
    if (entry_of(c.list[at(block)].kind).violation == Violation::kOneSided && c.position[at(row)] < kAtLimit)
      rows.push_back(row);
  }
  return rows;
}

}  // namespace touchstone
