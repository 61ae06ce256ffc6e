// Loads MJCF, the format of MuJoCo, with the semantics of MuJoCo 4.0.0's compiler.
//
// What would change the physics but is not supported (spatial tendons, muscles, flexes, plugins, fluids, ...) is an
// InputError, unless LoadOptions::allow_ignored is set; then it is dropped and a warning of the model says so.
// Unknown elements and attributes are warnings. Errors name file, line, element and value.
#pragma once

#include <filesystem>
#include <string_view>

#include "touchstone/io/load_options.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

ModelPtr load_mjcf(const std::filesystem::path& file, const LoadOptions& options = {});

// The same from memory. Includes, meshes, height fields and sub-models come from `files`; without it they are
// missing. `name` stands for the file in messages.
ModelPtr load_mjcf_string(std::string_view xml, const LoadOptions& options = {}, const FileResolver& files = {},
                          const std::string& name = "<string>");

}  // namespace touchstone
