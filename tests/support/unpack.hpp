// Reads the packed arrays of the viewer's documents back, for tests.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

namespace touchstone::test {

inline std::vector<std::uint8_t> from_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes;
  std::uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t digit = digits.find(c);
    if (digit == std::string::npos) throw std::runtime_error("not base64");
    word = word << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<std::uint8_t>(word >> bits));
    }
  }
  return bytes;
}

// `Value` must be of the size of the stored type; a signed or unsigned integer for those.
template <typename Value, typename Json>
std::vector<Value> unpack(const Json& packed) {
  const auto count = packed["count"].template get<std::size_t>();
  const auto columns = packed["columns"].template get<std::size_t>();
  const std::vector<std::uint8_t> deflated = from_base64(packed["data"].template get<std::string>());
  std::vector<std::uint8_t> planes(count * sizeof(Value) + 1);
  uLongf size = planes.size();
  if (uncompress(planes.data(), &size, deflated.data(), deflated.size()) != Z_OK || size != count * sizeof(Value)) {
    throw std::runtime_error("the packed bytes do not fit the count");
  }
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < sizeof(Value); ++b) bytes[i * sizeof(Value) + b] = planes[b * count + i];
  }
  std::vector<Value> values(count);
  if (count > 0) std::memcpy(values.data(), bytes.data(), size);
  if constexpr (std::is_integral_v<Value>) {
    using Word = std::uint64_t;  // sums wrap around
    if (packed["delta"].template get<bool>()) {
      for (std::size_t i = columns; i < count; ++i) {
        values[i] = static_cast<Value>(static_cast<Word>(values[i]) + static_cast<Word>(values[i - columns]));
      }
    }
  }
  return values;
}

}  // namespace touchstone::test
