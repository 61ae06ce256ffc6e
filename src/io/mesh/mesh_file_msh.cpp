// MuJoCo's legacy binary format MSH, https://mujoco.readthedocs.io/en/stable/XMLreference.html#asset-mesh
#include <cmath>
#include <cstdint>

#include "touchstone/io/mesh/mesh_file_parts.hpp"

namespace touchstone {
namespace {

[[noreturn]] void fail(const std::string& name, const std::string& message) {
  throw InputError({.where = {name, 0, ""}, .message = message, .remedy = "write the file again, or as OBJ"});
}

struct Header {
  std::int32_t vertices, normals, texture_coordinates, faces;

  // In 64 bits, for the counts come from outside.
  std::uint64_t file_size() const {
    return sizeof(Header) + 12 * (std::uint64_t(vertices) + std::uint64_t(normals) + std::uint64_t(faces)) +
           8 * std::uint64_t(texture_coordinates);
  }
};

Header read_header(std::string_view bytes, const std::string& name) {
  if (bytes.size() < sizeof(Header)) {
    fail(name, fmt::format("{} bytes are too few for the header of an MSH file", bytes.size()));
  }
  const auto header = load<Header>(bytes, 0);
  const auto matches = [&](std::int32_t count) { return count == 0 || count == header.vertices; };
  if (header.vertices < 1 || header.faces < 0 || !matches(header.normals) || !matches(header.texture_coordinates)) {
    fail(name, fmt::format("the MSH header announces {} vertices, {} normals, {} texture coordinates, {} faces",
                           header.vertices, header.normals, header.texture_coordinates, header.faces));
  }
  if (header.file_size() != bytes.size()) {
    fail(name, fmt::format("the MSH header asks for {} bytes, the file has {}", header.file_size(), bytes.size()));
  }
  return header;
}

}  // namespace

MeshFile parse_msh(std::string_view bytes, const std::string& name) {
  const Header header = read_header(bytes, name);
  MeshFile file = named_mesh_file(name);
  std::size_t offset = sizeof(Header);
  file.mesh.vertices.reserve(static_cast<std::size_t>(header.vertices));
  for (int i = 0; i < header.vertices; ++i, offset += 12) {
    const Vector3 v(load<float>(bytes, offset), load<float>(bytes, offset + 4), load<float>(bytes, offset + 8));
    if (!v.allFinite()) fail(name, fmt::format("vertex {} is ({}, {}, {})", i, v.x(), v.y(), v.z()));
    file.mesh.vertices.push_back(v);
  }
  offset += 12 * static_cast<std::size_t>(header.normals) + 8 * static_cast<std::size_t>(header.texture_coordinates);
  file.mesh.triangles.reserve(static_cast<std::size_t>(header.faces));
  for (int i = 0; i < header.faces; ++i, offset += 12) {
    const Eigen::Vector3i t(load<std::int32_t>(bytes, offset), load<std::int32_t>(bytes, offset + 4),
                            load<std::int32_t>(bytes, offset + 8));
    if (t.minCoeff() < 0 || t.maxCoeff() >= header.vertices) {
      fail(name, fmt::format("face {} refers to the vertices {}, {}, {} of {}", i, t[0], t[1], t[2], header.vertices));
    }
    file.mesh.triangles.push_back(t);
  }
  file.first_part = file.mesh.triangles.size();
  return file;
}

}  // namespace touchstone
