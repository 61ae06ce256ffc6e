// Loads a robot or scene whatever its format.
#pragma once

#include <filesystem>

#include "touchstone/io/load_options.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

// The format follows from the extension (.urdf) or, for .xml, .mjcf and anything else, from the top-level element:
// <robot> is URDF, <mujoco> is MJCF. Throws InputError with file, line, element and remedy.
ModelPtr load_model(const std::filesystem::path& file, const LoadOptions& options = {});

}  // namespace touchstone
