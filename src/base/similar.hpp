// Guesses what a user meant who mistyped a name.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace touchstone {

// Number of single-character edits between two words.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Up to `most` candidates, the nearest first, ties in their order.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& candidates,
                                       std::size_t most = 3);

// "did you mean 'a', 'b' or 'c'?"; empty without candidates.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates, std::size_t most = 3);

}  // namespace touchstone
