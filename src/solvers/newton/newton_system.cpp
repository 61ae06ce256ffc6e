#include "touchstone/solvers/newton/newton_system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace touchstone {
namespace {

constexpr int kAlwaysDense = 24;     // rows: below, nothing is cheaper than a dense matrix
constexpr double kFullShare = 0.15;  // of entries that are not empty, above which a small matrix counts as dense
constexpr int kLargestFull = 200;    // rows: up to here a matrix counts as dense if it is
constexpr double kHalfFull = 0.5;    // so full
constexpr int kMostFailures = 3;     // of joint space, one after the other

bool is_small_and_full(const DualProblem& dual) {
  const double n = dual.nrow();
  const double share = static_cast<double>(dual.G.values.size()) / (n * n);
  if (n > NewtonSystem::kLargestDense) return n <= kLargestFull && share >= kHalfFull;
  return n <= kAlwaysDense || share >= kFullShare;
}

}  // namespace

void NewtonSystem::prepare(const DualProblem& dual, const JointSpace& space) {
  dual_ = &dual;
  Lambda.set_partition(dual.blocks.row);
  in_joint_space_ = factored_joint_ = failed_ = false;
  failures_ = 0;
  is_dense_ = is_small_and_full(dual);
  if (is_dense_ || !space.may_help(dual.nrow())) return;
  joint_.prepare(dual, space);
  lu_.analyze(dual.G);
  in_joint_space_ = joint_.symbolic().multiplications() < kWorthJointSpace * lu_.symbolic().multiplications();
  if (in_joint_space_) lu_.allocate(dual.G.rows());  // where joint space fails, in whatever step: memory is there
}

void NewtonSystem::reserve_dense(const DualProblem& dual) {
  const auto rows = static_cast<std::size_t>(dual.nrow());
  Lambda.set_partition(dual.blocks.row);
  moving_.reserve(rows);
  position_.reserve(rows);
  others_.reserve(static_cast<std::size_t>(dual.nblock()));
  gather_.reserve(rows);
  dense_.resize(dual.nrow());
}

double NewtonSystem::cost() const {
  if (is_dense_) return std::pow(dense_.size(), 3) / 3.0;
  return (in_joint_space_ ? joint_.symbolic() : lu_.symbolic()).multiplications();
}

bool NewtonSystem::factorize(std::span<const HeldBlock> held) {
  failures_ = failed_ ? failures_ + 1 : 0;
  failed_ = false;
  if (failures_ == kMostFailures) in_joint_space_ = false;
  if (in_joint_space_) {
    ++factorizations_;
    factored_joint_ = joint_.factorize(Lambda, held);
    if (factored_joint_) return true;
    in_joint_space_ = false;
  }
  return factorize_in_contact_space();
}

bool NewtonSystem::factorize_in_contact_space() {
  factored_joint_ = false;
  if (is_dense_) order_moving();
  if (!is_dense_ && is_symmetric()) {
    ++factorizations_;
    if (lu_.factorize_symmetric(dual_->G, kFloor, &Lambda)) return true;
  }
  for (double shift = kFloor; shift < 1e-6; shift *= 1e3) {
    ++factorizations_;
    if (is_dense_ ? factorize_dense(shift) : lu_.factorize(dual_->G, shift, &Lambda)) return true;
  }
  return false;
}

bool NewtonSystem::is_symmetric(int block) const {
  const int m = dual_->blocks.size(block);
  const double* values = Lambda.data(block);
  for (int c = 0; c < m; ++c) {
    for (int r = 0; r < c; ++r) {
      if (values[c * m + r] != values[r * m + c]) return false;
    }
  }
  return true;
}

bool NewtonSystem::is_symmetric() const {
  for (int i = 0; i < dual_->nblock(); ++i) {
    if (!dual_->symmetric || !is_symmetric(i)) return false;
  }
  return true;
}

void NewtonSystem::solve(VectorX& x) {
  if (factored_joint_) {
    if (joint_.solve(x)) return;
    failed_ = true;
    if (!factorize_in_contact_space()) {
      x.setConstant(std::numeric_limits<double>::quiet_NaN());
      return;
    }
  }
  is_dense_ ? solve_dense(x) : lu_.solve(x);
}

// --- Small ---

// Which rows move, those of symmetric blocks first.
void NewtonSystem::order_moving() {
  moving_.resize(static_cast<std::size_t>(dual_->nrow()));
  position_.assign(static_cast<std::size_t>(dual_->nrow()), -1);
  others_.clear();
  int count = 0;
  const auto add = [&](int i) {
    const int r = dual_->blocks.row[i], m = dual_->blocks.size(i);
    const double* block = Lambda.data(i);
    for (int k = 0; k < m; ++k) {
      if (block[k * (m + 1)] >= kFixed) continue;
      position_[r + k] = count;
      moving_[count++] = {r + k, i};
    }
  };
  for (int i = 0; i < dual_->nblock(); ++i) {
    if (dual_->symmetric && is_symmetric(i)) {
      add(i);
    } else {
      others_.push_back(i);
    }
  }
  symmetric_rows_ = count;
  for (const int i : others_) add(i);
  moving_.resize(static_cast<std::size_t>(count));
}

// A column of a symmetric G from row `first` on, out of its row. Rows ascend in both parts, so that a part is often one
// piece of the row.
void NewtonSystem::fill_column(int k, int first, const double* row) {
  double* column = dense_.column(k);
  const auto fill = [&](int begin, int end) {
    if (begin >= end) return;
    const int from = moving_[begin].row;
    if (moving_[end - 1].row - from == end - 1 - begin) {
      std::copy(row + from, row + from + (end - begin), column + begin);
      return;
    }
    for (int other = begin; other < end; ++other) column[other] = row[moving_[other].row];
  };
  fill(first, symmetric_rows_);
  fill(std::max(first, symmetric_rows_), static_cast<int>(moving_.size()));
}

// Three columns of a symmetric G from row `first` on, out of its block row.
void NewtonSystem::fill_columns_3(int k, int first, const double* panel) {
  double *a = dense_.column(k), *b = dense_.column(k + 1), *c = dense_.column(k + 2);
  const int n = static_cast<int>(moving_.size());
  for (int other = first; other < n; ++other) {
    const double* entries = panel + 3 * static_cast<std::ptrdiff_t>(moving_[other].row);
    a[other] = entries[0];
    b[other] = entries[1];
    c[other] = entries[2];
  }
}

// The rows of G that move, row by row; of a symmetric G they are columns, and `lower` asks for entries on and below the
// diagonal only.
void NewtonSystem::fill_dense(bool lower, double shift) {
  const BlockSparseMatrix& G = dual_->G;
  const int n = static_cast<int>(moving_.size());
  const bool is_symmetric = dual_->symmetric;
  dense_.resize(n);
  for (int k = 0; k < n; ++k) {
    const auto [row, i] = moving_[k];
    const int m = dual_->blocks.size(i), own = row - dual_->blocks.row[i], begin = lower ? k : 0;
    const auto entry = [&](int other) -> double& {
      return is_symmetric ? dense_.column(k)[other] : dense_.column(other)[k];
    };
    if (G.start[i + 1] - G.start[i] == dual_->nblock()) {  // a full row is one panel
      const double* panel = G.data(G.start[i]) + own;
      if (is_symmetric && m == 3 && own == 0 && k + 2 < n && moving_[k + 2].row == row + 2) {
        fill_columns_3(k, begin, panel);
        k += 2;
        continue;
      }
      if (is_symmetric && m == 1) {
        fill_column(k, begin, panel);
        continue;
      }
      for (int other = begin; other < n; ++other) entry(other) = panel[m * moving_[other].row];
    } else {
      for (int other = begin; other < n; ++other) entry(other) = 0.0;
      for (int e = G.start[i]; e < G.start[i + 1]; ++e) {
        const int j = G.col[e], first = dual_->blocks.row[j], width = dual_->blocks.size(j);
        for (int c = 0; c < width; ++c) {
          const int other = position_[first + c];
          if (other >= begin) entry(other) = G.data(e)[c * m + own];
        }
      }
    }
  }
  for (int k = 0; k < n; ++k) dense_.column(k)[k] += shift;
}

// Adds Lambda of the rows [first, end). The rows of a block that move are neighbours.
void NewtonSystem::add_lambda(int first, int end) {
  for (int k = first; k < end;) {
    const int i = moving_[k].block, r = dual_->blocks.row[i], m = dual_->blocks.size(i);
    const double* block = Lambda.data(i);
    int next = k + 1;
    if (m == 1) {
      dense_.column(k)[k] += block[0];
    } else {
      while (next < end && moving_[next].block == i) ++next;
      for (int c = k; c < next; ++c) {
        const double* from = block + (moving_[c].row - r) * m - r;
        double* column = dense_.column(c);
        for (int row = k; row < next; ++row) column[row] += from[moving_[row].row];
      }
    }
    k = next;
  }
}

bool NewtonSystem::factorize_dense(double shift) {
  const int n = static_cast<int>(moving_.size());
  if (symmetric_rows_ > 0) {
    fill_dense(true, shift);
    add_lambda(0, symmetric_rows_);
    if (dense_.eliminate(symmetric_rows_)) {
      add_lambda(symmetric_rows_, n);
      return dense_.factorize();
    }
  }
  fill_dense(false, shift);
  add_lambda(0, n);
  return dense_.factorize();
}

void NewtonSystem::solve_dense(VectorX& x) {
  gather_.resize(moving_.size());
  for (std::size_t k = 0; k < moving_.size(); ++k) gather_[k] = x[moving_[k].row];
  dense_.solve(gather_.data());
  x.setZero();
  for (std::size_t k = 0; k < moving_.size(); ++k) x[moving_[k].row] = gather_[k];
}

}  // namespace touchstone
