#include "touchstone/sim/minimum_norm.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"

namespace touchstone {
namespace {

constexpr double kShare = 1e-9;      // e, of the largest diagonal of G in metres
constexpr double kFelt = 1e-7;       // of the largest free velocity: what the change may move
constexpr double kCompliant = 1e-6;  // R over G: above it the compliance is one of the model

}  // namespace

// Whether there are any.
bool MinimumNorm::choose(const ContactProblem& problem) {
  const Blocks& blocks = problem.blocks;
  const BlockSparseMatrix& G = problem.dual.G_sparse;
  blocks_.clear();
  row_.assign(1, 0);
  local_.assign(at(blocks.count()), -1);
  for (int i = 0; i < blocks.count(); ++i) {
    if (blocks.type[at(i)] != BlockType::kEquality) continue;
    const auto own = G.block(i, G.find(i, i));
    // A row that others make superfluous has nothing but its compliance on the diagonal: the block's largest counts.
    const double most = kCompliant * own.diagonal().maxCoeff();
    const bool is_hard =
        problem.R.size() == 0 || problem.R.segment(blocks.row[at(i)], blocks.size(i)).maxCoeff() <= most;
    if (!is_hard) continue;
    local_[at(i)] = static_cast<int>(blocks_.size());
    blocks_.push_back(i);
    row_.push_back(row_.back() + blocks.size(i));
  }
  return !blocks_.empty();
}

// G_EE without the compliance that a solver has seen, with e W instead.
void MinimumNorm::fill(const ContactProblem& problem) {
  const BlockSparseMatrix& G = problem.dual.G_sparse;
  pattern_.clear();
  for (const int i : blocks_) {
    for (int k = G.start[at(i)]; k < G.start[at(i + 1)]; ++k) {
      const int j = local_[at(G.col[at(k)])];
      if (j >= 0) pattern_.emplace_back(local_[at(i)], j);
    }
  }
  G_.set_pattern(row_, row_, pattern_);
  weight_.resize(row_.back());
  double largest = 0.0;
  for (const int i : blocks_) {
    const int own = local_[at(i)];
    int entry = G_.start[at(own)];
    for (int k = G.start[at(i)]; k < G.start[at(i + 1)]; ++k) {
      if (local_[at(G.col[at(k)])] >= 0) G_.block(own, entry++) = G.block(i, k);
    }
    auto diagonal = G_.block(own, G_.find(own, own));
    for (int r = 0; r < diagonal.rows(); ++r) {
      const int row = problem.blocks.row[at(i)] + r;
      if (problem.R.size() > 0) diagonal(r, r) -= problem.R[row];
      const double length = problem.length(row);
      largest = std::max(largest, diagonal(r, r) * length * length);
      weight_[row_[at(own)] + r] = 1.0 / (length * length);
    }
  }
  weight_ *= kShare * largest;
  for (std::size_t own = 0; own < blocks_.size(); ++own) {
    const int i = static_cast<int>(own);
    auto diagonal = G_.block(i, G_.find(i, i));
    for (int r = 0; r < diagonal.rows(); ++r) diagonal(r, r) += weight_[row_[own] + r];
  }
}

bool MinimumNorm::apply(const ContactProblem& problem, VectorX& lambda) {
  if (problem.dual.form != DualData::Form::kSparse || !choose(problem)) return false;
  fill(problem);
  if (!(weight_.minCoeff() > 0.0) || !factor_.factorize(G_)) return false;
  x_.resize(row_.back());
  const auto for_rows = [&](auto&& visit) {
    for (std::size_t own = 0; own < blocks_.size(); ++own) {
      const int first = problem.blocks.row[at(blocks_[own])];
      for (int r = row_[own]; r < row_[own + 1]; ++r) visit(r, first + r - row_[own]);
    }
  };
  for_rows([&](int own, int row) { x_[own] = lambda[row]; });
  for (int k = 0; k < 2; ++k) {
    x_.array() *= weight_.array();
    factor_.solve(x_);
  }
  // What is taken away moves rows by at most e W lambda: too much only where impulses are huge.
  double motion = 0.0;
  for_rows(
      [&](int own, int row) { motion = std::max(motion, weight_[own] * std::abs(lambda[row]) * problem.length(row)); });
  if (!x_.allFinite() || motion > kFelt * problem.dual.g.lpNorm<Eigen::Infinity>()) return false;
  for_rows([&](int own, int row) { lambda[row] -= x_[own]; });
  return true;
}

}  // namespace touchstone
