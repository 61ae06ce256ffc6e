#include "touchstone/io/mesh_file.hpp"

#include <algorithm>
#include <cctype>

#include "touchstone/base/input_file.hpp"
#include "touchstone/io/mesh/mesh_file_parts.hpp"

namespace touchstone {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& message, const std::string& remedy) {
  throw InputError({.where = {path.string(), 0, ""}, .message = message, .remedy = remedy});
}

std::string read_bytes(const std::filesystem::path& path) { return read_file(path, file_kind::kMesh); }

}  // namespace

std::string lower_extension(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

namespace {

MeshFile read_obj(const std::filesystem::path& path) {
  ObjMaterial material;
  MeshFile file = parse_obj(read_bytes(path), path.string(), material);
  const std::filesystem::path library = path.parent_path() / material.library;
  std::error_code error;
  // The colour is a nicety: a missing library is no error.
  if (!material.library.empty() && std::filesystem::is_regular_file(library, error)) {
    parse_mtl(read_bytes(library), library.string(), material.name, file);
  }
  return file;
}

}  // namespace

MeshFile named_mesh_file(const std::string& name) {
  MeshFile file;
  file.mesh.name = std::filesystem::path(name).stem().string();
  file.mesh.file = name;
  return file;
}

MeshFile read_mesh_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    fail(path, "no such mesh file", "check the path and the mesh folder of the model");
  }
  require_readable(path, file_kind::kMesh);
  const std::string extension = lower_extension(path);
  if (extension == ".obj") return read_obj(path);
  if (extension == ".stl") return parse_stl(read_bytes(path), path.string());
  if (extension == ".msh") return parse_msh(read_bytes(path), path.string());
  return read_with_assimp(path);
}

}  // namespace touchstone
