// The simulator's options by name: for the command line, scene files and recordings.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "touchstone/sim/options.hpp"
#include "touchstone/solvers/options.hpp"

namespace touchstone {

// All fields but the solver and its own options. They refer to the struct.
std::vector<OptionField> list_options(SimulatorOptions& options);

// Sets "solver", a field of the simulator or an option of the chosen solver; so choose the solver first. Throws Error
// with the nearest names, or with what is allowed.
void set_option(SimulatorOptions& options, std::string_view name, std::string_view value);
void set_option(SimulatorOptions& options, std::string_view assignment);  // "name=value"

// Name and value of everything, in an order in which set_option restores the same options.
std::vector<std::pair<std::string, std::string>> option_values(const SimulatorOptions& options);

}  // namespace touchstone
