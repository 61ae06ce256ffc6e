// Wavefront OBJ, the geometry of it: vertices and faces. Texture, normals, curves and lines are skipped.
#include <charconv>
#include <limits>

#include "touchstone/io/mesh/mesh_file_parts.hpp"

namespace touchstone {
namespace {

// The polygons of a file, before they become triangles: a face may precede its vertices.
struct Polygons {
  std::vector<int> corners;         // vertex indices from 0, polygon after polygon
  std::vector<std::size_t> starts;  // of each polygon in corners
  int largest_index = -1;
  int largest_line = 0;         // where it was seen
  std::size_t second_part = 0;  // index of the first polygon of the second object or group; 0 if there is none yet
};

// The vertex of a face corner: 7, 7/1, 7//3 or 7/1/3, counted from 1, or backwards from the last when negative.
int corner_index(const MeshText& text, std::string_view word, std::size_t vertex_count) {
  constexpr const char* kRemedy = "vertices are counted from 1, or backwards from -1";
  long long index = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, index);
  if (error != std::errc{} || (stop != end && *stop != '/')) {
    text.fail(fmt::format("'{}' is not a corner of a face", word.substr(0, 40)), "write v, v/vt, v//vn or v/vt/vn");
  }
  if (index < 0) index += static_cast<long long>(vertex_count) + 1;
  if (index <= 0 || index > std::numeric_limits<int>::max()) {
    text.fail(fmt::format("face refers to vertex '{}', {} are defined so far", word.substr(0, 40), vertex_count),
              kRemedy);
  }
  return static_cast<int>(index - 1);
}

void read_face(MeshText& text, std::size_t vertex_count, Polygons& polygons) {
  const std::size_t start = polygons.corners.size();
  for (std::string_view word = text.word(); !word.empty(); word = text.word()) {
    const int index = corner_index(text, word, vertex_count);
    polygons.corners.push_back(index);
    if (index > polygons.largest_index) {
      polygons.largest_index = index;
      polygons.largest_line = text.line();
    }
  }
  if (polygons.corners.size() - start < 3) {
    text.fail(fmt::format("face has {} corners", polygons.corners.size() - start), "a face needs at least 3");
  }
  polygons.starts.push_back(start);
}

void add_triangles(const Polygons& polygons, MeshFile& file) {
  for (std::size_t i = 0; i < polygons.starts.size(); ++i) {
    if (i > 0 && i == polygons.second_part) file.first_part = file.mesh.triangles.size();
    const std::size_t begin = polygons.starts[i];
    const std::size_t end = i + 1 < polygons.starts.size() ? polygons.starts[i + 1] : polygons.corners.size();
    add_polygon(std::span(polygons.corners).subspan(begin, end - begin), file.mesh);
  }
  if (polygons.second_part == 0 || polygons.second_part == polygons.starts.size())
    file.first_part = file.mesh.triangles.size();
}

}  // namespace

MeshFile parse_obj(std::string_view bytes, const std::string& name, ObjMaterial& material) {
  MeshFile file = named_mesh_file(name);
  std::vector<Vector3>& vertices = file.mesh.vertices;
  Polygons polygons;
  MeshText text(bytes, name);
  while (text.next_line()) {
    const std::string_view keyword = text.word();
    if (keyword == "v") {
      const double x = text.number("x"), y = text.number("y"), z = text.number("z");
      vertices.emplace_back(x, y, z);  // a weight or a colour may follow
    } else if (keyword == "f") {
      read_face(text, vertices.size(), polygons);
    } else if ((keyword == "o" || keyword == "g") && polygons.second_part == 0) {
      polygons.second_part = polygons.starts.size();
    } else if (keyword == "mtllib" && material.library.empty()) {
      material.library = text.rest();
    } else if (keyword == "usemtl" && material.name.empty()) {
      material.name = text.rest();
    }
  }
  if (vertices.empty()) text.fail_at(0, "no vertices in this OBJ file", "check that it is one and not empty");
  if (vertices.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    text.fail_at(0, fmt::format("{} vertices are too many", vertices.size()), "simplify the mesh");
  }
  if (polygons.largest_index >= static_cast<int>(vertices.size())) {
    text.fail_at(polygons.largest_line,
                 fmt::format("face refers to vertex {} of {}", polygons.largest_index + 1, vertices.size()),
                 "the file may be cut off; export it again");
  }
  add_triangles(polygons, file);
  return file;
}

MeshFile parse_obj(std::string_view text, const std::string& name) {
  ObjMaterial material;
  return parse_obj(text, name, material);
}

void parse_mtl(std::string_view bytes, const std::string& name, const std::string& material, MeshFile& file) {
  MeshText text(bytes, name);
  bool is_current = false;
  while (text.next_line()) {
    const std::string_view keyword = text.word();
    if (keyword == "newmtl") {
      if (file.has_color) return;
      is_current = material.empty() || text.rest() == material;
    } else if (is_current && keyword == "Kd") {
      // Other notations ("Kd spectral", "Kd xyz") are no reason to refuse the mesh.
      double red, green, blue;
      if (!text.try_number(red) || !text.try_number(green) || !text.try_number(blue)) continue;
      file.color.head<3>() << red, green, blue;
      file.has_color = true;
    } else if (is_current && keyword == "d") {
      double opacity;
      if (text.try_number(opacity)) file.color[3] = opacity;
    }
  }
}

}  // namespace touchstone
