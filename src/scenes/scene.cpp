#include "touchstone/scenes/scene.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/geometry/mesh.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/sim/detection/overlaps.hpp"

namespace touchstone {
namespace {

void start_at(Scene& scene, const Keyframe& key) {
  const double time = scene.start.time;
  scene.start = State(*scene.model, key);
  scene.start.time = time;
  scene.control = key.control;
}

// The lowest point of a shape, from the box around it in its own frame; exact for balls and capsules.
double lowest_point(const Shape& shape, const Transform& X) {
  if (shape.type == ShapeType::kSphere) return X.position.z() - shape.size.x();
  if (shape.type == ShapeType::kCapsule) {
    return X.position.z() - std::abs((X.rotation * Vector3::UnitZ()).z()) * shape.size.y() - shape.size.x();
  }
  double low = std::numeric_limits<double>::infinity();
  const auto lower = [&](const Vector3& point) { low = std::min(low, (X * point).z()); };
  if (shape.mesh != nullptr) {
    for (const Vector3& vertex : shape.mesh->vertices) lower(vertex);
    return low;
  }
  const Bounds box = bounds(shape);
  for (const double x : {box.lower.x(), box.upper.x()}) {
    for (const double y : {box.lower.y(), box.upper.y()}) {
      for (const double z : {box.lower.z(), box.upper.z()}) lower({x, y, z});
    }
  }
  return low;
}

}  // namespace

Scene scene_of(ModelPtr model) {
  if (model == nullptr) throw Error("a scene needs a model");
  Scene scene;
  scene.name = model->name;
  scene.start = State(*model);
  scene.control = VectorX::Zero(model->nu);
  scene.model = std::move(model);
  if (!scene.model->keyframes.empty()) start_at(scene, scene.model->keyframes.front());
  return scene;
}

void start_at_keyframe(Scene& scene, std::string_view keyframe) {
  start_at(scene, scene.model->keyframes[at(scene.model->keyframe(keyframe))]);
}

ModelPtr with_ground(const Model& model, const VectorX& q) {
  require_size("q", q.size(), model.nq);
  Data data(model);
  forward_kinematics(model, model.defaults, q, data);
  double low = std::numeric_limits<double>::infinity();
  for (int s = 0; s < model.nshape; ++s) {
    const ShapeElement& element = model.shapes[at(s)];
    const bool collides = !element.visual_only && (element.contact_type != 0 || element.contact_affinity != 0);
    if (!collides || model.body_weld[at(element.body)] == 0) continue;
    low = std::min(low, lowest_point(element.shape, shape_pose(model, data, s)));
  }
  if (!std::isfinite(low)) {
    throw InputError({.where = {model.file, 0, model.name},
                      .message = "a ground was asked for, but nothing that moves can collide",
                      .remedy = "leave the ground out, or give the model collision shapes"});
  }
  ModelBuilder builder(model);
  ShapeElement ground;
  ground.name = "ground";
  while (model.find(ElementKind::kShape, ground.name) >= 0) ground.name += '_';
  ground.shape.type = ShapeType::kPlane;
  ground.pose.position.z() = low;
  ground.color = {0.75, 0.76, 0.78, 1.0};
  const std::string name = ground.name;
  builder.add_shape(std::move(ground));
  auto grounded = std::make_shared<Model>(*builder.build());
  // Parameters may have been changed since the model was built.
  const int index = grounded->shape(name);
  const Material material = grounded->defaults.shape_material[at(index)];
  grounded->defaults = model.defaults;
  Parameters& parameters = grounded->defaults;
  parameters.shape_material.insert(parameters.shape_material.begin() + index, material);
  parameters.shape_surface_velocity.insert(parameters.shape_surface_velocity.begin() + index, Vector6::Zero());
  return grounded;
}

void add_collision_warnings(Scene& scene) {
  const CollisionModel shapes(*scene.model);
  std::vector<Warning> warnings = shapes.warnings();
  for (Warning& warning : start_warnings(shapes, scene.start)) warnings.push_back(std::move(warning));
  if (warnings.empty()) return;
  auto model = std::make_shared<Model>(*scene.model);
  model->warnings.insert(model->warnings.end(), warnings.begin(), warnings.end());
  scene.model = std::move(model);
}

}  // namespace touchstone
