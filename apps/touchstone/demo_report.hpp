#pragma once

#include <filesystem>

#include "free_fall.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone::cli {

// Writes the flight as one HTML file that needs nothing else: picture, certificate, plots. Throws Error if it cannot.
void write_demo_report(const std::filesystem::path& file, const Model& model, const FreeFall& flight);

}  // namespace touchstone::cli
