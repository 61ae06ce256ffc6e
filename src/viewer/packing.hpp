// Arrays of numbers as short text inside JSON.
//
// An array is a table of `columns` numbers a row. For integers each row may be stored as its difference from the row
// before (modulo the word), which makes slow motion into small numbers. The words are split into byte planes (first all
// lowest bytes, and so on), so that bytes that hardly vary stand together, then deflated (zlib) and written in base64.
// The page undoes these steps in reverse; docs/viewer.md is the reference for both sides.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace touchstone::viewer {

struct Packed {
  std::string_view type;  // i16, u16, i32, u32, f32 or f64; little endian
  std::size_t count = 0;  // numbers in all
  std::size_t columns = 1;
  bool delta = false;
  std::string data;  // base64
};

enum class Delta { kNo, kRows };

Packed pack(std::span<const std::int16_t> values, std::size_t columns, Delta delta);
Packed pack(std::span<const std::uint16_t> values, std::size_t columns, Delta delta);
Packed pack(std::span<const std::int32_t> values, std::size_t columns, Delta delta);
Packed pack(std::span<const std::uint32_t> values, std::size_t columns, Delta delta);
Packed pack(std::span<const float> values, std::size_t columns);
Packed pack(std::span<const double> values, std::size_t columns);

// The nearest float whose mantissa ends with zeros: a relative error up to 2^-13, and bytes that deflate well.
float rounded_for_packing(double value);

// value / quantum as the nearest integer, within the range of the type; 0 for NaN.
std::int32_t quantized(double value, double quantum);
std::int16_t quantized_unit(double value);  // [-1, 1] to +-32767

std::string base64(std::span<const std::uint8_t> bytes);

}  // namespace touchstone::viewer
