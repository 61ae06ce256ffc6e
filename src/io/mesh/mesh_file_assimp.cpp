#include <assimp/config.h>
#include <assimp/material.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>

#include <assimp/DefaultIOSystem.h>
#include <assimp/Importer.hpp>
#include <limits>

#include "touchstone/base/input_file.hpp"
#include "touchstone/geometry/mesh.hpp"
#include "touchstone/io/mesh/mesh_file_parts.hpp"

namespace touchstone {
namespace {

[[noreturn]] void fail(const std::string& name, const std::string& message, const std::string& remedy) {
  throw InputError({.where = {name, 0, ""}, .message = message, .remedy = remedy});
}

// A mesh file may name others (buffers, materials): they are looked at as it is.
class RegularFiles : public Assimp::DefaultIOSystem {
 public:
  Assimp::IOStream* Open(const char* file, const char* mode) override {
    std::error_code problem;
    const bool fit = std::filesystem::is_regular_file(file, problem) &&
                     std::filesystem::file_size(file, problem) <= file_kind::kMesh.largest && !problem;
    return fit ? DefaultIOSystem::Open(file, mode) : nullptr;
  }
};

Eigen::Matrix4d to_eigen(const aiMatrix4x4& m) {
  return Eigen::Map<const Eigen::Matrix<ai_real, 4, 4, Eigen::RowMajor>>(&m.a1).cast<double>();
}

void add_mesh(const aiMesh& part, const Eigen::Matrix4d& X, const std::string& name, TriangleMesh& mesh) {
  const std::size_t first = mesh.vertices.size();
  if (first + part.mNumVertices > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    fail(name, "too many vertices", "simplify the mesh");
  }
  for (unsigned i = 0; i < part.mNumVertices; ++i) {
    const aiVector3D& p = part.mVertices[i];
    const Vector3 v = X.topLeftCorner<3, 3>() * Vector3(p.x, p.y, p.z) + X.topRightCorner<3, 1>();
    if (!v.allFinite()) fail(name, fmt::format("vertex {} is not finite", first + i), "export the file again");
    mesh.vertices.push_back(v);
  }
  const bool mirrored = X.topLeftCorner<3, 3>().determinant() < 0.0;  // turns triangles inside out
  for (unsigned i = 0; i < part.mNumFaces; ++i) {
    const aiFace& face = part.mFaces[i];
    if (face.mNumIndices != 3) continue;  // points and lines
    const Eigen::Vector3i t(static_cast<int>(first + face.mIndices[0]),
                            static_cast<int>(first + face.mIndices[mirrored ? 2 : 1]),
                            static_cast<int>(first + face.mIndices[mirrored ? 1 : 2]));
    if (static_cast<std::size_t>(t.maxCoeff()) >= mesh.vertices.size() || t.minCoeff() < static_cast<int>(first)) {
      fail(name, fmt::format("face {} refers to a vertex that does not exist", i), "export the file again");
    }
    mesh.triangles.push_back(t);
  }
}

void add_node(const aiScene& scene, const aiNode& node, const Eigen::Matrix4d& X_parent, const std::string& name,
              TriangleMesh& mesh) {
  const Eigen::Matrix4d X = X_parent * to_eigen(node.mTransformation);
  for (unsigned i = 0; i < node.mNumMeshes; ++i) add_mesh(*scene.mMeshes[node.mMeshes[i]], X, name, mesh);
  for (unsigned i = 0; i < node.mNumChildren; ++i) add_node(scene, *node.mChildren[i], X, name, mesh);
}

void set_color(const aiScene& scene, MeshFile& file) {
  if (scene.mNumMeshes == 0 || scene.mMeshes[0]->mMaterialIndex >= scene.mNumMaterials) return;
  const aiMaterial& material = *scene.mMaterials[scene.mMeshes[0]->mMaterialIndex];
  aiString name;
  // assimp invents a material for files without one.
  if (material.Get(AI_MATKEY_NAME, name) == aiReturn_SUCCESS && name == aiString(AI_DEFAULT_MATERIAL_NAME)) return;
  aiColor4D color;
  if (material.Get(AI_MATKEY_COLOR_DIFFUSE, color) != aiReturn_SUCCESS) return;
  file.color << color.r, color.g, color.b, color.a;
  file.has_color = true;
}

// assimp gives every PLY file an unnamed grey material.
bool is_ply(const std::filesystem::path& path) { return path.extension() == ".ply" || path.extension() == ".PLY"; }

}  // namespace

MeshFile read_with_assimp(const std::filesystem::path& path) {
  const std::string name = path.string();
  Assimp::Importer importer;
  importer.SetIOHandler(new RegularFiles);  // the importer owns it
  if (!importer.IsExtensionSupported(path.extension().string())) {
    fail(name, fmt::format("'{}' is not a known kind of mesh file", path.extension().string()),
         "use OBJ, STL, MSH, DAE, glTF or PLY");
  }
  // See the header for up_axis. What remains in the root node's transform is the unit.
  importer.SetPropertyBool(AI_CONFIG_IMPORT_COLLADA_IGNORE_UP_DIRECTION, true);
  importer.SetPropertyInteger(AI_CONFIG_PP_SBP_REMOVE, aiPrimitiveType_POINT | aiPrimitiveType_LINE);
  const aiScene* scene = importer.ReadFile(name, aiProcess_Triangulate | aiProcess_SortByPType);
  if (!scene || !scene->mRootNode) fail(name, importer.GetErrorString(), "check the file in a mesh viewer");

  MeshFile file = named_mesh_file(name);
  add_node(*scene, *scene->mRootNode, Eigen::Matrix4d::Identity(), name, file.mesh);
  merge_vertices(file.mesh);  // assimp splits vertices that have several normals
  if (file.mesh.triangles.empty()) fail(name, "no triangles in this file", "export the surface, not lines or points");
  if (!is_ply(path)) set_color(*scene, file);
  file.first_part = file.mesh.triangles.size();
  return file;
}

}  // namespace touchstone
