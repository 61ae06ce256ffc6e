// Damaged model files: the kind of text that a slip of the hand, a broken exporter or an attacker makes of a good one.
#pragma once

#include <cstdint>
#include <string>

namespace touchstone::test {

// The XML text with one to three changes: bytes flipped, elements and attributes removed, doubled or renamed, values
// swapped, emptied, or with numbers such as nan, inf, 1e308 and -1 in them. The same seed gives the same text.
std::string mutate(const std::string& xml, std::uint64_t seed);

}  // namespace touchstone::test
