#include "touchstone/contact/problem.hpp"

#include <utility>

#include <fmt/format.h>
#include <Eigen/Cholesky>

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

void DualData::set(std::shared_ptr<const DelassusOperator> G, VectorX free_velocity) {
  form = Form::kOperator;
  symmetric = false;
  G_operator = std::move(G);
  g = std::move(free_velocity);
}

void PrimalData::clear() {
  clique.resize(1);
  A_offset.resize(1);
  A.clear();
}

int PrimalData::add_clique(const Eigen::Ref<const MatrixX>& inertia) {
  if (inertia.rows() != inertia.cols() || inertia.rows() == 0) {
    throw Error("the inertia of a clique is {} x {}; it must be square and not empty", inertia.rows(), inertia.cols());
  }
  clique.push_back(clique.back() + static_cast<int>(inertia.rows()));
  const std::size_t begin = A.size();
  A.resize(begin + static_cast<std::size_t>(inertia.size()));
  Eigen::Map<MatrixX>(A.data() + begin, inertia.rows(), inertia.cols()) = inertia;
  A_offset.push_back(A.size());
  return nclique() - 1;
}

void ContactProblem::clear() {
  blocks.clear();
  dual.form = DualData::Form::kNone;
  dual.symmetric = false;
  dual.G_operator.reset();
  primal.clear();
  has_primal = false;
  row_length.clear();
  block_names.clear();
  laws.clear();
}

void ContactProblem::set_jacobian(const std::vector<JacobianBlock>& jacobian) {
  std::vector<std::pair<int, int>> pattern;
  pattern.reserve(jacobian.size());
  for (const JacobianBlock& entry : jacobian) {
    if (entry.block < 0 || entry.block >= nblock() || entry.clique < 0 || entry.clique >= primal.nclique()) {
      throw Error("a Jacobian block for block {} and clique {}; there are {} and {}", entry.block, entry.clique,
                  nblock(), primal.nclique());
    }
    pattern.emplace_back(entry.block, entry.clique);
  }
  primal.J.set_pattern(blocks.row, primal.clique, pattern);
  for (const JacobianBlock& entry : jacobian) {
    auto target = primal.J.block(entry.block, primal.J.find(entry.block, entry.clique));
    require_size("rows of a Jacobian block", entry.values.rows(), target.rows());
    require_size("columns of a Jacobian block", entry.values.cols(), target.cols());
    target += entry.values;
  }
  has_primal = true;
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
  if (!problem.has_primal) throw Error("the problem is given by G alone, so it has no velocity; give A, J and v_free");
  require_size("lambda", lambda.size(), problem.nrow());
  const PrimalData& primal = problem.primal;
  VectorX impulse = VectorX::Zero(primal.nv());
  primal.J.multiply_transpose_add(lambda.data(), impulse.data());
  for (int c = 0; c < primal.nclique(); ++c) {
    const Eigen::LLT<MatrixX> factor(primal.A_block(c));
    if (factor.info() != Eigen::Success) throw Error("the inertia of clique {} is not positive definite", c);
    factor.solveInPlace(impulse.segment(primal.clique[c], primal.clique_size(c)));
  }
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
    case DualData::Form::kOperator:
      throw Error("impulses of a problem with a matrix-free G cannot be scaled; scale the operator");
    case DualData::Form::kNone:
      break;
  }
  for (double& value : problem.primal.A) value /= scale;
  problem.primal.R *= scale;
  for (ContactLaw& law : problem.laws) law.n0 /= scale;
}

}  // namespace touchstone
