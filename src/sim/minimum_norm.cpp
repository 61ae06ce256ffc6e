#include "touchstone/sim/minimum_norm.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/sim/loop_elimination.hpp"

namespace touchstone {
namespace {

constexpr int kFewRows = 128;  // up to here they are factored as a dense matrix

}  // namespace

// Whether there are any.
bool MinimumNorm::choose(const ContactProblem& problem) {
  const Blocks& blocks = problem.blocks;
  blocks_.clear();
  row_.assign(1, 0);
  local_.assign(at(blocks.count()), -1);
  for (int i = 0; i < blocks.count(); ++i) {
    if (!is_hard_equality(problem, i)) continue;
    local_[at(i)] = static_cast<int>(blocks_.size());
    blocks_.push_back(i);
    row_.push_back(row_.back() + blocks.size(i));
  }
  return !blocks_.empty();
}

// e W, and the diagonal of G_EE in metres without the compliance that a solver has seen.
void MinimumNorm::weigh(const ContactProblem& problem) {
  const BlockSparseMatrix& G = problem.dual.G_sparse;
  weight_.resize(row_.back());
  largest_ = 0.0;
  for (std::size_t own = 0; own < blocks_.size(); ++own) {
    const int i = blocks_[own];
    const auto diagonal = G.block(i, G.find(i, i));
    for (int r = 0; r < diagonal.rows(); ++r) {
      const int row = problem.blocks.row[at(i)] + r;
      const double compliance = problem.R.size() > 0 ? problem.R[row] : 0.0, length = problem.length(row);
      largest_ = std::max(largest_, (diagonal(r, r) - compliance) * length * length);
      weight_[row_[own] + r] = 1.0 / (length * length);
    }
  }
  weight_ *= kLeastNormShare * largest_;
}

// e W instead of the compliance, on the diagonal of a block: what is added to row r of it.
double MinimumNorm::shift(const ContactProblem& problem, std::size_t own, int r) const {
  const int row = problem.blocks.row[at(blocks_[own])] + r;
  return weight_[row_[own] + r] - (problem.R.size() > 0 ? problem.R[row] : 0.0);
}

bool MinimumNorm::factor_dense(const ContactProblem& problem) {
  const BlockSparseMatrix& G = problem.dual.G_sparse;
  const int n = row_.back();
  dense_.resize(n);
  for (int c = 0; c < n; ++c) std::fill(dense_.column(c) + c, dense_.column(c) + n, 0.0);
  for (std::size_t own = 0; own < blocks_.size(); ++own) {
    const int i = blocks_[own];
    for (int k = G.start[at(i)]; k < G.start[at(i + 1)]; ++k) {
      const int j = local_[at(G.col[at(k)])];
      if (j < 0 || j > static_cast<int>(own)) continue;
      const auto block = G.block(i, k);
      for (int c = 0; c < block.cols(); ++c) {
        for (int r = 0; r < block.rows(); ++r) dense_.column(row_[at(j)] + c)[row_[own] + r] = block(r, c);
      }
    }
    for (int r = 0; r < problem.blocks.size(i); ++r) {
      const int row = row_[own] + r;
      dense_.column(row)[row] += shift(problem, own, r);
    }
  }
  return dense_.eliminate(n) && dense_.factorize();
}

bool MinimumNorm::factor_sparse(const ContactProblem& problem) {
  const BlockSparseMatrix& G = problem.dual.G_sparse;
  pattern_.clear();
  for (const int i : blocks_) {
    for (int k = G.start[at(i)]; k < G.start[at(i + 1)]; ++k) {
      const int j = local_[at(G.col[at(k)])];
      if (j >= 0) pattern_.emplace_back(local_[at(i)], j);
    }
  }
  G_.set_pattern(row_, row_, pattern_);
  for (std::size_t own = 0; own < blocks_.size(); ++own) {
    const int i = blocks_[own];
    int entry = G_.start[own];
    for (int k = G.start[at(i)]; k < G.start[at(i + 1)]; ++k) {
      if (local_[at(G.col[at(k)])] >= 0) G_.block(static_cast<int>(own), entry++) = G.block(i, k);
    }
    auto diagonal = G_.block(static_cast<int>(own), G_.find(static_cast<int>(own), static_cast<int>(own)));
    for (int r = 0; r < diagonal.rows(); ++r) diagonal(r, r) += shift(problem, own, r);
  }
  return factor_.factorize(G_);
}

bool MinimumNorm::prepare(const ContactProblem& problem) {
  if (problem.dual.form != DualData::Form::kSparse || !choose(problem)) return false;
  weigh(problem);
  if (!(largest_ > 0.0) || !(weight_.minCoeff() > 0.0)) return false;
  is_dense_ = row_.back() <= kFewRows;
  return is_dense_ ? factor_dense(problem) : factor_sparse(problem);
}

void MinimumNorm::solve(VectorX& x) { is_dense_ ? dense_.solve(x.data()) : factor_.solve(x); }

bool MinimumNorm::apply(const ContactProblem& problem, VectorX& lambda) {
  const int n = row_.back();
  x_.resize(n);
  y_.resize(n);
  const auto for_rows = [&](auto&& visit) {
    for (std::size_t own = 0; own < blocks_.size(); ++own) {
      const int first = problem.blocks.row[at(blocks_[own])];
      for (int r = row_[own]; r < row_[own + 1]; ++r) visit(r, first + r - row_[own]);
    }
  };
  for_rows([&](int own, int row) { x_[own] = lambda[row]; });
  const double limit = kLeastNormFelt * problem.dual.g.lpNorm<Eigen::Infinity>();
  bool is_changed = false;
  if (problem.R.size() > 0) {
    double motion = 0.0;  // that the compliance has made, m/s
    for_rows([&](int own, int row) {
      y_[own] = problem.R[row] * x_[own];
      motion = std::max(motion, std::abs(y_[own]) * problem.length(row));
    });
    is_changed = motion <= limit;
    if (is_changed) {
      solve(y_);
      x_ += y_;
    }
  }
  if (n > 1) {  // one row repeats nothing
    once_ = x_.cwiseProduct(weight_);
    solve(once_);
    y_ = once_.cwiseProduct(weight_);
    solve(y_);
    double motion = 0.0;
    for_rows([&](int own, int row) {
      motion = std::max(motion, weight_[own] * std::abs(once_[own] - y_[own]) * problem.length(row));
    });
    if (motion <= limit) {
      x_ -= y_;
      is_changed = true;
    }
  }
  if (!is_changed || !x_.allFinite()) return false;
  for_rows([&](int own, int row) { lambda[row] = x_[own]; });
  return true;
}

}  // namespace touchstone
