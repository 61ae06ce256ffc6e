#include "touchstone/contact/problem.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "touchstone/base/error.hpp"

namespace touchstone {

void DualData::set(MatrixX G, VectorX free_velocity) {
  form = Form::kDense;
  symmetric = false;
  G_dense = std::move(G);
  g = std::move(free_velocity);
}

void DualData::set(BlockSparseMatrix G, VectorX free_velocity) {
  form = Form::kSparse;
  symmetric = false;
  G_sparse = std::move(G);
  g = std::move(free_velocity);
}

void half_solve_jacobian(const PrimalData& primal, int block, int& entry, double* Y) {
  const BlockSparseMatrix& J = primal.J;
  const Inertia& A = *primal.A;
  const int clique = A.clique_of()[J.col[entry]], n = A.clique_size(clique), m = J.row_size(block);
  const int first = A.first_dof(clique);
  if (J.col_size(J.col[entry]) < n) std::fill_n(Y, static_cast<std::ptrdiff_t>(n) * m, 0.0);
  for (; entry < J.start[block + 1] && A.clique_of()[J.col[entry]] == clique; ++entry) {
    const int columns = J.col_size(J.col[entry]);
    double* target = Y + (J.col_begin[J.col[entry]] - first);
    const double* value = J.data(entry);
    for (int c = 0; c < columns; ++c, value += m) {
      for (int r = 0; r < m; ++r) target[r * n + c] = value[r];
    }
  }
  A.half_solve(clique, Y, m);
}

void ContactProblem::clear() {
  blocks.clear();
  dual.form = DualData::Form::kNone;
  dual.symmetric = false;
  primal.A.reset();
  R.resize(0);
  b.resize(0);
  row_length.clear();
  physics.clear();
  block_names.clear();
}

void ContactProblem::set_jacobian(const std::vector<JacobianBlock>& jacobian) {
  if (!primal.A) throw Error("J is given before A, whose groups of dofs are its columns; set the inertia first");
  std::vector<std::pair<int, int>> pattern;
  pattern.reserve(jacobian.size());
  for (const JacobianBlock& entry : jacobian) {
    if (entry.block < 0 || entry.block >= nblock() || entry.group < 0 || entry.group >= primal.A->ngroup()) {
      throw Error("a Jacobian block for block {} and group of dofs {}; there are {} and {}", entry.block, entry.group,
                  nblock(), primal.A->ngroup());
    }
    pattern.emplace_back(entry.block, entry.group);
  }
  primal.J.set_pattern(blocks.row, primal.A->group(), pattern);
  for (const JacobianBlock& entry : jacobian) {
    auto target = primal.J.block(entry.block, primal.J.find(entry.block, entry.group));
    require_size("rows of a Jacobian block", entry.values.rows(), target.rows());
    require_size("columns of a Jacobian block", entry.values.cols(), target.cols());
    target += entry.values;
  }
}

std::string ContactProblem::describe_block(int block) const {
  const auto i = static_cast<std::size_t>(block);
  const char* type = i < blocks.type.size() ? block_type_name(blocks.type[i]) : "no such block";
  if (i < block_names.size() && !block_names[i].empty()) {
    return fmt::format("block {} '{}' ({})", block, block_names[i], type);
  }
  return fmt::format("block {} ({})", block, type);
}

VectorX next_velocity(const ContactProblem& problem, const ConstVectorRef& lambda) {
  if (!problem.has_primal()) {
    throw Error("the problem is given by G alone, so it has no velocity; give A, J and v_free");
  }
  require_size("lambda", lambda.size(), problem.nrow());
  const PrimalData& primal = problem.primal;
  if (const int broken = primal.A->broken_clique(); broken >= 0) {
    throw Error("the inertia of clique {} is not positive definite", broken);
  }
  VectorX impulse = VectorX::Zero(primal.nv());
  primal.J.multiply_transpose_add(lambda.data(), impulse.data());
  primal.A->solve(impulse);
  return primal.v_free + impulse;
}

void scale_impulses(ContactProblem& problem, double scale) {
  if (!(scale > 0.0))
    throw Error("impulses cannot be scaled by {}; give a positive number, such as the time step", scale);
  Blocks& blocks = problem.blocks;
  for (int r = 0; r < blocks.rows(); ++r) {
    blocks.lo[r] /= scale;
    blocks.hi[r] /= scale;
  }
  switch (problem.dual.form) {
    case DualData::Form::kDense:
      problem.dual.G_dense *= scale;
      break;
    case DualData::Form::kSparse:
      for (double& value : problem.dual.G_sparse.values) value *= scale;
      break;
    case DualData::Form::kNone:
      break;
  }
  if (problem.has_primal()) problem.primal.A = problem.primal.A->scaled(1.0 / scale);
  problem.R *= scale;
  for (ContactPhysics& physics : problem.physics) physics.stiffness /= scale;
}

}  // namespace touchstone
