// What is to be said of a recording that is not whole.
#pragma once

#include <string>

#include "touchstone/record/recording.hpp"

namespace touchstone::cli {

// On standard error: damaged, and where; or on standard output: ended early. Nothing if it is whole.
void report_state(const Recording& recording, const std::string& file);

}  // namespace touchstone::cli
