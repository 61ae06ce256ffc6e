// Scene files: YAML that says what to simulate and how. docs/scene-files.md describes them.
//
//   model: quadruped:flat
//   time_step: 0.001
//   pushes:
//     - {body: trunk, force: [0, 30, 0], from: 1, until: 1.2}
//
// Models are files (relative to the scene file) or scenes of the library; several may share a world. Keys that are not
// known are errors that name file, line, key and the nearest valid ones.
#pragma once

#include <filesystem>
#include <string>

#include "touchstone/io/load_options.hpp"
#include "touchstone/scenes/scene.hpp"

namespace touchstone {

// By its extension: .yaml or .yml.
bool is_scene_file(const std::filesystem::path& file);

// Throws InputError with file, line, key, value and remedy. `options` are for the models that it names.
Scene load_scene_file(const std::filesystem::path& file, const LoadOptions& options = {});

// The same from memory; `name` stands for the file in messages, and models are relative to its folder.
Scene load_scene_text(const std::string& yaml, const std::string& name = "<string>", const LoadOptions& options = {});

}  // namespace touchstone
