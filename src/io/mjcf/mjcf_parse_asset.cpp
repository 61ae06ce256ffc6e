// Meshes, height fields, textures, materials and sub-models. Files are only located here, not read.
#include <algorithm>
#include <filesystem>

#include "touchstone/io/mjcf/mjcf_attach.hpp"
#include "touchstone/io/mjcf/mjcf_parser.hpp"
#include "touchstone/io/mjcf/mjcf_schema.hpp"

namespace touchstone::mjcf {
namespace {

namespace fs = std::filesystem;

// MJCF written on Windows uses backslashes.
std::string portable(std::string path) {
  std::replace(path.begin(), path.end(), '\\', '/');
  return path;
}

std::string stem_of(const std::string& file) { return fs::path(portable(file)).stem().string(); }

}  // namespace

std::string Parser::optional_asset_file(const XmlElement& element, const std::string& asset_folder) const {
  std::string file = portable(required_attribute<std::string>(element, "file"));
  if (compiler_->strip_path) file = fs::path(file).filename().string();
  const fs::path asset_path(portable(asset_folder));
  const fs::path folder = asset_path.is_absolute() ? asset_path : fs::path(folder_) / asset_path;
  std::optional<std::string> path = context_.files.find(folder.string(), file);
  // Else beside the included file that names it.
  if (!path && element.file) path = context_.files.find(folder_of(*element.file), file);
  return path.value_or(std::string{});
}

std::string Parser::asset_file(const XmlElement& element, const std::string& asset_folder) const {
  std::string path = optional_asset_file(element, asset_folder);
  if (path.empty()) {
    fail_attribute(element, "file", fmt::format("no such file in '{}'", (fs::path(folder_) / asset_folder).string()),
                   fmt::format("check the file, meshdir or texturedir of <compiler>, or add a folder with {}",
                               context_.options.names.search_paths));
  }
  return path;
}

void Parser::parse_asset(const XmlElement& section) {
  for (const XmlElement* child : section.children) {
    const XmlElement& element = *child;
    if (!is_known_element("asset", element.tag)) continue;
    count_element(element);
    if (element.tag == "mesh") {
      MeshSpec mesh = classes_[static_cast<std::size_t>(class_of(element, 0))].mesh;
      mesh.origin = origin(element);
      read_mesh(element, mesh);
      if (mesh.file.empty() && mesh.vertices.empty() && !mesh.refused)
        fail(element, "neither file nor vertex is given");
      if (mesh.name.empty() && !mesh.refused) fail_missing(element, "name");
      spec_.meshes.push_back(std::move(mesh));
    } else if (element.tag == "hfield") {
      read_height_field(element);
    } else if (element.tag == "material") {
      MaterialSpec material = classes_[static_cast<std::size_t>(class_of(element, 0))].material;
      material.origin = origin(element);
      read_material(element, material);
      if (material.material.name.empty()) fail_missing(element, "name");
      spec_.materials.push_back(std::move(material));
    } else if (element.tag == "texture") {
      read_texture(element);
    } else if (element.tag == "model") {
      read_sub_model(element);
    }  // skins are only seen
  }
}

void Parser::read_mesh(const XmlElement& element, MeshSpec& spec) {
  read(element, "name", spec.name);
  read(element, "content_type", spec.content_type);
  read(element, "scale", spec.scale);
  read(element, "refpos", spec.reference_position);
  read(element, "material", spec.material);
  Eigen::Vector4d quaternion;
  if (read(element, "refquat", quaternion)) {
    if (quaternion.norm() < 1e-14) fail_attribute(element, "refquat", "the quaternion is zero");
    spec.reference_rotation = Quaternion(quaternion[0], quaternion[1], quaternion[2], quaternion[3]).normalized();
  }
  static constexpr MeshInertia kInertias[] = {MeshInertia::kConvex, MeshInertia::kExact, MeshInertia::kLegacy,
                                              MeshInertia::kShell};
  const int inertia = read_keyword(element, "inertia", {"convex", "exact", "legacy", "shell"});
  if (inertia >= 0) spec.inertia = kInertias[inertia];
  if (element.has("builtin")) {
    refuse_always(element, fmt::format("a generated mesh (builtin '{}')", *element.find("builtin")),
                  "give a file or vertices");
    spec.refused = true;
  }
  if (const XmlElement* plugin = element.child("plugin")) {
    refuse_always(*plugin, "a mesh plugin", "give a file or vertices");
    spec.refused = true;
  }
  if (element.has("file")) {
    if (element.has("vertex")) fail(element, "file and vertex are both given");
    spec.file = asset_file(element, compiler_->mesh_folder);
    if (spec.name.empty()) spec.name = stem_of(*element.find("file"));
  }
  read(element, "vertex", spec.vertices);
  if (spec.vertices.size() % 3 != 0) fail_attribute(element, "vertex", "expected three numbers for each vertex");
  if (element.has("vertex") && spec.vertices.size() < 12) fail_attribute(element, "vertex", "fewer than four vertices");
  read(element, "face", spec.faces);
  if (spec.faces.size() % 3 != 0) fail_attribute(element, "face", "expected three vertices for each face");
  const int vertex_count = static_cast<int>(spec.vertices.size() / 3);
  for (const int vertex : spec.faces) {
    if (vertex < 0 || vertex >= vertex_count) {
      fail_attribute(element, "face", fmt::format("vertex {} is outside 0..{}", vertex, vertex_count - 1));
    }
  }
}

void Parser::read_height_field(const XmlElement& element) {
  constexpr long long kMostCells = 100'000'000;
  HeightFieldSpec field;
  field.origin = origin(element);
  read(element, "name", field.name);
  read(element, "content_type", field.content_type);
  read(element, "nrow", field.rows);
  read(element, "ncol", field.columns);
  field.size = required_attribute<std::array<double, 4>>(element, "size");
  for (const double size : field.size) {
    if (size <= 0.0) fail_attribute(element, "size", "all four must be positive");
  }
  if (field.rows < 0 || field.columns < 0)
    fail(element, fmt::format("nrow is {}, ncol is {}", field.rows, field.columns));
  if (static_cast<long long>(field.rows) * field.columns > kMostCells) {
    fail(element, fmt::format("nrow {} times ncol {} is more than {}", field.rows, field.columns, kMostCells));
  }
  if (element.has("file")) {
    if (field.rows != 0 || field.columns != 0) fail(element, "file and nrow or ncol are both given");
    field.file = asset_file(element, compiler_->mesh_folder);
    if (field.name.empty()) field.name = stem_of(*element.find("file"));
  } else {
    const std::size_t cells = static_cast<std::size_t>(field.rows) * static_cast<std::size_t>(field.columns);
    if (field.rows < 2 || field.columns < 2) {
      fail(element, fmt::format("nrow is {}, ncol is {}", field.rows, field.columns), "both must be at least 2");
    }
    if (read(element, "elevation", field.elevation) && field.elevation.size() != cells) {
      fail(element, fmt::format("elevation has {} numbers, nrow times ncol is {}", field.elevation.size(), cells));
    }
  }
  if (field.name.empty()) fail_missing(element, "name");
  spec_.height_fields.push_back(std::move(field));
}

void Parser::read_material(const XmlElement& element, MaterialSpec& spec) const {
  VisualMaterial& material = spec.material;
  read(element, "name", material.name);
  read(element, "texture", spec.texture);
  read(element, "rgba", material.color);
  read(element, "specular", material.specular);
  read(element, "shininess", material.shininess);
  read(element, "reflectance", material.reflectance);
  read(element, "emission", material.emission);
  for (const XmlElement* layer : element.children) {
    std::string role;
    if (layer->tag == "layer" && read(*layer, "role", role) && role == "rgb") read(*layer, "texture", spec.texture);
  }
}

// Textures are for the viewer: a missing file is a warning.
void Parser::read_texture(const XmlElement& element) {
  TextureSpec texture;
  texture.origin = origin(element);
  read(element, "name", texture.name);
  if (const std::string* file = element.find("file"); file && !file->empty()) {
    if (texture.name.empty()) texture.name = stem_of(*file);
    texture.file = optional_asset_file(element, compiler_->texture_folder);
    if (texture.file.empty()) warn(element, fmt::format("texture file '{}' does not exist", *file));
  }
  spec_.textures.push_back(std::move(texture));
}

void Parser::read_sub_model(const XmlElement& element) {
  constexpr std::size_t kMostNested = 32;
  const std::string file = portable(required_attribute<std::string>(element, "file"));
  const std::optional<std::string> path = context_.files.find(folder_, file);
  if (!path) fail_attribute(element, "file", "no such file");
  if (context_.open_models.size() >= kMostNested) {
    fail_attribute(element, "file", fmt::format("models are nested more than {} deep", kMostNested));
  }
  auto model = std::make_shared<ModelSpec>(parse_file(context_, *path, &element));
  read(element, "name", model->name);
  split_keyframes(*model);
  sub_models_[model->name] = std::move(model);
}

}  // namespace touchstone::mjcf
