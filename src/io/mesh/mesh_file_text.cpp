#include <charconv>
#include <cmath>
#include <cstdlib>

#include "touchstone/io/mesh/mesh_file_parts.hpp"

namespace touchstone {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

// Messages quote words of the file; a broken file may have very long ones.
std::string quoted(std::string_view word) {
  constexpr std::size_t kLongest = 40;
  return std::string(word.substr(0, kLongest)) + (word.size() > kLongest ? "..." : "");
}

bool to_finite(std::string_view digits, double& value) {
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  // Out of range is also a number too small for a double; strtod makes zero of that.
  if (error == std::errc::result_out_of_range) value = std::strtod(std::string(digits).c_str(), nullptr);
  return error != std::errc::invalid_argument && stop == end && std::isfinite(value);
}

}  // namespace

bool MeshText::next_line() {
  if (line_ > 0) {
    const std::size_t end = text_.find('\n', position_);
    position_ = end == std::string_view::npos ? text_.size() : end + 1;
  }
  ++line_;
  return position_ < text_.size();
}

void MeshText::skip_blanks() {
  while (position_ < text_.size()) {
    if (is_blank(text_[position_])) {
      ++position_;
    } else if (text_.substr(position_, 2) == "\\\n") {
      position_ += 2;
      ++line_;
    } else if (text_.substr(position_, 3) == "\\\r\n") {
      position_ += 3;
      ++line_;
    } else {
      return;
    }
  }
}

std::string_view MeshText::word() {
  skip_blanks();
  std::size_t end = position_;
  while (end < text_.size() && text_[end] != '\n' && !is_blank(text_[end])) ++end;
  const std::string_view result = text_.substr(position_, end - position_);
  if (result.starts_with('#')) return {};
  position_ = end;
  return result;
}

std::string_view MeshText::rest() {
  skip_blanks();
  const std::size_t end = std::min(text_.find('\n', position_), text_.size());
  std::string_view result = text_.substr(position_, end - position_);
  while (!result.empty() && is_blank(result.back())) result.remove_suffix(1);
  position_ = end;
  return result;
}

bool MeshText::try_number(double& value) { return to_finite(word(), value); }

double MeshText::number(std::string_view what) {
  const std::string_view text = word();
  if (text.empty()) fail(fmt::format("{} is missing", what), "the line may be cut off; export the file again");
  double value = 0.0;
  if (!to_finite(text, value)) {
    fail(fmt::format("{} is '{}', not a finite number", what, quoted(text)), "correct it or export the file again");
  }
  return value;
}

void MeshText::fail(const std::string& message, const std::string& remedy) const { fail_at(line_, message, remedy); }

void MeshText::fail_at(int line, const std::string& message, const std::string& remedy) const {
  throw InputError({.where = {name_, line, ""}, .message = message, .remedy = remedy});
}

}  // namespace touchstone
