#include "touchstone/sim/loop_elimination.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/contact/problem_parts.hpp"
#include "touchstone/math/dense_kernels.hpp"
#include "touchstone/math/padded_kernels.hpp"

namespace touchstone {
namespace {

// A row that gives way by less than this share of what it would without loops is held by them.
constexpr double kHeldByLoops = 1e-6;

constexpr double kCompliant = 1e-6;  // R over G of a block: above it the compliance is one of the model
constexpr double kRepeated = 1e-8;   // of the impulses: a smaller share in rows that repeat each other is left
constexpr double kMuchTaken = 0.1;   // of the impulses: taking out more leaves a rest of its rounding, about 1e-7 of it
constexpr int kMostRefinements = 2;  // of the proximal term, and of what is taken out

// m numbers; most blocks have one or three rows, and a call would take longer than the copy.
void copy_rows(const double* from, int m, double* __restrict to) {
  if (m == 1) {
    *to = *from;
  } else if (m == 3) {
    for (int r = 0; r < 3; ++r) to[r] = from[r];
  } else {
    std::copy_n(from, m, to);
  }
}

}  // namespace

bool is_hard_equality(const ContactProblem& problem, int block) {
  if (problem.blocks.type[at(block)] != BlockType::kEquality) return false;
  if (problem.R.size() == 0) return true;
  const BlockSparseMatrix& G = problem.dual.G_sparse;
  // A row that others make superfluous has nothing but its compliance on the diagonal: the block's largest counts.
  const auto own = G.block(block, G.find(block, block));
  const double most = kCompliant * own.diagonal().maxCoeff();
  return problem.R.segment(problem.blocks.row[at(block)], problem.blocks.size(block)).maxCoeff() <= most;
}

// Where the rows go: equalities first. False if this is nothing for us.
bool LoopElimination::choose(const ContactProblem& problem, bool wide) {
  const Blocks& blocks = problem.blocks;
  equal_rows_ = 0;
  place_.resize(at(blocks.count()));
  for (int i = 0; i < blocks.count(); ++i) {
    if (blocks.type[at(i)] != BlockType::kEquality) continue;
    place_[at(i)] = equal_rows_;
    equal_rows_ += blocks.size(i);
  }
  const int others = blocks.rows() - equal_rows_;
  if (equal_rows_ == 0 || equal_rows_ > (wide ? kWidestEqualities : kMostEqualities)) return false;
  if (others > (wide ? kWidestOthers : std::min(kMostOthers, kMostOthersOfEqual * equal_rows_))) return false;
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
  leading_ = padded::leading_of(rows_ + 1);
  values_.resize(std::max(values_.size(), at(rows_ + 1) * at(leading_)));
  for (int c = 0; c <= rows_; ++c) std::fill(column(c) + c, column(c) + leading_, 0.0);
  diagonal_.resize(rows_ - equal_rows_);
  for (int i = 0; i < problem.nblock(); ++i) {
    const int row = place_[at(i)], m = problem.blocks.size(i);
    for (int k = G.start[at(i)]; k < G.start[at(i + 1)]; ++k) {
      const int j = G.col[at(k)], other = place_[at(j)];
      if (other > row) continue;
      const double* value = G.data(k);
      for (int c = 0; c < problem.blocks.size(j); ++c, value += m) copy_rows(value, m, column(other + c) + row);
    }
    for (int r = 0; r < m; ++r) {
      column(row + r)[rows_] = problem.dual.g[problem.blocks.row[at(i)] + r];
      if (row >= equal_rows_) diagonal_[row + r - equal_rows_] = column(row + r)[row + r];
    }
  }
}

// e W on the diagonal of hard equalities in place of their compliance.
void LoopElimination::set_proximal(const ContactProblem& problem) {
  proximal_.setZero(equal_rows_);
  stated_.setZero(equal_rows_);
  length_.resize(equal_rows_);
  double largest = 0.0;
  for (int i = 0; i < problem.nblock(); ++i) {
    const int own = place_[at(i)], first = problem.blocks.row[at(i)];
    if (own >= equal_rows_) continue;
    const bool is_hard = is_hard_equality(problem, i);
    for (int r = 0; r < problem.blocks.size(i); ++r) {
      const double length = problem.length(first + r);
      length_[own + r] = length;
      if (!is_hard) continue;
      stated_[own + r] = problem.R.size() > 0 ? problem.R[first + r] : 0.0;
      proximal_[own + r] = 1.0 / (length * length);
      largest = std::max(largest, (column(own + r)[own + r] - stated_[own + r]) * length * length);
    }
  }
  proximal_ *= kLeastNormShare * largest;
  for (int r = 0; r < equal_rows_; ++r) {
    if (proximal_[r] > 0.0) column(r)[r] += proximal_[r] - stated_[r];
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

bool LoopElimination::begin(const ContactProblem& problem, bool least_norm, bool wide) {
  has_factor_ = keeps_compliance_ = false;
  least_norm_ = least_norm;
  if (problem.dual.form != DualData::Form::kSparse || !problem.dual.symmetric || !choose(problem, wide)) return false;
  fill(problem);
  if (least_norm) set_proximal(problem);
  inverse_.resize(std::max(inverse_.size(), at(equal_rows_)));
  if (rows_ < padded::kMostRows) {
    if (!padded::eliminate(values_.data(), leading_, rows_ + 1, equal_rows_, inverse_.data())) return false;
  } else {
    if (!partial_cholesky(values_.data(), leading_, rows_ + 1, equal_rows_)) return false;
    for (int k = 0; k < equal_rows_; ++k) inverse_[at(k)] = 1.0 / column(k)[k];
  }
  has_factor_ = true;
  return build_rest(problem);
}

// The rows below E are L^-1 [G_EC g_E], transposed.
bool LoopElimination::refine(const ContactProblem& problem) {
  const int below = rows_ + 1 - equal_rows_;
  response_.resize(std::max(response_.size(), at(below) * at(equal_rows_)));
  const auto response = [&](int c) { return response_.data() + at(c) * at(equal_rows_); };
  for (int c = 0; c < below; ++c) {
    for (int k = 0; k < equal_rows_; ++k) response(c)[k] = column(k)[equal_rows_ + c];
    solve_transposed(values_.data(), leading_, equal_rows_, equal_rows_, inverse_.data(), response(c));
    for (int other = 0; other <= std::min(c, below - 2); ++other) {
      double change = 0.0;
      for (int k = 0; k < equal_rows_; ++k) change += response(c)[k] * proximal_[k] * response(other)[k];
      column(equal_rows_ + other)[equal_rows_ + c] -= change;
    }
  }
  return build_rest(problem);
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

void LoopElimination::solve(double* x) const {
  solve_lower(values_.data(), leading_, equal_rows_, 0, equal_rows_, inverse_.data(), x);
  solve_transposed(values_.data(), leading_, equal_rows_, equal_rows_, inverse_.data(), x);
}

void LoopElimination::solve_equalities(const ContactProblem& problem, double* rows) {
  if (x_.size() < equal_rows_) x_.resize(2 * equal_rows_);
  for (int i = 0; i < problem.nblock(); ++i) {
    if (place_[at(i)] < equal_rows_)
      copy_rows(rows + problem.blocks.row[at(i)], problem.blocks.size(i), x_.data() + place_[at(i)]);
  }
  solve(x_.data());
  for (int i = 0; i < problem.nblock(); ++i) {
    if (place_[at(i)] < equal_rows_)
      copy_rows(x_.data() + place_[at(i)], problem.blocks.size(i), rows + problem.blocks.row[at(i)]);
  }
}

// Takes the proximal term out of x_. False if it moves rows by more than `limit`, m/s, then. Rows that say the same but
// for an error of 1e-9 ask for impulses as large as others in that direction, so that P^2 is taken out as in
// minimum_norm.cpp, unless it is felt.
bool LoopElimination::correct(double limit) {
  const auto motion = [&](const VectorX& compliance, const double* impulse) {
    double largest = 0.0;
    for (int r = 0; r < equal_rows_; ++r)
      largest = std::max(largest, std::abs(compliance[r] * length_[r] * impulse[r]));
    return largest;
  };
  auto x = x_.head(equal_rows_);
  change_ = x;
  double repeated = 0.0;  // P x_1
  for (int k = 0; k < kMostRefinements && (k == 0 || motion(proximal_, change_.data()) > limit); ++k) {
    change_.array() *= proximal_.array();
    solve(change_.data());
    if (k == 0) repeated = change_.lpNorm<Eigen::Infinity>();
    x += change_;
  }
  if (!(motion(proximal_, change_.data()) <= limit && motion(stated_, x_.data()) <= limit)) return false;
  if (repeated <= kRepeated * x.lpNorm<Eigen::Infinity>()) return true;
  auto twice = x_.segment(rows_, equal_rows_);
  for (int k = 0; k < kMostRefinements; ++k) {
    change_ = x.cwiseProduct(proximal_);
    solve(change_.data());
    twice = change_.cwiseProduct(proximal_);
    solve(twice.data());
    change_ -= twice;
    if (!(motion(proximal_, change_.data()) <= limit)) break;
    x -= twice;
    if (twice.lpNorm<Eigen::Infinity>() <= kMuchTaken * x.lpNorm<Eigen::Infinity>()) break;
  }
  return true;
}

// The factor has L^-1 g_E and L^-1 G_EC in its rows below E: -lambda_E = L^-T (L^-1 g_E + L^-1 G_EC lambda_C).
bool LoopElimination::finish(const ContactProblem& problem, const VectorX& rest, VectorX& lambda) {
  if (x_.size() < 2 * rows_) x_.resize(4 * rows_);
  for (int k = 0; k < equal_rows_; ++k) x_[k] = -column(k)[rows_];
  std::copy_n(rest.data(), rows_ - equal_rows_, x_.data() + equal_rows_);
  solve_transposed(values_.data(), leading_, rows_, equal_rows_, inverse_.data(), x_.data());
  keeps_compliance_ = least_norm_ && !correct(kLeastNormFelt * problem.dual.g.lpNorm<Eigen::Infinity>());
  if (keeps_compliance_ || !x_.head(rows_).allFinite()) return false;
  lambda.resize(problem.nrow());
  for (int i = 0; i < problem.nblock(); ++i)
    copy_rows(x_.data() + place_[at(i)], problem.blocks.size(i), lambda.data() + problem.blocks.row[at(i)]);
  return true;
}

}  // namespace touchstone
