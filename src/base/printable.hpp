// Text from outside (names of elements and files, words of a command line, what a file says) made fit to be shown: on a
// terminal, in HTML, JSON and CSV. The result is UTF-8 without characters that move the cursor, change colours, end a
// line or turn the direction of writing.
#pragma once

#include <string>
#include <string_view>

namespace touchstone {

// Control and invisible format characters become their escape, such as \u001b; bytes that are not UTF-8 become \xff.
// Everything else stays, so that printing twice changes nothing.
std::string printable(std::string_view text);

// The same for text of several lines: line feeds and tabs stay.
std::string printable_lines(std::string_view text);

// The same bytes, but those that are not UTF-8 written as \xff. For what must be UTF-8 and may hold anything else.
std::string valid_utf8(std::string_view text);

// printable(text) as a field of a CSV table, in quotes where it needs them.
std::string csv_field(std::string_view text);

}  // namespace touchstone
