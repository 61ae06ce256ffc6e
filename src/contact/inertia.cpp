#include "touchstone/contact/inertia.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

constexpr int kBody = 6;     // dofs of a free body, the usual clique
constexpr int kContact = 3;  // rows of a contact, the usual number of columns

using Matrix6 = Eigen::Matrix<double, kBody, kBody>;
using Matrix63 = Eigen::Matrix<double, kBody, kContact>;

template <typename Matrix>
bool factorize_block(Eigen::Map<Matrix> block) {
  return Eigen::LLT<Eigen::Ref<Matrix>>(block).info() == Eigen::Success;
}

}  // namespace

void Inertia::solve(VectorX& x) const {
  for (int c = 0; c < nclique(); ++c) solve(c, x.data() + first_dof(c));
}

BlockSparseMatrix Inertia::matrix() const {
  BlockSparseMatrix A;
  std::vector<std::pair<int, int>> pattern;
  append_pattern(pattern);
  A.set_pattern(group_, group_, pattern);
  add_to(A);
  return A;
}

int DenseInertia::add(const Eigen::Ref<const MatrixX>& block) {
  if (block.rows() != block.cols() || block.rows() == 0) {
    throw Error("the inertia of a clique is {} x {}; it must be square and not empty", block.rows(), block.cols());
  }
  const int clique = nclique();
  group_.push_back(nv() + static_cast<int>(block.rows()));
  clique_.push_back(clique + 1);
  clique_of_.push_back(clique);
  offset_.push_back(offset_.back() + static_cast<std::size_t>(block.size()));
  A_.resize(offset_.back());
  L_.resize(offset_.back());
  broken_.push_back(0);
  set(clique, block);
  return clique;
}

void DenseInertia::set(int clique, const Eigen::Ref<const MatrixX>& block) {
  require_size("rows of the inertia of a clique", block.rows(), clique_size(clique));
  require_size("columns of the inertia of a clique", block.cols(), clique_size(clique));
  Eigen::Map<MatrixX>(A_.data() + offset_[clique], block.rows(), block.cols()) = block;
  factorize(clique);
}

void DenseInertia::factorize(int clique) {
  const int n = clique_size(clique);
  double* data = L_.data() + offset_[clique];
  std::copy_n(A_.data() + offset_[clique], n * n, data);
  const bool good =
      n == kBody ? factorize_block(Eigen::Map<Matrix6>(data, n, n)) : factorize_block(Eigen::Map<MatrixX>(data, n, n));
  broken_[static_cast<std::size_t>(clique)] = good ? 0 : 1;
  const auto first = std::find(broken_.begin(), broken_.end(), 1);
  broken_clique_ = first == broken_.end() ? -1 : static_cast<int>(first - broken_.begin());
}

Eigen::Map<const MatrixX> DenseInertia::block(int clique) const {
  return {A_.data() + offset_[clique], clique_size(clique), clique_size(clique)};
}

void DenseInertia::solve(int clique, double* x) const {
  const int n = clique_size(clique);
  const Eigen::Map<const MatrixX> factor(L_.data() + offset_[clique], n, n);
  Eigen::Map<VectorX> part(x, n);
  factor.triangularView<Eigen::Lower>().solveInPlace(part);
  factor.transpose().triangularView<Eigen::Upper>().solveInPlace(part);
}

void DenseInertia::half_solve(int clique, double* x, int columns) const {
  const int n = clique_size(clique);
  const double* factor = L_.data() + offset_[clique];
  if (n == kBody && columns == kContact) {
    Eigen::Map<Matrix63> part(x);
    Eigen::Map<const Matrix6>(factor).triangularView<Eigen::Lower>().solveInPlace(part);
  } else {
    Eigen::Map<MatrixX> part(x, n, columns);
    Eigen::Map<const MatrixX>(factor, n, n).triangularView<Eigen::Lower>().solveInPlace(part);
  }
}

void DenseInertia::append_pattern(std::vector<std::pair<int, int>>& pattern) const {
  for (int c = 0; c < nclique(); ++c) pattern.emplace_back(c, c);
}

void DenseInertia::add_to(BlockSparseMatrix& H) const {
  for (int c = 0; c < nclique(); ++c) H.block(c, H.find(c, c)) += block(c);
}

std::shared_ptr<const Inertia> DenseInertia::scaled(double factor) const {
  auto result = std::make_shared<DenseInertia>(*this);
  for (double& value : result->A_) value *= factor;
  for (double& value : result->L_) value *= std::sqrt(factor);
  return result;
}

bool DenseInertia::all_finite() const {
  return std::all_of(A_.begin(), A_.end(), [](double value) { return std::isfinite(value); });
}

}  // namespace touchstone
