// Loops of a URDF robot, which the format has no words for, from a file beside it (docs/loops.md):
//
//   loops:
//     pin:
//       type: revolute
//       between: [rocker, base]   # links
//       position: [0, 0, 0.3]     # m, in the first link
//       axis: [0, 1, 0]
//   couplings:
//     gear: {joint: pinion, driver: wheel, polynomial: [0, -3]}
#pragma once

#include <filesystem>
#include <optional>

#include "touchstone/io/load_options.hpp"
#include "touchstone/model/builder.hpp"

namespace touchstone {

// The file with the loops of a URDF file: the one that the options name, or NAME.loops.yaml beside NAME.urdf if there
// is one. `urdf` may be empty: a text without a file.
std::optional<std::filesystem::path> find_urdf_loops(const std::filesystem::path& urdf, const LoadOptions& options);

// Adds them to a builder that has all links. Throws InputError with file, line, element, value and remedy.
void add_urdf_loops(const std::filesystem::path& file, ModelBuilder& builder);

}  // namespace touchstone
