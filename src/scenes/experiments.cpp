// One or two bodies whose motion a formula gives.
#include <cmath>
#include <numbers>

#include "touchstone/scenes/makers.hpp"
#include "touchstone/scenes/workshop.hpp"

namespace touchstone::makers {
namespace {

using namespace workshop;

constexpr double kDegree = std::numbers::pi / 180.0;
constexpr double kHalf = 0.1;  // m, of the cubes

Vector3 heading(double degrees) { return {std::cos(degrees * kDegree), std::sin(degrees * kDegree), 0.0}; }

Shape cube() { return box(Vector3::Constant(kHalf)); }

// A cube of 1 kg on the ground, its faces along the axes.
Scene cube_on_ground(const char* name, double friction) {
  ModelBuilder b(name);
  add_ground(b, friction);
  add_free(b, "cube", {{0, 0, kHalf}}, cube(), {.density = density_for(cube(), 1.0), .friction = friction});
  Scene scene = scene_of(b.build());
  scene.duration = 1.0;
  return scene;
}

}  // namespace

Scene cube_slide(const SceneArguments& arguments) {
  Scene scene = cube_on_ground("cube-slide", arguments.number("friction"));
  set_velocity(scene, "cube", arguments.number("speed") * heading(arguments.number("angle")));
  return scene;
}

Scene cube_drag(const SceneArguments& arguments) {
  Scene scene = cube_on_ground("cube-drag", arguments.number("friction"));
  scene.pushes.push_back({.body = 1, .force = arguments.number("force") * heading(arguments.number("angle"))});
  return scene;
}

Scene cube_tilt(const SceneArguments& arguments) {
  const double friction = arguments.number("friction");
  const Quaternion slope = about(Vector3::UnitY(), arguments.number("angle") * kDegree);
  ModelBuilder b("cube-tilt");
  add_fixed(b, "slope", {{0, 0, 0}, slope}, {.type = ShapeType::kPlane},
            {.friction = friction, .color = {0.75, 0.76, 0.78, 1}});
  add_free(b, "cube", {slope * Vector3(0, 0, kHalf), slope}, cube(),
           {.density = density_for(cube(), 1.0), .friction = friction});
  Scene scene = scene_of(b.build());
  scene.duration = 1.0;
  return scene;
}

Scene mass_ratio(const SceneArguments& arguments) {
  ModelBuilder b("mass-ratio");
  add_ground(b, 0.5);
  add_free(b, "light", {{0, 0, kHalf}}, cube(), {.density = density_for(cube(), 1.0), .color = color(2)});
  add_free(b, "heavy", {{0, 0, 3 * kHalf}}, cube(),
           {.density = density_for(cube(), arguments.number("ratio")), .color = color(7)});
  Scene scene = scene_of(b.build());
  scene.duration = 2.0;
  return scene;
}

Scene stack(const SceneArguments& arguments) {
  ModelBuilder b("stack");
  add_ground(b, 0.5);
  for (int i = 0; i < arguments.integer("n"); ++i) {
    add_free(b, "box" + std::to_string(i + 1), {{0, 0, kHalf * (2 * i + 1)}}, cube(),
             {.density = 500.0, .color = color(i)});
  }
  Scene scene = scene_of(b.build());
  scene.duration = 3.0;
  return scene;
}

Scene sphere_roll(const SceneArguments& arguments) {
  const double friction = arguments.number("friction");
  ModelBuilder b("sphere-roll");
  add_ground(b, friction);
  const Shape ball = sphere(kHalf);
  add_free(b, "ball", {{0, 0, kHalf}}, ball, {.density = density_for(ball, 1.0), .friction = friction});
  Scene scene = scene_of(b.build());
  set_velocity(scene, "ball", {arguments.number("speed"), 0, 0});
  scene.duration = 2.0;
  return scene;
}

}  // namespace touchstone::makers
