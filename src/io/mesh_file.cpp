#include "touchstone/io/mesh_file.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>

#include "touchstone/io/mesh_file_parts.hpp"

namespace touchstone {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& message, const std::string& remedy) {
  throw InputError({.where = {path.string(), 0, ""}, .message = message, .remedy = remedy});
}

std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? std::streamoff(stream.tellg()) : -1;
  if (size < 0) fail(path, "cannot open the file", "check its permissions");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  stream.seekg(0);
  if (!stream.read(bytes.data(), size)) fail(path, "cannot read the file", "check the disk");
  return bytes;
}

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
  if (!std::filesystem::is_regular_file(path, error)) {
    fail(path, "no such mesh file", "check the path and the mesh folder of the model");
  }
  const std::string extension = lower_extension(path);
  if (extension == ".obj") return read_obj(path);
  if (extension == ".stl") return parse_stl(read_bytes(path), path.string());
  if (extension == ".msh") return parse_msh(read_bytes(path), path.string());
  return read_with_assimp(path);
}

}  // namespace touchstone
