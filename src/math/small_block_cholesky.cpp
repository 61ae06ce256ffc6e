#include "touchstone/math/small_block_cholesky.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "touchstone/base/check.hpp"

namespace touchstone {
namespace {

constexpr int kRows = SmallBlockCholesky::kSize;
constexpr std::size_t kArea = kRows * kRows;
using Block = SmallBlockCholesky::Block;
using BlockMap = Eigen::Map<Block>;
using Part = Eigen::Matrix<double, kRows, 1>;
using PartMap = Eigen::Map<Part>;

std::size_t index(int k) { return static_cast<std::size_t>(k); }

// The lower triangle in place, with the inverses of the diagonal.
bool factor_diagonal(double* values, double* inverse) {
  BlockMap L(values);
  for (int k = 0; k < kRows; ++k) {
    const double pivot = L(k, k);
    if (!(pivot > 0.0) || !std::isfinite(pivot)) return false;
    const double root = std::sqrt(pivot);
    L(k, k) = root;
    inverse[k] = 1.0 / root;
    for (int r = k + 1; r < kRows; ++r) L(r, k) *= inverse[k];
    for (int c = k + 1; c < kRows; ++c) {
      for (int r = c; r < kRows; ++r) L(r, c) -= L(r, k) * L(c, k);
    }
  }
  return true;
}

// B = B L^-T.
void divide(const double* lower, const double* inverse, double* values) {
  const Eigen::Map<const Block> L(lower);
  BlockMap B(values);
  for (int c = 0; c < kRows; ++c) {
    Part column = B.col(c);
    for (int k = 0; k < c; ++k) column -= L(c, k) * B.col(k);
    B.col(c) = column * inverse[c];
  }
}

}  // namespace

void SmallBlockCholesky::begin(const std::vector<int>& row_begin) {
  const int count = static_cast<int>(row_begin.size()) - 1;
  TOUCHSTONE_CHECK(count <= kMostBlocks, "so many blocks do not fit into a word");
  if (row_begin != row_begin_) {
    row_begin_ = row_begin;
    count_ = count;
    pattern_.fill(0);  // of no matrix: the diagonal is always there
  }
  for (int i = 0; i < count; ++i) wanted_[index(i)] = bit(i);
}

void SmallBlockCholesky::order() {
  if (std::equal(wanted_.begin(), wanted_.begin() + count_, pattern_.begin())) return;
  pattern_ = wanted_;
  std::array<Word, kMostBlocks>& joined = wanted_;  // of what is left, with what elimination fills in
  Word left = count_ == kMostBlocks ? ~Word{0} : bit(count_) - 1;
  start_[0] = 0;
  for (int k = 0; k < count_; ++k) {
    int chosen = -1, least = kMostBlocks + 1;
    for (Word rest = left; rest != 0; rest &= rest - 1) {
      const int i = std::countr_zero(rest), degree = std::popcount(joined[index(i)] & left);
      if (degree < least) {
        least = degree;
        chosen = i;
      }
    }
    step_[index(chosen)] = k;
    block_of_[index(k)] = chosen;
    left &= ~bit(chosen);
    const Word neighbours = joined[index(chosen)] & left;
    below_[index(k)] = neighbours;  // as blocks, until all steps are known
    for (Word rest = neighbours; rest != 0; rest &= rest - 1) joined[index(std::countr_zero(rest))] |= neighbours;
    start_[index(k + 1)] = start_[index(k)] + 1 + std::popcount(neighbours);
  }
  for (int k = 0; k < count_; ++k) {
    Word steps = 0;
    for (Word rest = below_[index(k)]; rest != 0; rest &= rest - 1) steps |= bit(step_[index(std::countr_zero(rest))]);
    below_[index(k)] = steps;
  }
  values_.resize(std::max(values_.size(), kArea * index(start_[index(count_)])));
}

double* SmallBlockCholesky::block_at(int row, int column) {
  const Word before = below_[index(column)] & (bit(row) - 1);
  const int place = row == column ? 0 : 1 + std::popcount(before);
  return values_.data() + kArea * index(start_[index(column)] + place);
}

void SmallBlockCholesky::set_zero() {
  std::fill_n(values_.begin(), kArea * index(start_[index(count_)]), 0.0);
  for (int i = 0; i < count_; ++i) {
    BlockMap own(diagonal(i));
    for (int r = row_begin_[index(i + 1)] - row_begin_[index(i)]; r < kSize; ++r) own(r, r) = 1.0;
  }
}

double SmallBlockCholesky::largest_diagonal() const {
  double largest = 0.0;
  for (int k = 0; k < count_; ++k) {
    const Eigen::Map<const Block> own(values_.data() + kArea * index(start_[index(k)]));
    largest = std::max(largest, own.diagonal().maxCoeff());
  }
  return largest;
}

void SmallBlockCholesky::shift(double value) {
  for (int k = 0; k < count_; ++k) BlockMap(block_at(k, k)).diagonal().array() += value;
}

bool SmallBlockCholesky::factorize() {
  for (int k = 0; k < count_; ++k) {
    double* own = block_at(k, k);
    double inverse[kSize];
    if (!factor_diagonal(own, inverse)) return false;
    const Word below = below_[index(k)];
    double* first = own + kArea;  // the blocks below, by step
    const int number = std::popcount(below);
    for (int n = 0; n < number; ++n) divide(own, inverse, first + kArea * index(n));
    double* right = first;
    for (Word columns = below; columns != 0; columns &= columns - 1, right += kArea) {
      const int column = std::countr_zero(columns);
      const Eigen::Map<const Block> R(right);
      const double* left = right;
      for (Word rows = columns; rows != 0; rows &= rows - 1, left += kArea) {
        BlockMap(block_at(std::countr_zero(rows), column)).noalias() -=
            Eigen::Map<const Block>(left).lazyProduct(R.transpose());
      }
    }
  }
  return true;
}

void SmallBlockCholesky::solve(double* x) {
  for (int k = 0; k < count_; ++k) {
    const int i = block_of_[index(k)], size = row_begin_[index(i + 1)] - row_begin_[index(i)];
    double* part = gathered_.data() + kSize * k;
    std::copy_n(x + row_begin_[index(i)], size, part);
    std::fill(part + size, part + kSize, 0.0);
  }
  for (int k = 0; k < count_; ++k) {
    const double* values = block_at(k, k);
    PartMap own(gathered_.data() + kSize * k);
    const Eigen::Map<const Block> L(values);
    for (int c = 0; c < kSize; ++c) {
      own[c] /= L(c, c);
      for (int r = c + 1; r < kSize; ++r) own[r] -= L(r, c) * own[c];
    }
    for (Word rows = below_[index(k)]; rows != 0; rows &= rows - 1) {
      values += kArea;
      PartMap(gathered_.data() + kSize * std::countr_zero(rows)).noalias() -=
          Eigen::Map<const Block>(values).lazyProduct(own);
    }
  }
  for (int k = count_ - 1; k >= 0; --k) {
    const double* values = block_at(k, k);
    PartMap own(gathered_.data() + kSize * k);
    const Eigen::Map<const Block> L(values);
    for (Word rows = below_[index(k)]; rows != 0; rows &= rows - 1) {
      values += kArea;
      own.noalias() -= Eigen::Map<const Block>(values).transpose().lazyProduct(
          PartMap(gathered_.data() + kSize * std::countr_zero(rows)));
    }
    for (int c = kSize - 1; c >= 0; --c) {
      for (int r = c + 1; r < kSize; ++r) own[c] -= L(r, c) * own[r];
      own[c] /= L(c, c);
    }
  }
  for (int k = 0; k < count_; ++k) {
    const int i = block_of_[index(k)], size = row_begin_[index(i + 1)] - row_begin_[index(i)];
    std::copy_n(gathered_.data() + kSize * k, size, x + row_begin_[index(i)]);
  }
}

}  // namespace touchstone
