#include "touchstone/scenes/scenes.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include "touchstone/base/check.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/scenes/embedded.hpp"

namespace touchstone {
namespace {

constexpr std::array kScenes{
    Scene{"quadruped", "our quadruped robot, 12 kg: a free trunk and 12 servos", "quadruped/quadruped.xml"},
    Scene{"quadruped-ground", "the same above flat ground", "quadruped/scene.xml"},
    Scene{"pendulum", "a rod of 1 kg and 1 m on a hinge", "pendulum/pendulum.xml"},
    Scene{"double-pendulum", "two point masses on massless rods", "double_pendulum/double_pendulum.xml"},
};

const EmbeddedFile* find_embedded(std::string_view path) {
  const auto files = embedded_files();
  const auto found =
      std::lower_bound(files.begin(), files.end(), path,
                       [](const EmbeddedFile& file, std::string_view wanted) { return file.path < wanted; });
  return found != files.end() && found->path == path ? &*found : nullptr;
}

}  // namespace

std::span<const Scene> scenes() { return kScenes; }

const Scene* find_scene(std::string_view name) {
  const auto* const found =
      std::find_if(kScenes.begin(), kScenes.end(), [name](const Scene& scene) { return scene.name == name; });
  return found != kScenes.end() ? found : nullptr;
}

ModelPtr load_scene(std::string_view name) {
  const Scene* scene = find_scene(name);
  if (scene == nullptr) {
    std::string names;
    for (const Scene& known : kScenes) names += (names.empty() ? "" : ", ") + std::string(known.name);
    throw InputError(ErrorDetail{
        .where = {}, .message = fmt::format("unknown scene '{}'", name), .remedy = fmt::format("there are {}", names)});
  }
  const EmbeddedFile* main_file = find_embedded(scene->file);
  TOUCHSTONE_CHECK(main_file != nullptr, "models/{} is not embedded", scene->file);

  const std::filesystem::path folder = std::filesystem::path(scene->file).parent_path();
  const FileResolver resolver = [&folder](const std::string& path) -> std::optional<std::string> {
    const EmbeddedFile* file = find_embedded((folder / path).lexically_normal().generic_string());
    return file != nullptr ? std::optional<std::string>(file->text) : std::nullopt;
  };
  return load_mjcf_string(main_file->text, {}, resolver, "models/" + std::string(scene->file));
}

}  // namespace touchstone
