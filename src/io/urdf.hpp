// Reads robots in the Unified Robot Description Format.
//
// Dynamics are those of Pinocchio: revolute and continuous joints are hinges, prismatic ones slides, floating ones
// free, planar ones two slides and a hinge whose axis is the normal of the plane (as the format says; Pinocchio
// takes z whatever the axis is). Bodies are numbered depth first, children in the order of the joints in the file.
// A mimicking joint keeps its dof and gets a joint equality. The root link is fixed to the world, or floats with a
// free joint "root_joint" (LoadOptions::floating_base) unless it is called "world".
//
// With LoadOptions::merge_fixed a link behind a fixed joint becomes part of its moving ancestor and leaves a Site
// with its name; otherwise it stays a body without joints. Collision geometry collides, visual geometry is for
// the viewer only.
//
// Loops come from a file beside it: LoadOptions::loops, or NAME.loops.yaml.
#pragma once

#include <filesystem>
#include <string_view>

#include "touchstone/io/load_options.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

// Throws InputError with file, line, element, value and remedy.
ModelPtr load_urdf(const std::filesystem::path& file, const LoadOptions& options = {});

// `base_dir` is the folder that relative mesh paths start from.
ModelPtr load_urdf_string(std::string_view xml, const std::filesystem::path& base_dir, const LoadOptions& options = {});

}  // namespace touchstone
