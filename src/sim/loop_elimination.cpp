#include "touchstone/sim/loop_elimination.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"
#include "touchstone/contact/problem_parts.hpp"
#include "touchstone/math/dense_kernels.hpp"

namespace touchstone {
namespace {

// A row that gives way by less than this share of what it would without loops is held by them.
constexpr double kHeldByLoops = 1e-6;

}  // namespace

// Where the rows go: equalities first. False if this is nothing for us.
bool LoopElimination::choose(const ContactProblem& problem) {
  const Blocks& blocks = problem.blocks;
  equal_rows_ = 0;
  place_.resize(at(blocks.count()));
  for (int i = 0; i < blocks.count(); ++i) {
    if (blocks.type[at(i)] != BlockType::kEquality) continue;
    place_[at(i)] = equal_rows_;
    equal_rows_ += blocks.size(i);
  }
  const int others = blocks.rows() - equal_rows_;
  if (equal_rows_ == 0 || equal_rows_ > kMostEqualities || others > kMostOthersOfEqual * equal_rows_) return false;
  if (others > kMostOthers) return false;
  rows_ = equal_rows_;
  for (int i = 0; i < blocks.count(); ++i) {
    if (blocks.type[at(i)] == BlockType::kEquality) continue;
    place_[at(i)] = rows_;
    rows_ += blocks.size(i);
  }
  return true;
}

// The lower half of G, and g as the row below it.
void LoopElimination::fill(const ContactProblem& problem) {
  const BlockSparseMatrix& G = problem.dual.G_sparse;
  leading_ = (rows_ + 1 + 3) / 4 * 4;
  values_.resize(std::max(values_.size(), at(rows_ + 1) * at(leading_)));
  for (int c = 0; c <= rows_; ++c) std::fill(column(c) + c, column(c) + leading_, 0.0);
  diagonal_.resize(rows_ - equal_rows_);
  for (int i = 0; i < problem.nblock(); ++i) {
    const int row = place_[at(i)], m = problem.blocks.size(i);
    for (int k = G.start[at(i)]; k < G.start[at(i + 1)]; ++k) {
      const int j = G.col[at(k)], other = place_[at(j)];
      if (other > row) continue;
      const double* value = G.data(k);
      for (int c = 0; c < problem.blocks.size(j); ++c, value += m) std::copy_n(value, m, column(other + c) + row);
    }
    for (int r = 0; r < m; ++r) {
      column(row + r)[rows_] = problem.dual.g[problem.blocks.row[at(i)] + r];
      if (row >= equal_rows_) diagonal_[row + r - equal_rows_] = column(row + r)[row + r];
    }
  }
}

bool LoopElimination::build_rest(const ContactProblem& problem) {
  Blocks& blocks = rest_.blocks;
  blocks.clear();
  rest_.row_length.clear();
  for (int i = 0; i < problem.nblock(); ++i) {
    if (problem.blocks.type[at(i)] == BlockType::kEquality) continue;
    append_block(problem.blocks, i, blocks);
    for (int row = problem.blocks.row[at(i)]; row < problem.blocks.row[at(i + 1)]; ++row)
      rest_.row_length.push_back(problem.length(row));
  }
  const int n = blocks.rows();
  if (n == 0) return true;
  rest_.time_step = problem.time_step;
  rest_.dual.form = DualData::Form::kSparse;
  rest_.dual.symmetric = true;
  rest_.dual.g.resize(n);
  for (int r = 0; r < n; ++r) {
    const double* own = column(equal_rows_ + r) + equal_rows_;
    if (!(own[r] > kHeldByLoops * diagonal_[r])) return false;
    rest_.dual.g[r] = own[n];
  }
  rest_.dual.G_sparse.row_begin = rest_.dual.G_sparse.col_begin = blocks.row;
  set_full_pattern(blocks, rest_.dual.G_sparse);
  double* value = rest_.dual.G_sparse.values.data();
  for (int i = 0; i < blocks.count(); ++i) {
    for (int c = 0; c < n; ++c) {
      for (int r = blocks.row[at(i)]; r < blocks.row[at(i + 1)]; ++r)
        *value++ = column(equal_rows_ + std::min(r, c))[equal_rows_ + std::max(r, c)];
    }
  }
  return true;
}

bool LoopElimination::begin(const ContactProblem& problem) {
  if (problem.dual.form != DualData::Form::kSparse || !problem.dual.symmetric || !choose(problem)) return false;
  fill(problem);
  return partial_cholesky(values_.data(), leading_, rows_ + 1, equal_rows_) && build_rest(problem);
}

void LoopElimination::gather(const ContactProblem& problem, const VectorX& lambda, VectorX& rest) const {
  rest.resize(rows_ - equal_rows_);
  for (int i = 0; i < problem.nblock(); ++i) {
    if (place_[at(i)] < equal_rows_) continue;
    std::copy_n(lambda.data() + problem.blocks.row[at(i)], problem.blocks.size(i),
                rest.data() + place_[at(i)] - equal_rows_);
  }
}

void LoopElimination::scatter(const ContactProblem& problem, const VectorX& rest, VectorX& u) const {
  for (int i = 0; i < problem.nblock(); ++i) {
    if (place_[at(i)] < equal_rows_) continue;
    std::copy_n(rest.data() + place_[at(i)] - equal_rows_, problem.blocks.size(i),
                u.data() + problem.blocks.row[at(i)]);
  }
}

// The factor has L^-1 g_E and L^-1 G_EC in its rows below E: -lambda_E = L^-T (L^-1 g_E + L^-1 G_EC lambda_C).
bool LoopElimination::finish(const ContactProblem& problem, const VectorX& rest, VectorX& lambda) {
  x_.resize(equal_rows_);
  const int others = rows_ - equal_rows_;
  for (int k = equal_rows_ - 1; k >= 0; --k) {
    const double* own = column(k);
    double sum = -own[rows_];
    for (int c = 0; c < others; ++c) sum -= own[equal_rows_ + c] * rest[c];
    for (int r = k + 1; r < equal_rows_; ++r) sum -= own[r] * x_[r];
    x_[k] = sum / own[k];
  }
  if (!x_.allFinite()) return false;
  lambda.resize(problem.nrow());
  for (int i = 0; i < problem.nblock(); ++i) {
    const int from = place_[at(i)];
    const double* values = from < equal_rows_ ? x_.data() + from : rest.data() + from - equal_rows_;
    std::copy_n(values, problem.blocks.size(i), lambda.data() + problem.blocks.row[at(i)]);
  }
  return true;
}

}  // namespace touchstone
