// Table and page of the suite `loops`, from the figures of bench_loops.cpp.
#pragma once

#include <string>

#include "json_text.hpp"

namespace touchstone::cli {

std::string loops_summary(const Json& figures);
std::string loops_page(const Json& figures);

}  // namespace touchstone::cli
