#include "touchstone/io/convex_pieces.hpp"

#include <charconv>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "touchstone/base/hash.hpp"
#include "touchstone/base/input_file.hpp"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

fs::path folder_from(const char* variable) {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nobody changes the environment
  return value == nullptr ? fs::path() : fs::path(value);
}

[[noreturn]] void fail_line(const std::string& name, int line, const std::string& message) {
  throw InputError(
      ErrorDetail{.where = {name, line, {}},
                  .message = message,
                  .remedy = "a file of pieces has a line 'o NAME' and at least four lines 'v X Y Z' a piece"});
}

Vector3 parse_vertex(std::string_view text, const std::string& name, int line) {
  Vector3 vertex;
  const char *cursor = text.data(), *end = text.data() + text.size();
  for (int k = 0; k < 3; ++k) {
    while (cursor < end && (*cursor == ' ' || *cursor == '\t')) ++cursor;
    const std::from_chars_result result = std::from_chars(cursor, end, vertex[k]);
    if (result.ec != std::errc() || !std::isfinite(vertex[k])) {
      fail_line(name, line, fmt::format("'v{}' is not a vertex", text));
    }
    cursor = result.ptr;
  }
  return vertex;
}

}  // namespace

fs::path default_pieces_folder() {
  if (const fs::path cache = folder_from("TOUCHSTONE_CACHE"); !cache.empty()) return cache / "pieces";
  if (const fs::path cache = folder_from("XDG_CACHE_HOME"); !cache.empty()) return cache / "touchstone" / "pieces";
  const fs::path home = folder_from("HOME");
  return (home.empty() ? fs::temp_directory_path() : home / ".cache") / "touchstone" / "pieces";
}

fs::path pieces_file(const TriangleMesh& mesh, const fs::path& folder) {
  std::uint64_t hash = kFnvStart;
  for (const Vector3& vertex : mesh.vertices) hash = fnv1a(vertex.data(), 3 * sizeof(double), hash);
  for (const Eigen::Vector3i& triangle : mesh.triangles) hash = fnv1a(triangle.data(), 3 * sizeof(int), hash);
  return folder / fmt::format("{:016x}-{}-{}.obj", hash, mesh.vertices.size(), mesh.triangles.size());
}

ConvexPieces parse_pieces(std::string_view text, const std::string& name) {
  std::vector<TriangleMesh> pieces;
  int line_number = 0, object_line = 0;
  const auto check_last = [&] {
    if (!pieces.empty() && pieces.back().vertices.size() < 4) {
      fail_line(name, object_line,
                fmt::format("piece '{}' has {} vertices", pieces.back().name, pieces.back().vertices.size()));
    }
  };
  while (!text.empty()) {
    ++line_number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.size() < 2 || line[1] != ' ') continue;
    if (line[0] == 'o') {
      check_last();
      object_line = line_number;
      pieces.emplace_back();
      pieces.back().name = std::string(line.substr(2));
      pieces.back().file = name;
    } else if (line[0] == 'v') {
      if (pieces.empty()) fail_line(name, line_number, "a vertex before the first object");
      pieces.back().vertices.push_back(parse_vertex(line.substr(1), name, line_number));
    }
  }
  check_last();
  if (pieces.empty()) fail_line(name, 0, "no object");
  ConvexPieces result;
  for (TriangleMesh& piece : pieces) result.push_back(std::make_shared<const TriangleMesh>(std::move(piece)));
  return result;
}

std::optional<ConvexPieces> read_pieces(const TriangleMesh& mesh, const fs::path& folder) {
  const fs::path file = pieces_file(mesh, folder);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  return parse_pieces(read_file(file, file_kind::kMesh), file.string());
}

std::string to_obj(const TriangleMesh& mesh) {
  std::string text;
  for (const Vector3& v : mesh.vertices) text += fmt::format("v {} {} {}\n", v.x(), v.y(), v.z());
  for (const Eigen::Vector3i& t : mesh.triangles) text += fmt::format("f {} {} {}\n", t[0] + 1, t[1] + 1, t[2] + 1);
  return text;
}

ModelPtr with_mesh_collision(ModelPtr model, const LoadOptions& options) {
  if (options.mesh_collision == MeshCollision::kHull) return model;
  const fs::path folder = options.pieces_folder.empty() ? default_pieces_folder() : options.pieces_folder;
  auto changed = std::make_shared<Model>(*model);
  std::map<const TriangleMesh*, std::optional<ConvexPieces>> known;  // by mesh, which several shapes may share
  for (ShapeElement& element : changed->shapes) {
    Shape& shape = element.shape;
    if (shape.type != ShapeType::kMesh || element.visual_only || shape.mesh->triangles.empty()) continue;
    if (options.mesh_collision == MeshCollision::kPieces) {
      auto [found, is_new] = known.try_emplace(shape.mesh.get());
      if (is_new) found->second = read_pieces(*shape.mesh, folder);
      if (!found->second) {
        changed->warnings.push_back(
            {element.origin, fmt::format("shape '{}' collides as a convex hull: no pieces of mesh '{}' in {}; "
                                         "'touchstone decompose' makes them",
                                         element.name, shape.mesh->name, folder.string())});
        continue;
      }
      shape.pieces = *found->second;
    }
    shape.mesh_collision = options.mesh_collision;
  }
  return changed;
}

}  // namespace touchstone
