// Linkages: closed chains that a formula or a count is known for. Planar ones lie in the plane x-z; angles count from x
// to z, so hinges turn about -y.
#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "touchstone/scenes/assembly.hpp"
#include "touchstone/scenes/makers.hpp"

namespace touchstone::makers {

using namespace workshop;

namespace {

constexpr double kRadiansOfDegree = std::numbers::pi / 180.0;

Vector3 polar(double radius, double angle) { return {radius * std::cos(angle), 0.0, radius * std::sin(angle)}; }

// All hinges of a finished scene.
void damp_hinges(Assembly& a, double damping) {
  for (std::size_t j = 0; j < a.builder().joints().size(); ++j)
    a.builder().joint(static_cast<int>(j)).damping = damping;
}

}  // namespace

Scene four_bar(const SceneArguments& arguments) {
  const double crank = arguments.number("crank"), coupler = arguments.number("coupler");
  const double rocker = arguments.number("rocker"), ground = arguments.number("ground");
  const bool left = arguments.choice("branch") == "open";
  const Vector3 A = Vector3::Zero(), D(ground, 0, 0), B = polar(crank, arguments.number("angle") * kRadiansOfDegree);
  const Vector3 C = circles_meet(B, coupler, D, rocker, left);
  Assembly a("four-bar");
  const double width = 0.02 * (crank + coupler + rocker);
  const int first = a.bar("crank", 0, A, B, 1.0 * crank, width);
  const int second = a.bar("coupler", first, B, C, 1.0 * coupler, width);
  const int third = a.bar("rocker", second, C, D, 1.0 * rocker, width);
  a.hinge(first, "crank", kPlanarAxis);
  a.hinge(second, "coupler", kPlanarAxis);
  a.hinge(third, "rocker", kPlanarAxis);
  if (arguments.choice("joint") == "pin") {
    a.pin("ground", third, 0, D, kPlanarAxis, width);
  } else {
    a.connect("ground", third, 0, D);
  }
  damp_hinges(a, arguments.number("damping"));
  return a.scene();
}

Scene slider_crank(const SceneArguments& arguments) {
  const double crank = arguments.number("crank"), rod = arguments.number("rod");
  const double angle = arguments.number("angle") * kRadiansOfDegree;
  const Vector3 B = polar(crank, angle);
  const Vector3 C(B.x() + std::sqrt(std::max(0.0, rod * rod - B.z() * B.z())), 0.0, 0.0);
  Assembly a("slider-crank");
  const int first = a.bar("crank", 0, Vector3::Zero(), B, 1.0, 0.1 * crank);
  const int second = a.bar("rod", first, B, C, 1.0, 0.1 * crank);
  const int piston = a.part("piston", 0, C, box({0.3 * crank, 0.3 * crank, 0.3 * crank}), C, 2.0);
  const int shaft = a.hinge(first, "crank", kPlanarAxis);
  a.hinge(second, "rod", kPlanarAxis);
  a.slide(piston, "piston", Vector3::UnitX());
  a.pin("piston", second, piston, C, kPlanarAxis, 0.1 * crank);
  a.velocity_servo("engine", shaft, 50.0, 200.0);
  Scene scene = a.scene();
  scene.control = VectorX::Constant(1, arguments.number("speed"));
  return scene;
}

// Bennett's linkage: four skew hinges that count as -2 dofs and have one. Links of length a and b with twists
// sin(alpha)/a = sin(beta)/b; tan(t1/2) tan(t2/2) = sin((beta + alpha)/2) / sin((beta - alpha)/2).
Scene bennett(const SceneArguments& arguments) {
  const double length = 0.5, alpha = arguments.number("twist") * kRadiansOfDegree, ratio = arguments.number("ratio");
  const double beta = std::asin(ratio * std::sin(alpha));
  const double theta = arguments.number("angle") * kRadiansOfDegree;
  const double other =
      2.0 * std::atan(std::sin(0.5 * (beta + alpha)) / std::sin(0.5 * (beta - alpha)) / std::tan(0.5 * theta));
  const std::array<double, 3> turn{theta, other, 2.0 * std::numbers::pi - theta};
  std::array<Transform, 4> joint;
  Transform frame;
  for (std::size_t i = 0; i < 4; ++i) {
    joint[i] = frame;
    if (i == 3) break;
    const double reach = i % 2 == 0 ? length : ratio * length, twist = i % 2 == 0 ? alpha : beta;
    frame = frame * Transform{Vector3::Zero(), about(Vector3::UnitZ(), turn[i])} *
            Transform{Vector3(reach, 0, 0), about(Vector3::UnitX(), twist)};
  }
  const auto axis = [&](std::size_t i) { return Vector3(joint[i].rotation * Vector3::UnitZ()); };
  Assembly a("bennett");
  int body = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string name = fmt::format("link{}", i + 1);
    body = a.bar(name, body, joint[i].position, joint[i + 1].position, 1.0);
    a.hinge(body, name, axis(i));
  }
  a.pin("ground", body, 0, joint[3].position, axis(3), 0.1);
  return a.scene();
}

// A plate on points that are held whole: three rows each, more than a plate can tell apart.
Scene table(const SceneArguments& arguments) {
  const int n = arguments.integer("supports");
  Assembly a("table");
  const Vector3 center(0, 0, 0.8);
  const int plate = a.part("plate", 0, center, cylinder(0.5, 0.02), center, 10.0);
  a.free(plate, "plate");
  for (int i = 0; i < n; ++i) {
    const double angle = 2.0 * std::numbers::pi * i / n;
    const Vector3 point(0.45 * std::cos(angle), 0.45 * std::sin(angle), 0.78);
    a.connect(fmt::format("support{}", i + 1), plate, 0, point);
  }
  return a.scene();
}

// Rails and rungs that hang from the world: a loop for each rung.
Scene ladder(const SceneArguments& arguments) {
  const int n = arguments.integer("n");
  const double width = 0.4, height = 0.3;
  Assembly a("ladder");
  const auto left = [&](int i) { return Vector3(0, 0, -height * i); };
  const auto right = [&](int i) { return Vector3(width, 0, -height * i); };
  int rail = 0, rung = 0;
  for (int i = 1; i <= n; ++i) {
    const int above = rung;
    rail = a.bar(fmt::format("left{}", i), rail, left(i - 1), left(i), 0.3);
    a.hinge(rail, fmt::format("left{}", i), kPlanarAxis);
    rung = a.bar(fmt::format("rung{}", i), rail, left(i), right(i), 0.4);
    a.hinge(rung, fmt::format("rung{}", i), kPlanarAxis);
    const int other = a.bar(fmt::format("right{}", i), rung, right(i), right(i - 1), 0.3);
    a.hinge(other, fmt::format("right{}", i), kPlanarAxis);
    a.connect(fmt::format("loop{}", i), other, above, right(i - 1));
  }
  Scene scene = a.scene();
  scene.pushes.push_back({.body = scene.model->body(fmt::format("rung{}", n)), .force = {20, 0, 0}, .end = 0.3});
  return scene;
}

// Crossed bars on a foot that a servo pulls inwards; a plate on top.
Scene scissor_lift(const SceneArguments& arguments) {
  const int n = arguments.integer("n");
  const double half = 0.4, angle = 25.0 * kRadiansOfDegree, dx = 2.0 * half * std::cos(angle),
               dz = 2.0 * half * std::sin(angle);
  Assembly a("scissor-lift");
  const auto corner = [&](double x, int level) { return Vector3(x, 0, dz * level); };
  const int foot = a.part("foot", 0, corner(dx, 0), box({0.05, 0.05, 0.03}), corner(dx, 0), 1.0);
  const int drive = a.slide(foot, "foot", Vector3::UnitX());
  // Rising bars go from the left to the right; falling ones turn on their middle.
  int rising = 0, falling = 0;
  for (int i = 0; i < n; ++i) {
    const int below_rising = rising, below_falling = falling;
    const std::string number = std::to_string(i + 1);
    rising = a.bar("rising" + number, below_falling, corner(0, i), corner(dx, i + 1), 1.0);
    a.hinge(rising, "rising" + number, kPlanarAxis);
    const Vector3 middle = 0.5 * (corner(0, i) + corner(dx, i + 1));
    falling = a.part("falling" + number, rising, middle, sphere(0.03), middle, 1.0);
    const Vector3 along = corner(0, i + 1) - corner(dx, i);
    a.add_shape(falling, capsule(0.02, half), {Vector3::Zero(), Quaternion::FromTwoVectors(Vector3::UnitZ(), along)},
                false);
    a.hinge(falling, "falling" + number, kPlanarAxis);
    a.connect("corner" + number, falling, i == 0 ? foot : below_rising, corner(dx, i));
  }
  const int plate = a.part("plate", falling, corner(0, n), box({0.5 * dx, 0.3, 0.02}),
                           corner(0.5 * dx, n) + Vector3(0, 0, 0.05), 5.0);
  a.hinge(plate, "plate", kPlanarAxis);
  const int roller = a.part("roller", plate, corner(dx, n), sphere(0.04), corner(dx, n), 0.5);
  a.slide(roller, "roller", Vector3::UnitX());
  a.connect("top", rising, roller, corner(dx, n));
  damp_hinges(a, 1.0);
  a.position_servo("lift", drive, 2e4, 2e3);
  Scene scene = a.scene();
  scene.control = VectorX::Constant(1, -arguments.number("pull"));
  return scene;
}

// Planks on hinges between two banks, with a weight that hangs from the middle.
Scene chain_bridge(const SceneArguments& arguments) {
  const int n = arguments.integer("n");
  const double length = 0.25, sag = 0.15;
  Assembly a("chain-bridge");
  const auto place = [&](int i) {
    const double s = static_cast<double>(i) / n;
    return Vector3(length * i, 0, -4.0 * sag * s * (1.0 - s));
  };
  int plank = 0, middle = 0;
  for (int i = 0; i < n; ++i) {
    const std::string name = fmt::format("plank{}", i + 1);
    plank = a.bar(name, plank, place(i), place(i + 1), 0.5);
    a.hinge(plank, name, kPlanarAxis);
    if (i == n / 2) middle = plank;
  }
  a.pin("bank", plank, 0, place(n), kPlanarAxis, 0.3);
  const Vector3 hook = a.origin(middle);
  const int weight =
      a.part("weight", middle, hook, sphere(0.12), hook - Vector3(0, 0, 0.4), 0.5 * arguments.number("ratio"));
  a.hinge(weight, "weight", kPlanarAxis);
  damp_hinges(a, 0.02);
  return a.scene();
}

}  // namespace touchstone::makers
