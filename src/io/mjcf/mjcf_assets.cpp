#include "touchstone/io/mjcf/mjcf_assets.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "touchstone/geometry/mesh.hpp"
#include "touchstone/io/mesh_file.hpp"
#include "touchstone/io/mjcf/mjcf_png.hpp"
#include "touchstone/io/xml/xml.hpp"

namespace touchstone::mjcf {
namespace {

template <typename Spec, typename Name>
void index_by_name(const std::vector<Spec>& specs, std::unordered_map<std::string, const Spec*>& index,
                   Name&& name_of) {
  for (const Spec& spec : specs) {
    const std::string& name = name_of(spec);
    if (name.empty()) continue;
    const auto [found, is_new] = index.emplace(name, &spec);
    if (!is_new) {
      fail(spec.origin, fmt::format("the name '{}' is taken by {}", name, found->second->origin.text()),
           "give each its own name");
    }
  }
}

TriangleMesh read_mesh_data(const MeshSpec& spec, const FileSource& files) {
  const std::string& type = spec.content_type;
  const std::string extension = lower_extension(spec.file);
  if (type == "model/obj" || (type.empty() && extension == ".obj")) {
    MeshFile file = parse_obj(files.read(spec.file, file_kind::kMesh), spec.file);
    // MuJoCo takes the faces of the first object or group only, but all vertices.
    file.mesh.triangles.resize(file.first_part);
    return std::move(file.mesh);
  }
  if (type == "model/stl" || (type.empty() && extension == ".stl"))
    return parse_stl(files.read(spec.file, file_kind::kMesh), spec.file).mesh;
  if (type == "model/vnd.mujoco.msh" || (type.empty() && extension == ".msh")) {
    return parse_msh(files.read(spec.file, file_kind::kMesh), spec.file).mesh;
  }
  if (files.in_memory()) fail(spec.origin, fmt::format("mesh file '{}' is of an unknown type", spec.file));
  return read_mesh_file(spec.file).mesh;
}

// Into the reference frame, then scaled: MuJoCo's order. A scale that mirrors turns the triangles inside out, so they
// are turned back.
void place(TriangleMesh& mesh, const MeshSpec& spec) {
  const Quaternion rotation = spec.reference_rotation.conjugate();
  for (Vector3& vertex : mesh.vertices) {
    vertex = (rotation * (vertex - spec.reference_position)).cwiseProduct(spec.scale);
  }
  if (spec.scale.prod() < 0.0) {
    for (Eigen::Vector3i& triangle : mesh.triangles) std::swap(triangle[1], triangle[2]);
  }
}

std::shared_ptr<const TriangleMesh> make_mesh(const MeshSpec& spec, const FileSource& files) {
  TriangleMesh mesh;
  if (spec.file.empty()) {
    for (std::size_t i = 0; i + 2 < spec.vertices.size(); i += 3) {
      // MuJoCo keeps vertices in single precision.
      mesh.vertices.emplace_back(static_cast<float>(spec.vertices[i]), static_cast<float>(spec.vertices[i + 1]),
                                 static_cast<float>(spec.vertices[i + 2]));
    }
    for (std::size_t i = 0; i + 2 < spec.faces.size(); i += 3) {
      mesh.triangles.emplace_back(spec.faces[i], spec.faces[i + 1], spec.faces[i + 2]);
    }
  } else {
    mesh = read_mesh_data(spec, files);
  }
  mesh.name = spec.name;
  mesh.file = spec.file;
  place(mesh, spec);
  return std::make_shared<const TriangleMesh>(std::move(mesh));
}

// Identifies meshes that come out equal.
std::string source_key(const MeshSpec& spec) {
  const Quaternion& q = spec.reference_rotation;
  return fmt::format("{}|{}|{:a} {:a} {:a}|{:a} {:a} {:a}|{:a} {:a} {:a} {:a}", spec.file, spec.content_type,
                     spec.scale[0], spec.scale[1], spec.scale[2], spec.reference_position[0],
                     spec.reference_position[1], spec.reference_position[2], q.w(), q.x(), q.y(), q.z());
}

// --- height fields -------------------------------------------------------------------------------------------------

struct Elevation {
  int rows = 0, columns = 0;
  std::vector<double> values;  // the first row is the one of smallest y
};

Elevation flipped(int rows, int columns, const std::vector<double>& top_first) {
  Elevation out{rows, columns, {}};
  for (int row = rows - 1; row >= 0; --row) {
    const auto begin = top_first.begin() + static_cast<std::ptrdiff_t>(row) * columns;
    out.values.insert(out.values.end(), begin, begin + columns);
  }
  return out;
}

// MuJoCo's binary format: rows and columns (int32), then single-precision numbers.
Elevation read_custom(const std::string& bytes, const Origin& where) {
  std::int32_t size[2] = {0, 0};
  if (bytes.size() >= sizeof(size)) std::memcpy(size, bytes.data(), sizeof(size));
  const std::uint64_t cells =
      size[0] > 0 && size[1] > 0 ? static_cast<std::uint64_t>(size[0]) * static_cast<std::uint64_t>(size[1]) : 0;
  if (cells == 0 || bytes.size() != sizeof(size) + cells * sizeof(float)) {
    fail(where, "the height field file is not in MuJoCo's format, or is cut off");
  }
  Elevation out{size[0], size[1], {}};
  for (std::uint64_t i = 0; i < cells; ++i) {
    float value = 0.0f;
    std::memcpy(&value, bytes.data() + sizeof(size) + i * sizeof(float), sizeof(float));
    if (!std::isfinite(value)) fail(where, "the height field has a value that is not finite");
    out.values.push_back(value);
  }
  return out;
}

Elevation read_elevation(const HeightFieldSpec& spec, const FileSource& files) {
  if (spec.file.empty()) {
    const std::size_t cells = static_cast<std::size_t>(spec.rows) * static_cast<std::size_t>(spec.columns);
    if (spec.elevation.empty()) return {spec.rows, spec.columns, std::vector<double>(cells, 0.0)};
    return flipped(spec.rows, spec.columns, spec.elevation);
  }
  const std::string bytes = files.read(spec.file, file_kind::kImage);
  if (spec.content_type == "image/png" || (spec.content_type.empty() && lower_extension(spec.file) == ".png")) {
    const GrayImage image = read_png(bytes, spec.file);
    return flipped(image.height, image.width, {image.pixels.begin(), image.pixels.end()});
  }
  return read_custom(bytes, spec.origin);
}

std::shared_ptr<const HeightField> make_height_field(const HeightFieldSpec& spec, const FileSource& files) {
  Elevation elevation = read_elevation(spec, files);
  const auto [lowest, highest] = std::minmax_element(elevation.values.begin(), elevation.values.end());
  const double offset = *lowest, span = *highest - *lowest;
  for (double& value : elevation.values) value = span > 0.0 ? (value - offset) / span : value - offset;
  auto field = std::make_shared<HeightField>();
  field->name = spec.name;
  field->rows = elevation.rows;
  field->columns = elevation.columns;
  field->radius_x = spec.size[0];
  field->radius_y = spec.size[1];
  field->elevation = spec.size[2];
  field->base = spec.size[3];
  field->values = std::move(elevation.values);
  return field;
}

}  // namespace

Assets::Assets(const ModelSpec& spec, const FileSource& files) : files_(files) {
  index_by_name(spec.meshes, mesh_specs_, [](const MeshSpec& s) -> const std::string& { return s.name; });
  index_by_name(spec.height_fields, field_specs_,
                [](const HeightFieldSpec& s) -> const std::string& { return s.name; });
  index_by_name(spec.textures, textures_, [](const TextureSpec& s) -> const std::string& { return s.name; });
  index_by_name(spec.materials, materials_,
                [](const MaterialSpec& s) -> const std::string& { return s.material.name; });
}

const Assets::Mesh& Assets::mesh(const std::string& name, const Origin& user) {
  if (const auto known = meshes_.find(name); known != meshes_.end()) return known->second;
  const auto spec = mesh_specs_.find(name);
  if (spec == mesh_specs_.end()) fail(user, fmt::format("there is no mesh '{}'", name), "define it in <asset>");
  std::shared_ptr<const TriangleMesh> data;
  if (spec->second->file.empty()) {
    data = make_mesh(*spec->second, files_);
  } else {
    std::shared_ptr<const TriangleMesh>& shared = meshes_by_source_[source_key(*spec->second)];
    if (!shared) shared = make_mesh(*spec->second, files_);
    data = shared;
  }
  return meshes_[name] = {std::move(data), spec->second};
}

const Assets::MeshMass& Assets::mesh_mass(const std::string& name, const Origin& user) {
  if (const auto known = mesh_masses_.find(name); known != mesh_masses_.end()) return known->second;
  const Mesh& asset = mesh(name, user);
  Shape shape{ShapeType::kMesh, Vector3::Zero(), asset.data, nullptr};
  try {
    MeshMass mass;
    mass.unit = mass_properties(shape, 1.0, asset.spec->inertia);
    mass.frame = principal_frame(mass.unit.inertia, kMeshTolerance);
    mass.unit.inertia = mass.frame.tensor();
    return mesh_masses_[name] = mass;
  } catch (const Error& error) {
    fail(asset.spec->origin, error.message(), "choose another 'inertia' for the mesh, or give the body an <inertial>");
  }
}

std::shared_ptr<const HeightField> Assets::height_field(const std::string& name, const Origin& user) {
  std::shared_ptr<const HeightField>& field = fields_[name];
  if (field) return field;
  const auto spec = field_specs_.find(name);
  if (spec == field_specs_.end()) fail(user, fmt::format("there is no hfield '{}'", name), "define it in <asset>");
  field = make_height_field(*spec->second, files_);
  return field;
}

const MaterialSpec* Assets::material(const std::string& name) const {
  const auto found = materials_.find(name);
  return found == materials_.end() ? nullptr : found->second;
}

std::string Assets::texture_file(const std::string& name) const {
  const auto found = textures_.find(name);
  return found == textures_.end() ? std::string{} : found->second->file;
}

}  // namespace touchstone::mjcf
