// What stands, falls or swings as it should only if contact forces are right.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "touchstone/scenes/makers.hpp"
#include "touchstone/scenes/workshop.hpp"

namespace touchstone::makers {

using namespace workshop;

namespace {

constexpr double kDegree = std::numbers::pi / 180.0;

}  // namespace

Scene domino(const SceneArguments& arguments) {
  const Vector3 half(0.01, 0.04, 0.08);
  constexpr double kSpacing = 0.07;
  ModelBuilder b("domino");
  add_ground(b, 0.6);
  const int n = arguments.integer("n");
  for (int i = 0; i < n; ++i) {
    add_free(b, "domino" + std::to_string(i + 1), {{kSpacing * (i - 0.5 * (n - 1)), 0, half.z()}}, box(half),
             {.density = 700.0, .friction = 0.6, .color = color(i % 2 == 0 ? 2 : 7)});
  }
  Scene scene = scene_of(b.build());
  // Enough to tip the first one, too little to slide it.
  scene.pushes.push_back({.body = 1, .force = {0.6, 0, 0}, .start = 0.1, .end = 0.4});
  scene.duration = 1.0 + 0.08 * n;
  return scene;
}

// Pairs of cards that lean on each other, a card across two neighbouring tops, the next storey on those. A card leans
// by the angle a; its lowest edge is l sin a to the side of the pair's middle, its highest t cos a.
Scene card_house(const SceneArguments& arguments) {
  constexpr double kLength = 0.2, kWidth = 0.14, kThickness = 0.004;
  const double a = 22.0 * kDegree, s = std::sin(a), c = std::cos(a);
  const double height = kLength * c + kThickness * s;
  const double pair_width = 2.0 * (kLength * s + kThickness * c), spacing = pair_width + 0.004;
  const double side = 0.5 * (kThickness * c + kLength * s);  // of a card's middle from the pair's
  const Stuff card{.density = 800.0, .friction = 0.8, .color = color(2)};
  const Stuff roof{.density = 800.0, .friction = 0.8, .color = color(4)};
  const Shape leaning = box({0.5 * kThickness, 0.5 * kWidth, 0.5 * kLength});
  const Shape lying = box({0.5 * spacing - 5e-4, 0.5 * kWidth, 0.5 * kThickness});

  ModelBuilder b("card-house");
  add_ground(b, 0.8);
  double floor = 0.0;
  for (int pairs = arguments.integer("levels"); pairs > 0; --pairs) {
    for (int k = 0; k < pairs; ++k) {
      const double x = spacing * (k - 0.5 * (pairs - 1));
      const std::string name = std::to_string(pairs) + "." + std::to_string(k + 1);
      add_free(b, "left" + name, {{x - side, 0, floor + 0.5 * height}, about(Vector3::UnitY(), a)}, leaning, card);
      add_free(b, "right" + name, {{x + side, 0, floor + 0.5 * height}, about(Vector3::UnitY(), -a)}, leaning, card);
    }
    for (int k = 0; k + 1 < pairs; ++k) {
      const double x = spacing * (k + 0.5 - 0.5 * (pairs - 1));
      add_free(b, "roof" + std::to_string(pairs) + "." + std::to_string(k + 1),
               {{x, 0, floor + height + 0.5 * kThickness}}, lying, roof);
    }
    floor += height + kThickness;
  }
  Scene scene = scene_of(b.build());
  scene.options.time_step = 0.001;
  scene.duration = 3.0;
  return scene;
}

// A half circle of wedges on the ground. It stands when its thickness is at least 0.107 of its radius (Couplet,
// Heyman).
Scene arch(const SceneArguments& arguments) {
  const int n = arguments.integer("n");
  const double radius = 1.0, thickness = arguments.number("thickness") * radius, half_depth = 0.15;
  const double step = std::numbers::pi / n;
  const double inner = radius - 0.5 * thickness, outer = radius + 0.5 * thickness;
  ModelBuilder b("arch");
  add_ground(b, 0.7);
  std::vector<Vector3> corners;  // of the wedge around the x axis, seen from the middle of the arch's line
  for (const double side : {-0.5, 0.5}) {
    for (const double r : {inner, outer}) {
      for (const double y : {-half_depth, half_depth})
        corners.push_back({r * std::cos(side * step) - radius, y, r * std::sin(side * step)});
    }
  }
  const Shape wedge = hull("wedge", corners);
  for (int i = 0; i < n; ++i) {
    const Quaternion turn = about(Vector3::UnitY(), -(i + 0.5) * step);
    add_free(b, "stone" + std::to_string(i + 1), {turn * Vector3(radius, 0, 0), turn}, wedge,
             {.density = 2000.0, .friction = 0.7, .color = color(i % 2 == 0 ? 2 : 6)});
  }
  Scene scene = scene_of(b.build());
  scene.duration = 3.0;
  return scene;
}

// Gaps of half a millimetre, and steps in which a ball moves less than that, let one collision follow the other, as
// stiff balls do.
Scene newtons_cradle(const SceneArguments& arguments) {
  constexpr double kRadius = 0.05, kGap = 5e-4, kRod = 0.5;
  const int n = arguments.integer("n");
  ModelBuilder b("newtons-cradle");
  for (int i = 0; i < n; ++i) {
    const double y = (2.0 * kRadius + kGap) * (i - 0.5 * (n - 1));
    const std::string name = "ball" + std::to_string(i + 1);
    const int ball = add_part(b, name, 0, {{y, 0, kRadius}}, sphere(kRadius),
                              {.density = 7800.0,
                               .friction = 0.0,
                               .restitution = 1.0,
                               .contact_dimension = 1,
                               .color = {0.75, 0.77, 0.80, 1}});
    Joint hinge;
    hinge.name = name;
    hinge.body = ball;
    hinge.axis = Vector3::UnitY();
    hinge.anchor = {0, 0, kRod};
    b.add_joint(std::move(hinge));
    ShapeElement rod;
    rod.body = ball;
    rod.visual_only = true;
    rod.pose.position = {0, 0, 0.5 * kRod};
    rod.shape = capsule(0.002, 0.5 * kRod);
    rod.color = color(7);
    b.add_shape(std::move(rod));
  }
  b.options().time_step = 1e-4;
  Scene scene = scene_of(b.build());
  for (int i = 0; i < std::min(n, arguments.integer("lifted")); ++i) scene.start.q[i] = 35.0 * kDegree;
  scene.options.stabilisation.restitution_threshold = 1e-3;
  scene.duration = 5.0;
  return scene;
}

}  // namespace touchstone::makers
