// What a user may ask of the model loaders.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "touchstone/geometry/shape.hpp"

namespace touchstone {

// Gives the content of a file that a model refers to, for models that do not live in the file system; nullopt
// if there is none. The path is relative to the main file, with '/' between folders and without '.' or '..'
// where they can be resolved.
using FileResolver = std::function<std::optional<std::string>(const std::string& path)>;

// How the interface at hand spells these options, for the advice in errors; empty: it does not have the option.
struct LoadOptionNames {
  std::string allow_ignored = "LoadOptions::allow_ignored";
  std::string search_paths = "LoadOptions::search_paths";
  std::string max_elements = "LoadOptions::max_elements";
};

struct LoadOptions {
  // Load what is understood although something that changes the physics must be dropped; each loss is a warning.
  bool allow_ignored = false;
  // Further folders for meshes and includes; URDF: the folders that hold packages, before ROS_PACKAGE_PATH.
  std::vector<std::filesystem::path> search_paths;
  // URDF: the root link gets a free joint instead of being fixed to the world.
  bool floating_base = false;
  // URDF: links behind fixed joints become part of their parent.
  bool merge_fixed = true;
  // URDF: the file that describes loops; empty: NAME.loops.yaml beside NAME.urdf if there is one; "none": no file.
  std::filesystem::path loops;
  // How meshes that have triangles collide. kPieces: as the convex pieces of `pieces_folder` (empty: the default, see
  // convex_pieces.hpp), where it has them.
  MeshCollision mesh_collision = MeshCollision::kHull;
  std::filesystem::path pieces_folder;
  // A guard against absurd input, such as replicate count="1000000000".
  std::size_t max_elements = 1'000'000;
  LoadOptionNames names;
};

}  // namespace touchstone
