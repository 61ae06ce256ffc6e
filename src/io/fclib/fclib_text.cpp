// Siconos' text files: numbers apart by blanks. Local problems are `dim nc W q mu`, global ones `dim nc M H f w mu`;
// which it is shows in what follows the first matrix. Whatever trails is ignored.
#include <charconv>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "touchstone/io/fclib/fclib_parts.hpp"

namespace touchstone {
namespace {

using fclib::Entry;
using fclib::Matrix;

constexpr const char* kTruncated = "the file may be truncated or of another kind; FCLIB files end in .hdf5";

class Numbers {
 public:
  Numbers(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  int integer(const char* what, int low, int high) {
    const double value = number(what);
    if (!(value >= low && value <= high) || value != std::floor(value))
      fail(fmt::format("{} is {}, expected an integer from {} to {}", what, value, low, high));
    return static_cast<int>(value);
  }

  double number(const char* what) {
    const std::string_view word = next_word();
    if (word.empty()) fail(fmt::format("the file ends where {} should be", what));
    double value = 0.0;
    std::string_view digits = word;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    // Out of range is also a number too small for a double; strtod makes zero of that.
    if (error == std::errc::result_out_of_range) value = std::strtod(std::string(digits).c_str(), nullptr);
    if (error == std::errc::invalid_argument || stop != digits.data() + digits.size() || !std::isfinite(value))
      fail(fmt::format("'{}' is no number; expected {}", word.substr(0, 40), what));
    return value;
  }

  std::vector<double> numbers(const char* what, std::size_t count) {
    require_room(what, count);
    std::vector<double> values(count);
    for (double& value : values) value = number(what);
    return values;
  }

  // Every number takes two characters at least.
  void require_room(const char* what, std::size_t count) const {
    if (count > (text_.size() - position_ + 1) / 2)
      fail(fmt::format("{} should have {} numbers, more than the rest of the file can hold", what, count));
  }

  // Looks at the next numbers without taking them.
  bool next_are(std::initializer_list<double> expected) {
    const std::size_t position = position_;
    const int line = line_;
    bool same = true;
    for (const double value : expected) {
      const std::string_view word = next_word();
      double parsed = 0.0;
      const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), parsed);
      same = same && error == std::errc() && stop == word.data() + word.size() && parsed == value;
    }
    position_ = position;
    line_ = line;
    return same;
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw InputError({.where = {name_, line_, ""}, .message = message, .remedy = kTruncated});
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }

  std::string_view next_word() {
    while (position_ < text_.size() && is_blank(text_[position_])) line_ += text_[position_++] == '\n' ? 1 : 0;
    const std::size_t begin = position_;
    while (position_ < text_.size() && !is_blank(text_[position_])) ++position_;
    return text_.substr(begin, position_ - begin);
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t position_ = 0;
  int line_ = 1;
};

constexpr int kLargest = 100'000'000;  // rows or blocks; the length of the file limits them long before

void read_dense(Numbers& in, Matrix& matrix) {
  in.integer("the number of rows of a dense matrix", matrix.rows, matrix.rows);
  in.integer("the number of columns of a dense matrix", matrix.cols, matrix.cols);
  in.require_room("a dense matrix", static_cast<std::size_t>(matrix.rows) * static_cast<std::size_t>(matrix.cols));
  for (int c = 0; c < matrix.cols; ++c) {
    for (int r = 0; r < matrix.rows; ++r) {
      const double value = in.number("an entry of a dense matrix");
      if (value != 0.0) matrix.entries.push_back({r, c, value});
    }
  }
}

// Ends of block rows or columns, increasing up to `total`; as begins.
std::vector<int> read_partition(Numbers& in, int count, int total) {
  in.require_room("the partition of a block matrix", static_cast<std::size_t>(count));
  std::vector<int> begin{0};
  for (int k = 0; k < count; ++k) begin.push_back(in.integer("the end of a block", begin.back(), total));
  if (begin.back() != total) in.fail(fmt::format("the blocks end at {}, the matrix at {}", begin.back(), total));
  return begin;
}

void read_blocks(Numbers& in, Matrix& matrix) {
  const int blocks = in.integer("the number of blocks", 0, kLargest);
  const int block_rows = in.integer("the number of block rows", 0, matrix.rows);
  const int block_cols = in.integer("the number of block columns", 0, matrix.cols);
  const std::vector<int> rows = read_partition(in, block_rows, matrix.rows);
  const std::vector<int> cols = read_partition(in, block_cols, matrix.cols);
  const int pointers = in.integer("the number of row pointers", 0, kLargest);
  const int indices = in.integer("the number of column indices", blocks, kLargest);
  in.require_room("the row pointers", static_cast<std::size_t>(pointers));
  std::vector<int> pointer;
  pointer.reserve(static_cast<std::size_t>(pointers));
  for (int k = 0; k < pointers; ++k)
    pointer.push_back(in.integer("a row pointer", pointer.empty() ? 0 : pointer.back(), indices));
  if (pointers > block_rows + 1) in.fail(fmt::format("{} row pointers for {} block rows", pointers, block_rows));
  in.require_room("the column indices", static_cast<std::size_t>(indices));
  std::vector<int> column;
  column.reserve(static_cast<std::size_t>(indices));
  for (int k = 0; k < indices; ++k) column.push_back(in.integer("a column index", 0, std::max(0, block_cols - 1)));
  int i = 0;
  for (int k = 0; k < blocks; ++k) {
    in.integer("the index of a block", k, k);
    while (i + 1 < pointers && pointer[i + 1] <= k) ++i;
    if (i >= block_rows || i + 1 >= pointers) in.fail(fmt::format("block {} belongs to no block row", k));
    for (int c = cols[column[k]]; c < cols[column[k] + 1]; ++c) {
      for (int r = rows[i]; r < rows[i + 1]; ++r) {
        const double value = in.number("an entry of a block");
        if (value != 0.0) matrix.entries.push_back({r, c, value});
      }
    }
  }
}

Matrix read_matrix(Numbers& in) {
  const int type = in.integer("the type of a matrix (0 dense, 1 blocks)", 0, 1);
  Matrix matrix;
  matrix.rows = in.integer("the number of rows", 0, kLargest);
  matrix.cols = in.integer("the number of columns", 0, kLargest);
  type == 0 ? read_dense(in, matrix) : read_blocks(in, matrix);
  return matrix;
}

}  // namespace

RecordedProblem parse_siconos_text(std::string_view text, const std::string& name) {
  Numbers in(text, name);
  if (in.integer("the dimension", 2, 3) != 3) in.fail("the problem is two-dimensional, only 3 is supported");
  const int contacts = in.integer("the number of contacts", 0, kLargest);
  const auto rows = 3 * static_cast<std::size_t>(contacts), mus = static_cast<std::size_t>(contacts);
  RecordedProblem recorded;
  Matrix first = read_matrix(in);
  const double n = first.rows, m = static_cast<double>(rows);
  const bool global = first.rows != 3LL * contacts || in.next_are({0, n, m, n, m}) || in.next_are({1, n, m});
  if (global) {
    fclib::Global data;
    data.M = std::move(first);
    data.H = read_matrix(in);
    data.f = in.numbers("f", static_cast<std::size_t>(data.M.rows));
    data.w = in.numbers("w", rows);
    data.mu = in.numbers("mu", mus);
    recorded.problem = fclib::assemble(data, name, recorded.dof);
  } else {
    fclib::Local data;
    data.W = std::move(first);
    data.q = in.numbers("q", rows);
    data.mu = in.numbers("mu", mus);
    recorded.problem = fclib::assemble(data, name);
  }
  return recorded;
}

}  // namespace touchstone
