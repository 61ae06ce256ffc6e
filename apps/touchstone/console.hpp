// What the commands print: colours only on a terminal, columns that line up.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace touchstone::cli {

enum class Style { kPlain, kBold, kDim, kGood, kBad, kWarning, kAccent };

// Standard output is a terminal, NO_COLOR is unset or empty and TERM is not "dumb".
bool color_enabled();

// The text, made printable, in the style or without colours.
std::string styled(std::string_view text, Style style);

// Columns on a terminal that text takes: code points of UTF-8 without escape sequences.
int display_width(std::string_view text);

// Text followed by spaces up to the width; longer text stays as it is.
std::string padded(std::string_view text, int width);

// Rows of cells, each column as wide as its widest cell; trailing spaces are left out.
class Table {
 public:
  explicit Table(int indent = 2) : indent_(indent) {}
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  std::string text() const;

 private:
  int indent_;
  std::vector<std::vector<std::string>> rows_;
};

// Text of several lines in which names are made printable (base/printable.hpp). Of escape sequences only those of
// styled() pass, and only where colours are on.
std::string safe_text(std::string_view text);

// To standard output, through safe_text.
void print(std::string_view text);
// To standard error.
void print_note(std::string_view text);

// "replay: run.html (2.00 s, 1.20 MB)" and a line feed: what was written and where; the size of regular files only.
std::string written_text(std::string_view what, const std::filesystem::path& file, std::string_view more = {});

}  // namespace touchstone::cli
