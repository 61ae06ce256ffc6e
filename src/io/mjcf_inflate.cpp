#include "touchstone/io/mjcf_inflate.hpp"

#include <algorithm>
#include <array>

#include "touchstone/base/error.hpp"

namespace touchstone::mjcf {
namespace {

constexpr int kLongestCode = 15;

// A canonical Huffman code: how many codes there are of each length, and their symbols in order (RFC 1951, 3.2.2).
struct HuffmanCode {
  std::array<int, kLongestCode + 1> count{};
  std::vector<int> symbols;

  explicit HuffmanCode(const std::vector<int>& lengths) {
    for (const int length : lengths) ++count[static_cast<std::size_t>(length)];
    count[0] = 0;
    for (int length = 1; length <= kLongestCode; ++length) {
      for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
        if (lengths[symbol] == length) symbols.push_back(static_cast<int>(symbol));
      }
    }
  }
};

class Inflater {
 public:
  Inflater(std::string_view data, std::size_t limit, const std::string& file)
      : data_(data), limit_(limit), file_(file) {}

  std::vector<std::uint8_t> run() {
    at_ = 2;  // the zlib header
    bool last = false;
    while (!last) {
      last = bits(1) == 1;
      switch (bits(2)) {
        case 0:
          stored_block();
          break;
        case 1:
          compressed_block(fixed_literals(), HuffmanCode(std::vector<int>(30, 5)));
          break;
        case 2:
          dynamic_block();
          break;
        default:
          fail();
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail() const {
    throw InputError(ErrorDetail{.where = {file_, 0, {}}, .message = "the compressed data is damaged", .remedy = {}});
  }

  int bits(int count) {
    while (buffered_ < count) {
      if (at_ >= data_.size()) fail();
      buffer_ |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(data_[at_++])) << buffered_;
      buffered_ += 8;
    }
    const int value = static_cast<int>(buffer_ & ((1u << count) - 1u));
    buffer_ >>= count;
    buffered_ -= count;
    return value;
  }

  int symbol(const HuffmanCode& code) {
    int value = 0, first = 0, index = 0;
    for (std::size_t length = 1; length <= kLongestCode; ++length) {
      value |= bits(1);
      const int count = code.count[length];
      if (value - first < count) return code.symbols[static_cast<std::size_t>(index + value - first)];
      index += count;
      first = (first + count) << 1;
      value <<= 1;
    }
    fail();
  }

  void emit(std::uint8_t byte) {
    if (out_.size() >= limit_) fail();
    out_.push_back(byte);
  }

  void stored_block() {
    buffer_ = 0;
    buffered_ = 0;
    if (at_ + 4 > data_.size()) fail();
    const auto byte = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<std::uint8_t>(data_[at_ + i]));
    };
    const std::size_t length = byte(0) | byte(1) << 8;
    at_ += 4;
    if (at_ + length > data_.size()) fail();
    for (std::size_t i = 0; i < length; ++i) emit(static_cast<std::uint8_t>(data_[at_ + i]));
    at_ += length;
  }

  static HuffmanCode fixed_literals() {
    std::vector<int> lengths(288, 8);
    std::fill(lengths.begin() + 144, lengths.begin() + 256, 9);
    std::fill(lengths.begin() + 256, lengths.begin() + 280, 7);
    return HuffmanCode(lengths);
  }

  void dynamic_block() {
    static constexpr int kOrder[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const int literals = bits(5) + 257, distances = bits(5) + 1, code_lengths = bits(4) + 4;
    std::vector<int> lengths(19, 0);
    for (int i = 0; i < code_lengths; ++i) lengths[static_cast<std::size_t>(kOrder[i])] = bits(3);
    const HuffmanCode length_code(lengths);
    lengths.clear();
    const std::size_t total = static_cast<std::size_t>(literals + distances);
    while (lengths.size() < total) {
      const int s = symbol(length_code);
      if (s < 16) {
        lengths.push_back(s);
        continue;
      }
      if (s == 16 && lengths.empty()) fail();
      const int value = s == 16 ? lengths.back() : 0;
      const int repeat = s == 16 ? 3 + bits(2) : s == 17 ? 3 + bits(3) : 11 + bits(7);
      lengths.insert(lengths.end(), static_cast<std::size_t>(repeat), value);
    }
    if (lengths.size() != total) fail();
    const std::vector<int> literal_lengths(lengths.begin(), lengths.begin() + literals);
    const std::vector<int> distance_lengths(lengths.begin() + literals, lengths.end());
    compressed_block(HuffmanCode(literal_lengths), HuffmanCode(distance_lengths));
  }

  void compressed_block(const HuffmanCode& literals, const HuffmanCode& distances) {
    static constexpr int kLength[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                        31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static constexpr int kLengthBits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                            2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static constexpr int kDistance[30] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                          33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                          1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    static constexpr int kDistanceBits[30] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                              6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
    for (;;) {
      const int s = symbol(literals);
      if (s == 256) return;
      if (s < 256) {
        emit(static_cast<std::uint8_t>(s));
        continue;
      }
      if (s > 285) fail();
      const int length = kLength[s - 257] + bits(kLengthBits[s - 257]);
      const int d = symbol(distances);
      if (d > 29) fail();
      const std::size_t distance = static_cast<std::size_t>(kDistance[d] + bits(kDistanceBits[d]));
      if (distance > out_.size()) fail();
      for (int i = 0; i < length; ++i) emit(out_[out_.size() - distance]);
    }
  }

  std::string_view data_;
  std::size_t limit_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::uint32_t buffer_ = 0;
  int buffered_ = 0;
  std::vector<std::uint8_t> out_;
};

}  // namespace

std::vector<std::uint8_t> inflate_zlib(std::string_view data, std::size_t limit, const std::string& file) {
  return Inflater(data, limit, file).run();
}

}  // namespace touchstone::mjcf
