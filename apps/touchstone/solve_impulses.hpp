// The answers themselves, for --impulses: one entry a row of the problem, with the block and component it belongs to.
#pragma once

#include <string>

#include "solve_run.hpp"

namespace touchstone::cli {

// Throws Error, which names --impulses, unless the file ends in .json or .csv.
void check_impulses_file(const std::string& file);

// The text of the file, by the ending of its name. Results without an answer are left out of the CSV and have null in
// the JSON.
std::string impulses_text(const std::string& file, const SolveResults& results);

}  // namespace touchstone::cli
