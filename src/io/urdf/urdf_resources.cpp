#include "touchstone/io/urdf/urdf_resources.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <fmt/format.h>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> paths_of_variable(const char* variable, const char* below = "") {
  std::vector<fs::path> paths;
  const char* value = std::getenv(variable);
  std::string_view rest = value ? value : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) paths.push_back(fs::path(rest.substr(0, end)) / below);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return paths;
}

void append(std::vector<fs::path>& list, const std::vector<fs::path>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// "%20" is a blank in URIs; exporters on Windows write backslashes.
std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high >= 0 && low >= 0 && (high | low) != 0) {
        result.push_back(static_cast<char>(16 * high + low));
        i += 2;
        continue;
      }
    }
    result.push_back(text[i] == '\\' ? '/' : text[i]);
  }
  return result;
}

struct Uri {
  std::string scheme;  // empty for a plain path
  std::string path;
};

Uri split(std::string_view uri) {
  const std::size_t colon = uri.find("://");
  if (colon == std::string_view::npos) return {{}, decoded(uri)};
  std::string scheme(uri.substr(0, colon));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return {scheme, decoded(uri.substr(colon + 3))};
}

std::string without_leading_slashes(const std::string& path) {
  return path.substr(std::min(path.find_first_not_of('/'), path.size()));
}

// The last folder of a path, also when it ends with a slash.
fs::path folder_name(const fs::path& path) {
  return path.has_filename() ? path.filename() : path.parent_path().filename();
}

// NAME/REST below the folder, or REST in it if it is itself the package.
void add_package_candidates(const fs::path& folder, const std::string& name_and_rest, std::vector<fs::path>& out) {
  out.push_back(folder / name_and_rest);
  const std::size_t slash = name_and_rest.find('/');
  if (slash == std::string::npos || folder_name(folder) != name_and_rest.substr(0, slash)) return;
  out.push_back(folder / without_leading_slashes(name_and_rest.substr(slash)));
}

TriangleMesh scaled(const TriangleMesh& mesh, const Vector3& scale) {
  TriangleMesh result = mesh;
  for (Vector3& vertex : result.vertices) {
    vertex = vertex.cwiseProduct(scale);
    if (!vertex.allFinite()) throw Error("{}: the scale makes a vertex infinite", mesh.file);
  }
  // A mirror image turns the triangles inside out.
  if (scale.prod() < 0.0) {
    for (Eigen::Vector3i& triangle : result.triangles) std::swap(triangle[1], triangle[2]);
  }
  return result;
}

}  // namespace

UrdfResources::UrdfResources(const fs::path& base_dir, const LoadOptions& options)
    : search_paths_(options.search_paths),
      search_paths_name_(options.names.search_paths),
      package_folders_(options.search_paths) {
  std::error_code status;
  base_dir_ = fs::absolute(base_dir.empty() ? fs::path(".") : base_dir, status).lexically_normal();
  append(package_folders_, paths_of_variable("ROS_PACKAGE_PATH"));
  append(package_folders_, paths_of_variable("AMENT_PREFIX_PATH", "share"));
  model_folders_ = package_folders_;
  append(model_folders_, paths_of_variable("GAZEBO_MODEL_PATH"));
}

std::vector<fs::path> UrdfResources::candidates(std::string_view text) const {
  const Uri uri = split(text);
  std::vector<fs::path> result;
  if (uri.scheme == "package" || uri.scheme == "model") {
    const std::string path = without_leading_slashes(uri.path);
    for (const fs::path& folder : uri.scheme == "model" ? model_folders_ : package_folders_) {
      add_package_candidates(folder, path, result);
    }
    for (fs::path folder = base_dir_;; folder = folder.parent_path()) {
      add_package_candidates(folder, path, result);
      if (folder == folder.parent_path()) break;
    }
  } else if (uri.scheme.empty() || uri.scheme == "file") {
    result.push_back(base_dir_ / uri.path);
    if (fs::path(uri.path).is_absolute()) return result;
    for (const fs::path& folder : search_paths_) result.push_back(folder / uri.path);
  }
  return result;
}

std::optional<fs::path> UrdfResources::find(std::string_view uri) const {
  for (const fs::path& path : candidates(uri)) {
    std::error_code status;
    // Pipes and devices are found too, so that reading them says what is wrong.
    if (fs::exists(path, status) && !fs::is_directory(path, status)) return path;
  }
  return std::nullopt;
}

const MeshFile& UrdfResources::file(const fs::path& path, const fs::path& key) {
  const auto found = files_.find(key);
  if (found != files_.end()) return found->second;
  return files_.emplace(key, read_mesh_file(path)).first->second;
}

UrdfResources::Mesh UrdfResources::mesh(const std::string& uri, const Vector3& scale) {
  const std::optional<fs::path> path = find(uri);
  if (!path) {
    std::string places;
    for (const fs::path& place : candidates(uri)) places += (places.empty() ? "" : ", ") + place.string();
    throw InputError(ErrorDetail{
        .where = {},
        .message = places.empty() ? fmt::format("mesh '{}': URIs of this kind are not supported", uri)
                                  : fmt::format("mesh '{}' does not exist; searched: {}", uri, places),
        .remedy = places.empty() ? "use package://, model://, file:// or a path"
                                 : fmt::format("add the folder that holds the package with {} or to ROS_PACKAGE_PATH",
                                               search_paths_name_)});
  }
  // One file may be reached by several paths. It is still read by the one given: where files are links into a
  // store, only their own names have an extension.
  std::error_code status;
  const fs::path canonical = fs::canonical(*path, status);
  const fs::path& same = status ? *path : canonical;
  const std::pair key{same, std::array<double, 3>{scale.x(), scale.y(), scale.z()}};
  const auto found = meshes_.find(key);
  if (found != meshes_.end()) return found->second;
  const MeshFile& content = file(*path, same);
  Mesh mesh{std::make_shared<const TriangleMesh>(scaled(content.mesh, scale)), content.has_color, content.color};
  return meshes_.emplace(key, std::move(mesh)).first->second;
}

}  // namespace touchstone
