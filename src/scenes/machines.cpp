// Robots and mechanisms. Robots are MJCF files of models/; the ground is made here.
#include <algorithm>
#include <filesystem>
#include <numbers>
#include <optional>

#include "touchstone/base/check.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/scenes/embedded.hpp"
#include "touchstone/scenes/makers.hpp"
#include "touchstone/scenes/workshop.hpp"

namespace touchstone::makers {

using namespace workshop;

namespace {

const EmbeddedFile* find_embedded(std::string_view path) {
  const auto files = embedded_files();
  const auto found =
      std::lower_bound(files.begin(), files.end(), path,
                       [](const EmbeddedFile& file, std::string_view wanted) { return file.path < wanted; });
  return found != files.end() && found->path == path ? &*found : nullptr;
}

// `path` is relative to models/.
ModelPtr load_embedded(const std::string& path) {
  const EmbeddedFile* main_file = find_embedded(path);
  TOUCHSTONE_CHECK(main_file != nullptr, "models/{} is not embedded", path);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const FileResolver resolver = [&folder](const std::string& name) -> std::optional<std::string> {
    const EmbeddedFile* file = find_embedded((folder / name).lexically_normal().generic_string());
    return file != nullptr ? std::optional<std::string>(file->text) : std::nullopt;
  };
  return load_mjcf_string(main_file->text, {}, resolver, "models/" + path);
}

void raise(Scene& scene, double height) { scene.start.q[2] += height; }

void push_later(Scene& scene, const std::string& body, const Vector3& force) {
  if (force.isZero()) return;
  scene.pushes.push_back({.body = scene.model->body(body), .force = force, .start = 1.0, .end = 1.2});
}

}  // namespace

Scene quadruped(const SceneArguments& arguments) {
  const std::string_view terrain = arguments.choice("terrain");
  ModelPtr model = load_embedded("quadruped/quadruped.xml");
  double lift = 0.0;
  if (terrain != "none") {
    ModelBuilder b(*model);
    if (terrain == "flat") {
      add_ground(b, 0.8);
    } else {
      const double height = arguments.number("roughness");
      Shape ground{.type = ShapeType::kHeightField};
      ground.height_field = hills("hills", 1.2, 1.2, height, 0.3, arguments.integer("seed"));
      add_fixed(b, "ground", {}, ground, {.friction = 0.8, .color = {0.62, 0.65, 0.58, 1}});
      lift = height;
    }
    model = b.build();
  }
  Scene scene = scene_of(model);
  if (terrain != "none") raise(scene, lift + arguments.number("drop"));
  push_later(scene, "trunk", {0, arguments.number("push"), 0});
  scene.duration = 3.0;
  return scene;
}

Scene humanoid(const SceneArguments& arguments) {
  Scene scene = scene_of(load_embedded("humanoid/humanoid.xml"));
  push_later(scene, "torso", {arguments.number("push"), 0, 0});
  scene.duration = 4.0;
  return scene;
}

Scene hand(const SceneArguments& arguments) {
  const ModelPtr hand_model = load_embedded("hand/hand.xml");
  const Scene open_hand = scene_of(hand_model);
  ModelBuilder b(*hand_model);
  b.clear_keyframes();
  const Shape ball = sphere(arguments.number("radius"));
  add_free(b, "ball", {{0.01, 0, 0.05 + arguments.number("radius") + arguments.number("drop")}}, ball,
           {.density = density_for(ball, 0.1), .friction = 0.8, .contact_dimension = 4, .color = color(4)});
  Scene scene = scene_of(b.build());
  scene.start.q.head(hand_model->nq) = open_hand.start.q;
  scene.control = open_hand.control;
  scene.duration = 2.0;
  return scene;
}

// A wheel that cannot fall over, driven by a motor that wants a speed.
Scene wheel(const SceneArguments& arguments) {
  constexpr double kRadius = 0.2, kTrack = 5.0;
  const double roughness = arguments.number("roughness");
  ModelBuilder b("wheel");
  Shape ground{.type = ShapeType::kHeightField};
  ground.height_field = hills("track", kTrack, 0.5, roughness, 0.4, arguments.integer("seed"));
  add_fixed(b, "ground", {}, ground, {.friction = 0.9, .color = {0.62, 0.65, 0.58, 1}});
  const Transform pose{{-kTrack + 1.0, 0, kRadius + roughness + 0.02}};
  const Shape tyre = cylinder(kRadius, 0.05);
  Body body;
  body.name = "wheel";
  body.pose = pose;
  const Transform lying{Vector3::Zero(), about(Vector3::UnitX(), 0.5 * std::numbers::pi)};
  body.inertia = transformed(lying, mass_properties(tyre, 300.0));
  const int index = b.add_body(std::move(body));
  ShapeElement shape;
  shape.name = "tyre";
  shape.body = index;
  shape.pose = lying;
  shape.shape = tyre;
  shape.material.friction.x() = 0.9;
  shape.color = color(7);
  b.add_shape(shape);
  for (const double angle : {0.0, std::numbers::pi / 3, 2 * std::numbers::pi / 3}) {  // spokes, to see it turn
    ShapeElement spoke;
    spoke.body = index;
    spoke.visual_only = true;
    spoke.pose.rotation = about(Vector3::UnitY(), angle);
    spoke.shape = box({0.012, 0.052, 0.19});
    spoke.color = color(0);
    b.add_shape(std::move(spoke));
  }
  Joint slide;
  slide.body = index;
  slide.type = JointType::kSlide;
  slide.name = "forward";
  slide.axis = Vector3::UnitX();
  b.add_joint(slide);
  slide.name = "up";
  slide.axis = Vector3::UnitZ();
  b.add_joint(slide);
  Joint hinge;
  hinge.name = "axle";
  hinge.body = index;
  hinge.axis = Vector3::UnitY();
  const int axle = b.add_joint(std::move(hinge));
  Actuator motor;
  motor.name = "motor";
  motor.target = axle;
  motor.bias_type = ActuatorBias::kAffine;
  motor.gain = {4.0, 0, 0};
  motor.bias = {0, 0, -4.0};
  motor.force_limited = true;
  motor.force_range = {-15.0, 15.0};
  b.add_actuator(std::move(motor));
  Scene scene = scene_of(b.build());
  scene.control = VectorX::Constant(1, arguments.number("speed") / kRadius);
  scene.duration = 5.0;
  return scene;
}

Scene pendulum(const SceneArguments& /*arguments*/) { return scene_of(load_embedded("pendulum/pendulum.xml")); }

Scene double_pendulum(const SceneArguments& /*arguments*/) {
  return scene_of(load_embedded("double_pendulum/double_pendulum.xml"));
}

Scene woodpecker(const SceneArguments& /*arguments*/) {
  auto model = std::make_shared<Model>(*load_embedded("woodpecker/woodpecker.xml"));
  for (std::size_t i = 0; i < model->shapes.size(); ++i) {
    if (model->shapes[i].name == "beak") model->defaults.shape_material[i].restitution = 0.5;
  }
  Scene scene = scene_of(model);
  scene.options.integrator = Integrator::kEvent;
  scene.options.stabilisation.restitution_threshold = 1e-3;  // the toy is small
  scene.duration = 2.0;
  return scene;
}

}  // namespace touchstone::makers
