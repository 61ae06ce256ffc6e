// STL: binary (80 bytes of header, a count, 50 bytes for each triangle) or ASCII.
#include <bit>
#include <cmath>
#include <cstdint>

#include "touchstone/geometry/mesh.hpp"
#include "touchstone/io/mesh/mesh_file_parts.hpp"

namespace touchstone {
namespace {

static_assert(std::endian::native == std::endian::little, "binary mesh files are little-endian");

constexpr std::size_t kHeaderSize = 84;    // 80 bytes of anything, uint32 count
constexpr std::size_t kTriangleSize = 50;  // normal and three corners (float), uint16 attributes

[[noreturn]] void fail(const std::string& name, const std::string& message, const std::string& remedy) {
  throw InputError({.where = {name, 0, ""}, .message = message, .remedy = remedy});
}

std::size_t binary_size(std::string_view bytes) {
  return kHeaderSize + kTriangleSize * std::size_t{load<std::uint32_t>(bytes, kHeaderSize - 4)};
}

// Binary files may begin with "solid", too: first see whether the size fits the count.
bool is_ascii(std::string_view bytes) {
  if (bytes.size() >= kHeaderSize && binary_size(bytes) == bytes.size()) return false;
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (bytes.substr(first, 5) == "solid" || bytes.substr(first, 5) == "SOLID");
}

void add_triangle(TriangleMesh& mesh) {
  const int end = static_cast<int>(mesh.vertices.size());
  mesh.triangles.emplace_back(end - 3, end - 2, end - 1);
}

void read_binary(std::string_view bytes, const std::string& name, TriangleMesh& mesh) {
  constexpr std::uint32_t kMostTriangles = 500'000'000;  // three vertices each must fit an int
  if (bytes.size() < kHeaderSize) {
    fail(name, fmt::format("{} bytes are too few for an STL file", bytes.size()), "export it again");
  }
  const auto count = load<std::uint32_t>(bytes, kHeaderSize - 4);
  if (binary_size(bytes) > bytes.size() || count > kMostTriangles) {
    fail(name,
         fmt::format("binary STL announces {} triangles at byte 80 but holds {}", count,
                     (bytes.size() - kHeaderSize) / kTriangleSize),
         "the file is cut off, or not STL; copy or export it again");
  }
  mesh.vertices.reserve(3 * std::size_t{count});
  mesh.triangles.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t corner = 0; corner < 3; ++corner) {
      const std::size_t offset = kHeaderSize + kTriangleSize * i + 12 * (corner + 1);
      const Vector3 v(load<float>(bytes, offset), load<float>(bytes, offset + 4), load<float>(bytes, offset + 8));
      if (!v.allFinite()) {
        fail(name, fmt::format("triangle {} at byte {} has the corner ({}, {}, {})", i, offset, v.x(), v.y(), v.z()),
             "corners must be finite; export the file again");
      }
      mesh.vertices.push_back(v);
    }
    add_triangle(mesh);
  }
}

// Keywords may be written in capitals.
std::string lower(std::string_view word) {
  std::string result(word.substr(0, 16));
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

void read_ascii(std::string_view bytes, const std::string& name, TriangleMesh& mesh) {
  MeshText text(bytes, name);
  int corners = 0;
  bool in_loop = false;
  while (text.next_line()) {
    const std::string keyword = lower(text.word());
    if (keyword == "vertex") {
      const double x = text.number("x"), y = text.number("y"), z = text.number("z");
      if (!in_loop || ++corners > 3) text.fail("vertex outside a loop of three", "STL knows triangles only");
      mesh.vertices.emplace_back(x, y, z);
    } else if (keyword == "outer") {
      if (in_loop) text.fail("'outer loop' inside a loop", "end the first one with 'endloop'");
      in_loop = true;
      corners = 0;
    } else if (keyword == "endloop") {
      if (!in_loop || corners != 3) text.fail(fmt::format("loop has {} vertices", corners), "it needs three");
      in_loop = false;
      add_triangle(mesh);
    } else if (!keyword.empty() && keyword != "facet" && keyword != "endfacet" && keyword != "solid" &&
               keyword != "endsolid") {
      text.fail(fmt::format("'{}' is not a word of ASCII STL", keyword), "the file is damaged; export it again");
    }
  }
  if (in_loop) text.fail("the file ends inside a loop", "it is cut off; copy or export it again");
}

}  // namespace

MeshFile parse_stl(std::string_view bytes, const std::string& name) {
  MeshFile file = named_mesh_file(name);
  if (is_ascii(bytes)) {
    read_ascii(bytes, name, file.mesh);
  } else {
    read_binary(bytes, name, file.mesh);
  }
  if (file.mesh.triangles.empty()) fail(name, "no triangles in this STL file", "export it again");
  merge_vertices(file.mesh);
  if (file.mesh.triangles.empty()) fail(name, "all triangles are degenerate", "check the scale of the export");
  file.first_part = file.mesh.triangles.size();
  return file;
}

}  // namespace touchstone
