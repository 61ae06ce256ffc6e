// Meshes from any bytes: an Error or a mesh whose triangles refer to its vertices. The first byte chooses the format.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "touchstone/base/error.hpp"
#include "touchstone/io/mesh_file.hpp"

namespace {

touchstone::MeshFile parse(std::uint8_t format, std::string_view bytes) {
  switch (format % 3) {
    case 0:
      return touchstone::parse_obj(bytes, "fuzz.obj");
    case 1:
      return touchstone::parse_stl(bytes, "fuzz.stl");
    default:
      return touchstone::parse_msh(bytes, "fuzz.msh");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    const touchstone::TriangleMesh mesh = parse(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1}).mesh;
    const int count = static_cast<int>(mesh.vertices.size());
    for (const touchstone::Vector3& vertex : mesh.vertices) {
      if (!vertex.allFinite()) std::abort();
    }
    for (const Eigen::Vector3i& triangle : mesh.triangles) {
      if (triangle.minCoeff() < 0 || triangle.maxCoeff() >= count) std::abort();
    }
  } catch (const touchstone::Error&) {
  }
  return 0;
}
