#include "touchstone/io/urdf/urdf_shapes.hpp"

#include <fmt/format.h>

namespace touchstone {
namespace {

// As MuJoCo sorts what it imports from URDF; groups of 3 and above are not shown unless they are asked for.
constexpr int kCollisionGroup = 0;
constexpr int kVisualGroup = 1;
constexpr int kHullGroup = 3;

bool same_look(const UrdfMaterial& a, const UrdfMaterial& b) {
  return a.has_color == b.has_color && a.color == b.color && a.texture == b.texture;
}

}  // namespace

UrdfShapes::UrdfShapes(const UrdfRobot& robot, UrdfResources& resources, UrdfNotes& notes, ModelBuilder& builder)
    : resources_(resources), notes_(notes), builder_(builder) {
  for (const UrdfMaterial& material : robot.materials) define(material, true);
  // A material defined inside one visual may be used by name in another.
  for (const UrdfLink& link : robot.links) {
    for (const UrdfGeometry& visual : link.visuals) define(visual.material, false);
    for (const UrdfGeometry& collision : link.collisions) define(collision.material, false);
  }
}

void UrdfShapes::define(const UrdfMaterial& material, bool global) {
  if (material.name.empty() || !material.defined()) return;
  const bool is_new = materials_.emplace(material.name, &material).second;
  if (!is_new && global) notes_.warn(material.origin, "a second material of this name; the first one counts");
}

void UrdfShapes::add(const UrdfLink& link, const Place& place) {
  for (const UrdfGeometry& collision : link.collisions) add_one(link, collision, false, place);
  for (const UrdfGeometry& visual : link.visuals) add_one(link, visual, true, place);
}

void UrdfShapes::add_one(const UrdfLink& link, const UrdfGeometry& geometry, bool visual, const Place& place) {
  ShapeElement element;
  element.body = place.body;
  element.pose = place.X_BL * geometry.pose;
  element.shape = geometry.shape;
  element.material = link.contact_material;
  const UrdfProximity& proximity = geometry.proximity;
  if (proximity.friction) element.material.friction[0] = *proximity.friction;
  element.material.stiffness = proximity.stiffness;
  element.material.dissipation = proximity.dissipation;
  element.material.relaxation_time = proximity.relaxation_time;
  element.group = visual ? kVisualGroup : kCollisionGroup;
  element.origin = geometry.origin;
  if (visual) {
    element.visual_only = true;
    element.contact_type = element.contact_affinity = 0;
  } else {
    element.fixed_base = place.fixed_base;
    element.exclude_overlaps = place.exclude_overlaps;
  }
  if (element.shape.type == ShapeType::kMesh && !read_mesh(geometry, visual, element)) return;
  element.name = unique_name(geometry.name.empty() ? fmt::format("{}_{}", link.name, visual ? "visual" : "collision")
                                                   : geometry.name);
  apply_material(geometry, element);
  added_.push_back(builder_.add_shape(std::move(element)));
}

void UrdfShapes::hide_hulls() {
  const std::vector<Body>& bodies = builder_.bodies();
  std::vector<bool> jointed(bodies.size(), false), seen(bodies.size(), false);
  for (const Joint& joint : builder_.joints()) jointed[static_cast<std::size_t>(joint.body)] = true;
  std::vector<std::size_t> piece(bodies.size());  // the body that each one is welded to; parents come first
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    piece[b] = b == 0 || jointed[b] ? b : piece[static_cast<std::size_t>(bodies[b].parent)];
  }
  const auto piece_of = [&](const ShapeElement& shape) { return piece[static_cast<std::size_t>(shape.body)]; };
  for (const int i : added_) {
    const ShapeElement& shape = builder_.shape(i);
    if (shape.visual_only && shape.color[3] > 0.0) seen[piece_of(shape)] = true;
  }
  for (const int i : added_) {
    ShapeElement& shape = builder_.shape(i);
    if (!shape.visual_only && seen[piece_of(shape)]) shape.group = kHullGroup;
  }
}

// False if the mesh cannot be read and the shape was given up.
bool UrdfShapes::read_mesh(const UrdfGeometry& geometry, bool visual, ShapeElement& element) {
  try {
    UrdfResources::Mesh mesh = resources_.mesh(geometry.mesh_uri, geometry.mesh_scale);
    element.shape.mesh = std::move(mesh.mesh);
    if (mesh.has_color) element.color = mesh.color;
    return true;
  } catch (const Error& error) {
    std::string message = error.message();
    if (!error.where().file.empty()) message = fmt::format("{}: {}", error.where().text(), message);
    if (visual) {
      notes_.warn(geometry.origin, message + "; not shown");
    } else {
      notes_.drop(geometry.origin, std::move(message), error.remedy());
    }
    return false;
  }
}

void UrdfShapes::apply_material(const UrdfGeometry& geometry, ShapeElement& element) {
  const UrdfMaterial* material = &geometry.material;
  const auto named = materials_.find(material->name);
  if (!material->defined()) {
    if (material->name.empty()) return;
    if (named == materials_.end()) {
      notes_.warn_once("material/" + material->name, geometry.origin,
                       fmt::format("material '{}' is not defined", material->name));
      return;
    }
    material = named->second;
  }
  if (material->has_color) element.color = material->color;
  // Exporters call materials of different colour by one name, or by none.
  const bool own = material->name.empty() || !same_look(*material, *named->second);
  if (own && material->texture.empty()) return;
  element.visual_material = own ? element.name + "_material" : material->name;
  add_visual_material(*material, element.visual_material);
}

void UrdfShapes::add_visual_material(const UrdfMaterial& material, const std::string& name) {
  if (!added_materials_.insert(name).second) return;
  VisualMaterial visual;
  visual.name = name;
  if (material.has_color) visual.color = material.color;
  if (!material.texture.empty()) {
    if (const auto file = resources_.find(material.texture)) {
      visual.texture_file = file->string();
    } else {
      notes_.warn(material.origin, fmt::format("texture '{}' does not exist", material.texture));
    }
  }
  builder_.add_visual_material(std::move(visual));
}

std::string UrdfShapes::unique_name(const std::string& wanted) {
  if (names_.insert(wanted).second) return wanted;
  int& count = name_counts_[wanted];
  for (;;) {
    std::string name = fmt::format("{}_{}", wanted, ++count);
    if (names_.insert(name).second) return name;
  }
}

}  // namespace touchstone
