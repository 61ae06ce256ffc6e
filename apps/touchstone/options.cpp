#include "options.hpp"

#include <filesystem>

#include "touchstone/base/error.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/scenes/scenes.hpp"

namespace touchstone::cli {

void add_model_options(CLI::App& command, ModelOptions& options) {
  command.add_option("MODEL", options.model, "An MJCF or URDF file, or the name of an embedded scene")->required();
  command
      .add_option("--search-path", options.search_paths,
                  "Further folder for meshes, includes and ROS packages; may be repeated")
      ->option_text("DIR")
      ->check(CLI::ExistingDirectory)
      ->allow_extra_args(false);
  command.add_flag("--floating-base", options.floating_base, "URDF: the root link moves freely");
  command.add_flag("--keep-fixed", options.keep_fixed, "URDF: keep links behind fixed joints as bodies");
  command.add_flag("--allow-ignored", options.allow_ignored,
                   "Load although something that changes the physics must be dropped");
  command
      .add_option("--meshes", options.meshes,
                  "Meshes collide as their convex hull, as triangles, or as the pieces made by 'touchstone decompose'")
      ->check(CLI::IsMember({"hull", "triangles", "pieces"}))
      ->option_text("hull|triangles|pieces [hull]");
}

ModelPtr load(const ModelOptions& options) {
  LoadOptions load_options;
  load_options.allow_ignored = options.allow_ignored;
  if (options.meshes == "triangles") load_options.mesh_collision = MeshCollision::kTriangles;
  if (options.meshes == "pieces") load_options.mesh_collision = MeshCollision::kPieces;
  load_options.floating_base = options.floating_base;
  load_options.merge_fixed = !options.keep_fixed;
  load_options.search_paths.assign(options.search_paths.begin(), options.search_paths.end());

  const std::filesystem::path file(options.model);
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) return load_model(file, load_options);
  if (find_scene(options.model) != nullptr) return load_scene(options.model);
  throw InputError(ErrorDetail{.where = {},
                               .message = fmt::format("'{}' is neither a file nor a scene", options.model),
                               .remedy = "'touchstone scenes' lists the scenes"});
}

}  // namespace touchstone::cli
