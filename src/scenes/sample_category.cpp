#include "touchstone/scenes/sample_category.hpp"

#include <algorithm>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/data.hpp"
#include "touchstone/sim/islands.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

enum class RowUse : std::uint8_t { kJoint, kLimit, kContact, kOther };

RowUse use_of(ConstraintKind kind) {
  switch (kind) {
    case ConstraintKind::kContact:
      return RowUse::kContact;
    case ConstraintKind::kEquality:
    case ConstraintKind::kLoopJoint:
      return RowUse::kJoint;
    case ConstraintKind::kJointLimit:
    case ConstraintKind::kTendonLimit:
    case ConstraintKind::kLoopLimit:
      return RowUse::kLimit;
    default:
      return RowUse::kOther;
  }
}

MatrixX rows_of(const MatrixX& matrix, const std::vector<int>& rows) {
  MatrixX part(static_cast<Eigen::Index>(rows.size()), matrix.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) part.row(static_cast<Eigen::Index>(i)) = matrix.row(rows[i]);
  return part;
}

int rank_of(const MatrixX& matrix) {
  if (matrix.rows() == 0 || matrix.cols() == 0) return 0;
  Eigen::ColPivHouseholderQR<MatrixX> qr;
  qr.setThreshold(kRankTolerance);
  qr.compute(matrix);
  return static_cast<int>(qr.rank());
}

double condition_of(const MatrixX& delassus) {
  if (delassus.rows() == 0) return 1.0;
  const VectorX values = Eigen::SelfAdjointEigenSolver<MatrixX>(delassus, Eigen::EigenvaluesOnly).eigenvalues();
  const double largest = values.maxCoeff();
  double smallest = largest;
  for (const double value : values) {
    if (value > kRankTolerance * largest) smallest = std::min(smallest, value);
  }
  return largest > 0.0 ? largest / smallest : 1.0;
}

}  // namespace

std::string_view to_string(SampleCategory category) {
  static constexpr std::array<std::string_view, kSampleCategories> names{
      "independent joints", "redundant joints", "dense joints",     "single contact",
      "sparse contacts",    "dense contacts",   "dense constraints"};
  return names[at(static_cast<int>(category))];
}

std::vector<SampleCategory> categories_of(const SampleFigures& f) {
  std::vector<SampleCategory> categories;
  if (f.contacts == 0 && f.joints >= 1) {
    categories.push_back(f.joint_rank == f.joint_rows ? SampleCategory::kIndependentJoints
                         : f.joint_density < 1.0      ? SampleCategory::kRedundantJoints
                                                      : SampleCategory::kDenseJoints);
  }
  if (f.contacts == 1) categories.push_back(SampleCategory::kSingleContact);
  if (f.contacts >= 2) {
    categories.push_back(f.contact_density > 1.0 ? SampleCategory::kDenseContacts : SampleCategory::kSparseContacts);
  }
  if (f.contacts >= 1 && f.joints >= 1 && f.density > 1.0) categories.push_back(SampleCategory::kDenseConstraints);
  return categories;
}

SampleFigures describe_sample(const Constraints& c, const MatrixX& jacobian, const MatrixX& delassus) {
  SampleFigures f;
  f.dofs = static_cast<int>(jacobian.cols());
  std::vector<int> joint_rows, all_rows;
  for (int block = 0; block < c.count(); ++block) {
    const RowUse use = use_of(c.list[at(block)].kind);
    const int size = c.blocks.size(block), first = c.blocks.row[at(block)];
    if (use == RowUse::kOther) {
      f.other_rows += size;
      continue;
    }
    for (int r = first; r < first + size; ++r) {
      all_rows.push_back(r);
      if (use == RowUse::kJoint) joint_rows.push_back(r);
    }
    if (use == RowUse::kJoint) {
      ++f.joints;
    } else if (use == RowUse::kLimit) {
      ++f.limits;
    } else {
      ++f.contacts;
      f.contact_rows += size;
    }
  }
  const Eigen::Map<const VectorX> length(c.row_length.data(), c.rows());
  const MatrixX scaled = length.asDiagonal() * jacobian;
  const MatrixX scaled_delassus = length.asDiagonal() * delassus * length.asDiagonal();
  f.joint_rows = static_cast<int>(joint_rows.size());
  f.rows = static_cast<int>(all_rows.size());
  f.joint_rank = rank_of(rows_of(scaled, joint_rows));
  f.rank = f.joint_rows == f.rows ? f.joint_rank : rank_of(rows_of(scaled, all_rows));
  f.condition = condition_of(rows_of(rows_of(scaled_delassus, all_rows).transpose(), all_rows));
  const double dofs = std::max(1, f.dofs);
  f.joint_density = f.joint_rows / dofs;
  f.contact_density = f.contact_rows / dofs;
  f.density = f.rows / dofs;
  f.categories = categories_of(f);
  return f;
}

SampleFigures describe_sample(const Simulator& simulator) {
  const Model& model = simulator.model();
  const Constraints& c = simulator.constraints();
  MatrixX J(c.rows(), model.nv), G = MatrixX::Zero(c.rows(), c.rows());
  VectorX rates(c.rows());
  for (int k = 0; k < model.nv; ++k) {
    constraint_velocity(model, c, VectorX::Unit(model.nv, k), rates);
    J.col(k) = rates;
  }
  if (c.count() > 0) {
    TreeIslands islands;
    TreeIslands::Scratch scratch;
    islands.find(model, c, false);
    islands.build_problem(0, model, c, simulator.time_step(), scratch);
    const ContactProblem& problem = islands[0].problem;
    const DualData& dual = problem.dual;
    MatrixX own = dual.form == DualData::Form::kDense ? dual.G_dense : dual.G_sparse.dense();
    if (problem.R.size() > 0) own.diagonal() -= problem.R;
    std::vector<int> row;  // of the constraints: blocks that move nothing are not in the problem
    for (const int block : islands[0].blocks) {
      for (int r = 0; r < c.blocks.size(block); ++r) row.push_back(c.blocks.row[at(block)] + r);
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      for (std::size_t j = 0; j < row.size(); ++j) {
        G(row[i], row[j]) = own(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
      }
    }
  }
  return describe_sample(c, J, G);
}

}  // namespace touchstone
