// The assets of a compiled model: meshes and height fields are read when a geom asks for them, once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "touchstone/io/mjcf/mjcf_files.hpp"
#include "touchstone/io/mjcf/mjcf_principal.hpp"
#include "touchstone/io/mjcf/mjcf_spec.hpp"

namespace touchstone::mjcf {

class Assets {
 public:
  // Names must be unique within each kind.
  Assets(const ModelSpec& spec, const FileSource& files);

  struct Mesh {
    std::shared_ptr<const TriangleMesh> data;  // in the frame of the file, scaled and moved by refpos and refquat
    const MeshSpec* spec = nullptr;
  };
  // Throws InputError at `user` if there is no such asset.
  const Mesh& mesh(const std::string& name, const Origin& user);
  std::shared_ptr<const HeightField> height_field(const std::string& name, const Origin& user);
  // Mass properties of the mesh at density 1, and its principal frame.
  struct MeshMass {
    MassProperties unit;
    PrincipalFrame frame;
  };
  const MeshMass& mesh_mass(const std::string& name, const Origin& user);
  // Null if there is no such material: that is for the viewer only.
  const MaterialSpec* material(const std::string& name) const;
  std::string texture_file(const std::string& name) const;

 private:
  const FileSource& files_;
  std::unordered_map<std::string, const MeshSpec*> mesh_specs_;
  std::unordered_map<std::string, const HeightFieldSpec*> field_specs_;
  std::unordered_map<std::string, const TextureSpec*> textures_;
  std::unordered_map<std::string, const MaterialSpec*> materials_;
  std::unordered_map<std::string, Mesh> meshes_;
  std::unordered_map<std::string, MeshMass> mesh_masses_;
  std::unordered_map<std::string, std::shared_ptr<const HeightField>> fields_;
  std::map<std::string, std::shared_ptr<const TriangleMesh>> meshes_by_source_;  // copies of an attached model share
};

}  // namespace touchstone::mjcf
