// Reads mesh files: OBJ, STL (ASCII and binary), MuJoCo's MSH, DAE and whatever else assimp knows.
//
// Coordinates are those of the file; nothing is rotated or recentred. In particular the up_axis of a DAE file and the
// y-up convention of glTF are ignored, as ROS and Pinocchio (coal) do: a URDF places the mesh as it was drawn. The
// unit of a DAE file is honoured (a unit of 0.001 makes metres of millimetres), which coal does not.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/geometry/shape.hpp"

namespace touchstone {

struct MeshFile {
  TriangleMesh mesh;           // all parts in one, in file units; node transforms applied
  std::size_t first_part = 0;  // triangles of the first OBJ object or group; MuJoCo drops the rest
  bool has_color = false;
  Eigen::Vector4d color{0.7, 0.7, 0.7, 1.0};  // of the first material, if the file has one
};

// ".obj" for "Hand.OBJ".
std::string lower_extension(const std::filesystem::path& file);

// Throws Error naming the file and what is wrong with it.
MeshFile read_mesh_file(const std::filesystem::path& file);

// The same from memory; `name` is the file's name for messages and for the mesh.
//
// OBJ: vertices in file order, unused ones too. Quads are cut along their shorter diagonal (as tinyobj and thus MuJoCo
// do), larger faces into a fan or, if that would leave the face, by cutting ears. All objects and groups are read. No
// faces at all is a point cloud.
MeshFile parse_obj(std::string_view text, const std::string& name);
// STL repeats each vertex in every triangle: equal ones are merged.
MeshFile parse_stl(std::string_view bytes, const std::string& name);
// MuJoCo's binary format: counts of vertices, normals, texture coordinates and faces (int32), then the arrays.
MeshFile parse_msh(std::string_view bytes, const std::string& name);

}  // namespace touchstone
