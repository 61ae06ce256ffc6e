#include "console.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/core.h>

namespace touchstone::cli {
namespace {

// Wider cells do not push the following columns to the right of everyone else.
constexpr int kWidestColumn = 60;

std::string_view escape_code(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "1";
    case Style::kDim:
      return "2";
    case Style::kGood:
      return "32";
    case Style::kBad:
      return "1;31";
    case Style::kWarning:
      return "33";
    case Style::kAccent:
      return "36";
  }
  return "";
}

bool environment_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

bool color_enabled() {
  static const bool enabled = [] {
    const char* terminal = std::getenv("TERM");
    return isatty(STDOUT_FILENO) == 1 && !environment_set("NO_COLOR") &&
           !(terminal != nullptr && std::string_view(terminal) == "dumb");
  }();
  return enabled;
}

std::string styled(std::string_view text, Style style) {
  if (style == Style::kPlain || text.empty() || !color_enabled()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", escape_code(style), text);
}

int display_width(std::string_view text) {
  int width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size() - 1);
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) {  // not a continuation byte
      ++width;
    }
  }
  return width;
}

std::string padded(std::string_view text, int width) {
  const int missing = width - display_width(text);
  return std::string(text) + std::string(static_cast<std::size_t>(std::max(0, missing)), ' ');
}

std::string Table::text() const {
  std::vector<int> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c < row.size(); ++c) {
      const int width = display_width(row[c]);
      if (width <= kWidestColumn) widths[c] = std::max(widths[c], width);
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line(static_cast<std::size_t>(indent_), ' ');
    for (std::size_t c = 0; c < row.size(); ++c) line += padded(row[c], widths[c]) + "  ";
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

void print(std::string_view text) { fmt::print("{}", text); }

}  // namespace touchstone::cli
