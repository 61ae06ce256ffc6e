// The Cholesky factorisation of a symmetric positive definite matrix of a few blocks, each of at most six rows: the
// joint-space system of an island of bodies. At this size a general sparse factorisation spends its time on structure,
// and a dense one on zeros.
//
// Method: rows of blocks are bits of one word. Minimum degree order and fill-in are then a few operations a block, so
// that a pattern of contacts which changes with every step costs next to nothing. The factor is right-looking, by
// blocks of fixed size; smaller ones are filled up with the identity.
// Memory grows with the largest factor and is kept.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "touchstone/math/aligned.hpp"
#include "touchstone/math/types.hpp"

namespace touchstone {

class SmallBlockCholesky {
 public:
  static constexpr int kSize = 6;         // rows of a block
  static constexpr int kMostBlocks = 64;  // bits of a word
  using Block = Eigen::Matrix<double, kSize, kSize>;

  // A pattern for blocks of these sizes (first rows, then the number of rows): begin, couple the pairs, order.
  void begin(const std::vector<int>& row_begin);
  void couple(int i, int j) {
    wanted_[static_cast<std::size_t>(i)] |= bit(j);
    wanted_[static_cast<std::size_t>(j)] |= bit(i);
  }
  void order();

  // Values, column-major with kSize rows: first all zero, but for the diagonal of what blocks are filled up with.
  void set_zero();
  double* diagonal(int i) { return block_at(step_[static_cast<std::size_t>(i)], step_[static_cast<std::size_t>(i)]); }
  // Of two coupled blocks the one with the rows of `later`, where comes_before(earlier, later).
  bool comes_before(int i, int j) const {
    return step_[static_cast<std::size_t>(i)] < step_[static_cast<std::size_t>(j)];
  }
  double* coupling(int later, int earlier) {
    return block_at(step_[static_cast<std::size_t>(later)], step_[static_cast<std::size_t>(earlier)]);
  }
  double largest_diagonal() const;
  void shift(double value);  // of all diagonals

  // In place: the values are gone. Returns false if a pivot is not positive.
  bool factorize();
  // x = (factored matrix)^-1 x.
  void solve(double* x);

 private:
  using Word = std::uint64_t;
  static Word bit(int k) { return Word{1} << k; }
  double* block_at(int row, int column);

  int count_ = 0;
  std::vector<int> row_begin_;
  std::array<Word, kMostBlocks> wanted_{}, pattern_{};  // by block: which ones it is coupled with
  std::array<Word, kMostBlocks> below_{};               // by step: later steps with a block in its column
  std::array<int, kMostBlocks> step_{}, block_of_{};    // when a block is eliminated, and the reverse
  std::array<int, kMostBlocks + 1> start_{};            // by step: where the blocks of its column begin
  AlignedVector values_;
  std::array<double, kMostBlocks * kSize> gathered_{};
};

}  // namespace touchstone
