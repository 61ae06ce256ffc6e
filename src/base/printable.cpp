#include "touchstone/base/printable.hpp"

#include <cstddef>

#include <fmt/format.h>

namespace touchstone {
namespace {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// The first code point of a text that is not empty. Overlong forms, surrogates and what lies above U+10FFFF are refused
// (RFC 3629, section 3).
CodePoint decode(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return {};
  char32_t value = first & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    value = value << 6U | (byte(i) & 0x3FU);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[size] || surrogate || value > 0x10FFFF) return {};
  return {value, size};
}

// Controls of both sets, marks and overrides of the writing direction, line and paragraph separators, byte order marks.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x200B || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x2069) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB);
}

template <typename Escape>
std::string cleaned(std::string_view text, const Escape& needs_escape) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = decode(text);
    const std::size_t bytes = c.bytes == 0 ? 1 : c.bytes;
    if (c.bytes == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if (needs_escape(c.value)) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c.value));
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return cleaned(text, is_control); }

std::string printable_lines(std::string_view text) {
  return cleaned(text, [](char32_t c) { return c != U'\n' && c != U'\t' && is_control(c); });
}

std::string valid_utf8(std::string_view text) {
  return cleaned(text, [](char32_t) { return false; });
}

std::string csv_field(std::string_view text) {
  std::string field = printable(text);
  if (field.find_first_of(",\"\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace touchstone
