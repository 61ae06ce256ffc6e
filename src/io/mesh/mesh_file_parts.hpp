// What the readers of mesh files share. Not for other folders.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "touchstone/base/error.hpp"
#include "touchstone/io/mesh_file.hpp"

namespace touchstone {

// Words and numbers of a text, line by line. A word that begins with '#' ends its line; a backslash at the end of a
// line continues it. Returned views point into the text.
class MeshText {
 public:
  MeshText(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

  // Goes to the next line, false at the end of the text. Call it before the first line, too.
  bool next_line();
  // The next word of the line, empty at its end.
  std::string_view word();
  // The rest of the line without blanks at its ends (names may contain blanks).
  std::string_view rest();
  // The next word as a finite number; `what` names it in the message.
  double number(std::string_view what);
  bool try_number(double& value);

  int line() const { return line_; }
  [[noreturn]] void fail(const std::string& message, const std::string& remedy) const;
  [[noreturn]] void fail_at(int line, const std::string& message, const std::string& remedy) const;

 private:
  void skip_blanks();

  std::string_view text_;
  std::string name_;
  std::size_t position_ = 0;
  int line_ = 0;
};

// Reads a value of a binary file without minding alignment. The caller has checked the size.
template <typename T>
T load(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// Names the mesh after its file.
MeshFile named_mesh_file(const std::string& name);

// What an OBJ file says of its material.
struct ObjMaterial {
  std::string library;  // file, relative to the OBJ file; empty if none
  std::string name;     // of the first material in use
};
MeshFile parse_obj(std::string_view text, const std::string& name, ObjMaterial& material);
// Sets the colour from the diffuse one of the material of that name, or of the first if the name is empty.
void parse_mtl(std::string_view text, const std::string& name, const std::string& material, MeshFile& file);

// Appends the triangles of a polygon, whose corners index mesh.vertices.
void add_polygon(std::span<const int> corners, TriangleMesh& mesh);

MeshFile read_with_assimp(const std::filesystem::path& file);

}  // namespace touchstone
