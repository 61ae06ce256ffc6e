// Many bodies.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "touchstone/scenes/makers.hpp"
#include "touchstone/scenes/workshop.hpp"

namespace touchstone::makers {

using namespace workshop;

namespace {

constexpr double kPi = std::numbers::pi;

Quaternion random_rotation(std::mt19937_64& random) {
  const double u = uniform(random, 0, 1), a = uniform(random, 0, 2 * kPi), b = uniform(random, 0, 2 * kPi);
  return {std::sqrt(1 - u) * std::sin(a), std::sqrt(1 - u) * std::cos(a), std::sqrt(u) * std::sin(b),
          std::sqrt(u) * std::cos(b)};
}

Shape grain(std::string_view kind, int number, std::mt19937_64& random) {
  const double size = uniform(random, 0.035, 0.05);
  const int turn = kind == "mixed" ? number % 4 : (kind == "boxes" ? 0 : 1);
  switch (turn) {
    case 0:
      return box({size, size * uniform(random, 0.6, 1.0), size * uniform(random, 0.6, 1.0)});
    case 1:
      return sphere(size);
    case 2:
      return capsule(0.6 * size, 0.6 * size);
    default:
      return cylinder(0.8 * size, 0.8 * size);
  }
}

void add_tray(ModelBuilder& b, double half, double height) {
  const Stuff glass{.friction = 0.5, .color = {0.6, 0.7, 0.8, 0.25}};
  constexpr double kWall = 0.02;
  for (const double side : {-1.0, 1.0}) {
    const std::string name = side < 0 ? "low" : "high";
    add_fixed(b, "wall-x-" + name, {{side * (half + kWall), 0, 0.5 * height}},
              box({kWall, half + 2 * kWall, 0.5 * height}), glass);
    add_fixed(b, "wall-y-" + name, {{0, side * (half + kWall), 0.5 * height}}, box({half, kWall, 0.5 * height}), glass);
  }
}

}  // namespace

Scene pile(const SceneArguments& arguments) {
  constexpr double kCell = 0.13;
  const int n = arguments.integer("n");
  const int side = std::max(1, static_cast<int>(std::ceil(std::cbrt(0.7 * n))));
  std::mt19937_64 random(static_cast<std::uint64_t>(arguments.integer("seed")));
  ModelBuilder b("pile");
  add_ground(b, 0.5);
  add_tray(b, 0.5 * kCell * side + 0.03, 0.06 * side + 0.1);
  for (int i = 0; i < n; ++i) {
    const int layer = i / (side * side), row = i / side % side, column = i % side;
    const auto jitter = [&] { return uniform(random, -0.012, 0.012); };
    const Vector3 place(kCell * (column - 0.5 * (side - 1)) + jitter(), kCell * (row - 0.5 * (side - 1)) + jitter(),
                        0.08 + kCell * layer);
    const Quaternion turn = random_rotation(random);
    add_free(b, "grain" + std::to_string(i + 1), {place, turn}, grain(arguments.choice("shape"), i, random),
             {.density = 800.0, .friction = 0.5, .color = color(static_cast<int>(random() % 8U))});
  }
  Scene scene = scene_of(b.build());
  scene.duration = 2.0;
  return scene;
}

// Driven rollers carry boxes to a lower table.
Scene conveyor(const SceneArguments& arguments) {
  constexpr double kRadius = 0.04, kSpacing = 0.1, kHeight = 0.5;
  constexpr int kRollers = 20;
  const double speed = arguments.number("speed");
  ModelBuilder b("conveyor");
  add_ground(b, 0.5);
  add_fixed(b, "table", {{0.5 * kSpacing * kRollers + 0.35, 0, 0.2}}, box({0.35, 0.35, 0.05}),
            {.friction = 0.4, .color = color(2)});
  const Transform lying{Vector3::Zero(), about(Vector3::UnitX(), 0.5 * kPi)};
  for (int i = 0; i < kRollers; ++i) {
    const std::string name = "roller" + std::to_string(i + 1);
    const Transform pose{{kSpacing * (i - 0.5 * kRollers + 0.5), 0, kHeight - kRadius}, lying.rotation};
    const int roller =
        add_part(b, name, 0, pose, cylinder(kRadius, 0.25), {.density = 800.0, .friction = 0.6, .color = color(7)});
    Joint hinge;
    hinge.name = name;
    hinge.body = roller;
    hinge.axis = -Vector3::UnitZ();  // the world's y: the top runs along x
    hinge.damping = 0.01;
    const int joint = b.add_joint(std::move(hinge));
    Actuator motor;  // torque = 0.5 (wanted - speed)
    motor.name = name;
    motor.target = joint;
    motor.bias_type = ActuatorBias::kAffine;
    motor.gain = {0.5, 0, 0};
    motor.bias = {0, 0, -0.5};
    motor.force_limited = true;
    motor.force_range = {-5.0, 5.0};
    b.add_actuator(std::move(motor));
  }
  for (int i = 0; i < arguments.integer("n"); ++i) {
    add_free(b, "parcel" + std::to_string(i + 1),
             {{-0.8 + 0.28 * i, 0.04 * (i % 3 - 1), kHeight + 0.09}, about({0, 0, 1}, 0.2 * i)},
             box({0.1, 0.08 + 0.01 * (i % 3), 0.08}), {.density = 150.0, .friction = 0.6, .color = color(i)});
  }
  Scene scene = scene_of(b.build());
  scene.control = VectorX::Constant(scene.model->nu, speed / kRadius);
  scene.duration = 5.0;
  return scene;
}

}  // namespace touchstone::makers
