#include "console.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include <fmt/core.h>

#include "touchstone/base/printable.hpp"

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

// Bytes of the escape sequence at the start of the text, if it is one that styled() writes; otherwise 0.
std::size_t length_of_own_escape(std::string_view text) {
  constexpr std::string_view kOff = "\x1b[0m";
  if (text.starts_with(kOff)) return kOff.size();
  for (const Style style : {Style::kBold, Style::kDim, Style::kGood, Style::kBad, Style::kWarning, Style::kAccent}) {
    const std::string own = fmt::format("\x1b[{}m", escape_code(style));
    if (text.starts_with(own)) return own.size();
  }
  return 0;
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
  if (style == Style::kPlain || text.empty() || !color_enabled()) return printable(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", escape_code(style), printable(text));
}

std::string safe_text(std::string_view text) {
  std::string out;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t escape = color_enabled() ? text.find('\x1b', start) : std::string_view::npos;
    out += printable_lines(text.substr(start, escape - start));
    if (escape == std::string_view::npos) break;
    const std::size_t size = length_of_own_escape(text.substr(escape));
    out += size > 0 ? std::string(text.substr(escape, size)) : printable(text.substr(escape, 1));
    start = escape + std::max<std::size_t>(1, size);
  }
  return out;
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

void Table::add_row(std::vector<std::string> cells) {
  for (std::string& cell : cells) {
    cell = safe_text(cell);
    for (std::size_t at = cell.find('\n'); at != std::string::npos; at = cell.find('\n')) cell.replace(at, 1, "\\n");
  }
  rows_.push_back(std::move(cells));
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

void print(std::string_view text) { fmt::print("{}", safe_text(text)); }

void print_note(std::string_view text) { fmt::print(stderr, "{}", printable_lines(text)); }

std::string written_text(std::string_view what, const std::filesystem::path& file, std::string_view more) {
  std::error_code problem;
  std::string size;
  if (std::filesystem::is_regular_file(file, problem)) {
    const auto bytes = std::filesystem::file_size(file, problem);
    if (!problem) size = fmt::format("{:.2f} MB", 1e-6 * static_cast<double>(bytes));
  }
  const std::string details = fmt::format("{}{}{}", more, more.empty() || size.empty() ? "" : ", ", size);
  return fmt::format("{}: {}{}\n", what, printable(file.string()), details.empty() ? "" : " (" + details + ")");
}

}  // namespace touchstone::cli
