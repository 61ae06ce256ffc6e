#include "touchstone/viewer/packing.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "touchstone/base/check.hpp"

namespace touchstone::viewer {
namespace {

static_assert(std::endian::native == std::endian::little, "packed arrays are little endian");

using Bytes = std::vector<std::uint8_t>;

template <typename Word>
Bytes byte_planes(const std::vector<Word>& words) {
  const std::size_t count = words.size();
  Bytes planes(count * sizeof(Word));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < sizeof(Word); ++b) {
      planes[b * count + i] = static_cast<std::uint8_t>(words[i] >> (8 * b));
    }
  }
  return planes;
}

Bytes deflated(const Bytes& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  Bytes out(size);
  const int status = compress2(out.data(), &size, bytes.data(), static_cast<uLong>(bytes.size()), Z_BEST_COMPRESSION);
  TOUCHSTONE_CHECK(status == Z_OK, "zlib answers {}", status);
  out.resize(size);
  return out;
}

template <typename Word, typename Value>
Packed pack_words(std::string_view type, std::span<const Value> values, std::size_t columns, Delta delta) {
  static_assert(sizeof(Word) == sizeof(Value) && std::is_unsigned_v<Word>);
  TOUCHSTONE_CHECK(columns > 0 && values.size() % columns == 0, "{} values are no rows of {}", values.size(), columns);
  std::vector<Word> words(values.size());
  if (!values.empty()) std::memcpy(words.data(), values.data(), values.size_bytes());
  if (delta == Delta::kRows) {
    for (std::size_t i = words.size(); i-- > columns;) words[i] = static_cast<Word>(words[i] - words[i - columns]);
  }
  return {type, values.size(), columns, delta == Delta::kRows, base64(deflated(byte_planes(words)))};
}

}  // namespace

Packed pack(std::span<const std::int16_t> values, std::size_t columns, Delta delta) {
  return pack_words<std::uint16_t>("i16", values, columns, delta);
}
Packed pack(std::span<const std::uint16_t> values, std::size_t columns, Delta delta) {
  return pack_words<std::uint16_t>("u16", values, columns, delta);
}
Packed pack(std::span<const std::int32_t> values, std::size_t columns, Delta delta) {
  return pack_words<std::uint32_t>("i32", values, columns, delta);
}
Packed pack(std::span<const std::uint32_t> values, std::size_t columns, Delta delta) {
  return pack_words<std::uint32_t>("u32", values, columns, delta);
}
Packed pack(std::span<const float> values, std::size_t columns) {
  return pack_words<std::uint32_t>("f32", values, columns, Delta::kNo);
}
Packed pack(std::span<const double> values, std::size_t columns) {
  return pack_words<std::uint64_t>("f64", values, columns, Delta::kNo);
}

float rounded_for_packing(double value) {
  constexpr std::uint32_t kDropped = 11;  // bits of the 23 of the mantissa
  const auto plain = static_cast<float>(value);
  if (!std::isfinite(plain)) return plain;
  const auto bits = std::bit_cast<std::uint32_t>(plain) + (1U << (kDropped - 1));
  const auto rounded = std::bit_cast<float>(bits & ~((1U << kDropped) - 1U));
  return std::isfinite(rounded) ? rounded : plain;
}

std::int32_t quantized(double value, double quantum) {
  constexpr double kLargest = std::numeric_limits<std::int32_t>::max();
  const double scaled = std::round(value / quantum);
  return std::isnan(scaled) ? 0 : static_cast<std::int32_t>(std::clamp(scaled, -kLargest, kLargest));
}

std::int16_t quantized_unit(double value) {
  constexpr double kLargest = std::numeric_limits<std::int16_t>::max();
  const double scaled = std::round(value * kLargest);
  return static_cast<std::int16_t>(std::isnan(scaled) ? 0.0 : std::clamp(scaled, -kLargest, kLargest));
}

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t rest = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) word = word << 8 | (k < rest ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= rest ? kDigits[word >> (18 - 6 * k) & 63U] : '=';
  }
  return text;
}

}  // namespace touchstone::viewer
