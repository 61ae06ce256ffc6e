// The primitives of Tsounis et al. 2025, Tab. II: one kind of ill-conditioning each.
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "touchstone/scenes/figure.hpp"
#include "touchstone/scenes/makers.hpp"

namespace touchstone::makers {

using namespace workshop;

namespace {

int free_box(Assembly& a, const std::string& name, const Vector3& center, const Vector3& half, double mass) {
  const int body = a.part(name, 0, center, box(half), center, mass);
  a.free(body, name);
  a.add_shape(body, box(half), Transform(), true, 0.6);
  return body;
}

// A part of a chain on balls or hinges, that touches the ground.
int plank(Assembly& a, const std::string& name, int parent, const Vector3& from, const Vector3& to, double width) {
  const Vector3 along = to - from;
  const Vector3 half(0.5 * width, 0.5 * width, 0.5 * along.norm() - 0.6 * width);
  const Transform pose{0.5 * along, Quaternion::FromTwoVectors(Vector3::UnitZ(), along)};
  const int body = a.bar(name, parent, from, to, 1.0, 0.3 * width);
  a.add_shape(body, box(half), pose, true, 0.6);
  return body;
}

// Four planks, the first of which is the ground link; the paper's four-bar counts it as a body.
Scene four_planks(const std::string& name, Base base, double height, double speed) {
  const double width = 0.05;
  const std::array<Vector3, 4> p{Vector3(0, 0, height), Vector3(0.5, 0, height), Vector3(0.5, 0, height + 0.3),
                                 Vector3(0, 0, height + 0.3)};
  Assembly a(name);
  add_ground(a.builder(), 0.6);
  const int ground = plank(a, "ground-link", 0, p[0], p[1], width);
  if (base != Base::kWeld) a.free(ground, "base");
  if (base == Base::kJoint) a.loop("ground", LoopJointType::kFixed, 0, ground, p[0], Vector3::UnitZ());
  const int crank = plank(a, "crank", ground, p[0], p[3], width);
  const int shaft = a.hinge(crank, "crank", kPlanarAxis);
  const int coupler = plank(a, "coupler", crank, p[3], p[2], width);
  a.hinge(coupler, "coupler", kPlanarAxis);
  const int rocker = plank(a, "rocker", ground, p[1], p[2], width);
  a.hinge(rocker, "rocker", kPlanarAxis);
  a.loop("pin", LoopJointType::kRevolute, coupler, rocker, p[2], kPlanarAxis);
  a.velocity_servo("motor", shaft, 0.5, 5.0);
  Scene scene = a.scene();
  scene.control = VectorX::Constant(1, speed);
  return scene;
}

}  // namespace

Scene box_on_plane(const SceneArguments& arguments) {
  Assembly a("box-on-plane");
  add_ground(a.builder(), 0.6);
  const double half = 0.1, lift = 0.02;
  free_box(a, "box", {0, 0, half + lift}, {half, half, half}, 1.0);
  Scene scene = a.scene();
  set_velocity(scene, "box", {arguments.number("speed"), 0.2 * arguments.number("speed"), 0}, {0, 0, 4});
  return scene;
}

// The heavy box stands on the light one.
Scene boxes_fixed(const SceneArguments& arguments) {
  const Base base = fixed_base(arguments.choice("fixed"));
  const double half = 0.1, lift = 0.05;
  const Vector3 low(0, 0, half + lift), high(0.05, 0, 3 * half + lift);
  Assembly a("boxes-fixed");
  add_ground(a.builder(), 0.6);
  const int light = free_box(a, "light", low, {half, half, half}, 0.1);
  if (base == Base::kWeld) {
    const int heavy = a.part("heavy", light, high, box({half, half, half}), high, 100.0);
    a.add_shape(heavy, box({half, half, half}), Transform(), true, 0.6);
  } else {
    const int heavy = free_box(a, "heavy", high, {half, half, half}, 100.0);
    a.loop("glue", LoopJointType::kFixed, light, heavy, {0.025, 0, 2 * half + lift}, Vector3::UnitZ());
  }
  Scene scene = a.scene();
  scene.pushes.push_back({.body = scene.model->body("light"), .force = {300, 0, 0}, .start = 0.5, .end = 0.8});
  return scene;
}

Scene nunchuk(const SceneArguments& arguments) {
  const double height = arguments.number("drop");
  Assembly a("nunchuk");
  add_ground(a.builder(), 0.6);
  const Vector3 left(-0.06, 0, height), right(0.06, 0, height);
  const int chain = plank(a, "chain", 0, left, right, 0.03);
  a.free(chain, "chain");
  const int first = plank(a, "first", chain, left, left + Vector3(-0.3, 0.05, 0.05), 0.04);
  a.ball(first, "first");
  const int second = plank(a, "second", chain, right, right + Vector3(0.25, 0, 0.17), 0.04);
  a.ball(second, "second");
  return a.scene();
}

Scene fourbar_fixed(const SceneArguments& arguments) {
  return four_planks("fourbar-fixed", fixed_base(arguments.choice("fixed")), 0.6, arguments.number("speed"));
}

Scene fourbar_free(const SceneArguments& arguments) {
  return four_planks("fourbar-free", Base::kFree, arguments.number("drop"), arguments.number("speed"));
}

}  // namespace touchstone::makers
