// Chains and ladders of any length.
#pragma once

#include <vector>

#include "touchstone/model/model.hpp"

namespace touchstone::test {

// A chain of hinges about two axes in turn.
ModelPtr chain(int links);

// Rails and rungs that hang from the world, a loop for each rung.
ModelPtr ladder(int rungs, bool with_loops = true);

// The slope of log y over log x, by least squares.
double log_slope(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace touchstone::test
