// Parallel and legged mechanisms: platforms on legs, Jansen's walker, a leg whose springs are driven over rods.
#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "touchstone/scenes/assembly.hpp"
#include "touchstone/scenes/makers.hpp"

namespace touchstone::makers {

using namespace workshop;

namespace {

Vector3 around(double radius, double angle, double z) {
  return {radius * std::cos(angle), radius * std::sin(angle), z};
}

}  // namespace

Scene stewart(const SceneArguments& arguments) {
  Assembly a("stewart");
  const Vector3 top(0, 0, 0.7);
  const int platform = a.part("platform", 0, top, cylinder(0.3, 0.02), top, 10.0);
  a.free(platform, "platform");
  for (int i = 0; i < 6; ++i) {
    // Pairs of feet 120 degrees apart, pairs of heads between them.
    const int pair = i / 2;
    const double side = i % 2 == 0 ? -1.0 : 1.0, corner = 2.0 * std::numbers::pi / 3.0 * pair;
    const Vector3 foot = around(0.5, corner + side * 0.25, 0.0);
    const Vector3 head = around(0.28, corner + side * (std::numbers::pi / 3.0 - 0.2), 0.68);
    const std::string number = std::to_string(i + 1);
    const Vector3 along = (head - foot).normalized();
    const int cylinder_body = a.bar("cylinder" + number, 0, foot, foot + 0.4 * along, 1.0, 0.03);
    a.universal(cylinder_body, "foot" + number, along);
    const int rod = a.bar("rod" + number, cylinder_body, foot + 0.3 * along, head, 0.5, 0.015);
    const int slide = a.slide(rod, "leg" + number, along);
    a.connect("head" + number, platform, rod, head);
    a.position_servo("leg" + number, slide, 2e4, 5e2);
  }
  Scene scene = a.scene();
  scene.control = VectorX::Zero(6);
  for (int i = 0; i < 6; ++i) scene.control[i] = arguments.number("lift") * (i % 2 == 0 ? 1.0 : -0.5);
  return scene;
}

Scene delta(const SceneArguments& arguments) {
  constexpr double kBase = 0.2, kArm = 0.3, kRod = 0.7, kPlatform = 0.06, kHalfWidth = 0.06;
  Assembly a("delta");
  const double x = kBase + kArm - kPlatform;  // arms lie level
  const double drop = std::sqrt(kRod * kRod - x * x);
  const Vector3 center(0, 0, -drop);
  const int platform = a.part("platform", 0, center, cylinder(0.08, 0.01), center, 0.3);
  a.free(platform, "platform");
  for (int i = 0; i < 3; ++i) {
    const double angle = 2.0 * std::numbers::pi / 3.0 * i;
    const Vector3 out = around(1.0, angle, 0.0), across(-out.y(), out.x(), 0.0);
    const std::string number = std::to_string(i + 1);
    const int arm = a.bar("arm" + number, 0, kBase * out, (kBase + kArm) * out, 0.5, 0.02);
    const int motor = a.hinge(arm, "arm" + number, across);
    a.position_servo("arm" + number, motor, 200.0, 5.0);
    for (const double side : {-1.0, 1.0}) {
      const std::string name = fmt::format("rod{}{}", number, side < 0 ? "a" : "b");
      const Vector3 elbow = (kBase + kArm) * out + side * kHalfWidth * across;
      const Vector3 wrist = kPlatform * out + side * kHalfWidth * across + center;
      const int rod = a.bar(name, arm, elbow, wrist, 0.05, 0.01);
      a.universal(rod, name, wrist - elbow);
      a.connect(name, platform, rod, wrist);
    }
  }
  Scene scene = a.scene();
  scene.control = VectorX::Constant(3, arguments.number("angle"));
  scene.control[0] *= 0.5;
  return scene;
}

namespace {

// Theo Jansen's lengths, in hundredths of a metre.
constexpr double kA = 0.380, kB = 0.415, kC = 0.393, kD = 0.401, kE = 0.558, kF = 0.394, kG = 0.367, kH = 0.657,
                 kI = 0.490, kJ = 0.500, kK = 0.619, kL = 0.078, kM = 0.150;

struct JansenLeg {
  Vector3 M, Z, J, Y, N, X, foot;  // for a leg to the left, in the plane x-z
};

JansenLeg jansen_leg(double crank) {
  JansenLeg leg;
  leg.M = {kM * std::cos(crank), 0.0, kM * std::sin(crank)};
  leg.Z = {-kA, 0.0, -kL};
  leg.J = circles_meet(leg.M, kJ, leg.Z, kB, false);
  leg.Y = circles_meet(leg.J, kE, leg.Z, kD, false);
  leg.N = circles_meet(leg.M, kK, leg.Z, kC, true);
  leg.X = circles_meet(leg.Y, kF, leg.N, kG, false);
  leg.foot = circles_meet(leg.X, kH, leg.N, kI, false);
  return leg;
}

Vector3 placed(const Vector3& p, double mirror, double y, double height) { return {mirror * p.x(), y, p.z() + height}; }

// A leg with its six bodies and three loops; `mirror` -1: to the right.
void add_leg(Assembly& a, int chassis, int crank, const JansenLeg& leg, double mirror, double y, double height,
             const std::string& name) {
  const auto at_place = [&](const Vector3& p) { return placed(p, mirror, y, height); };
  const auto bar = [&](const std::string& part, int parent, const Vector3& from, const Vector3& to) {
    const int body = a.bar(name + part, parent, at_place(from), at_place(to), 0.2, 0.01);
    a.hinge(body, name + part, kPlanarAxis);
    return body;
  };
  const auto rib = [&](int body, const Vector3& from, const Vector3& to) {
    const Vector3 along = at_place(to) - at_place(from);
    a.add_shape(
        body, capsule(0.01, 0.5 * along.norm()),
        {0.5 * (at_place(from) + at_place(to)) - a.origin(body), Quaternion::FromTwoVectors(Vector3::UnitZ(), along)},
        false);
  };
  const int upper = bar("upper", chassis, leg.Z, leg.Y);
  rib(upper, leg.Z, leg.J);
  rib(upper, leg.J, leg.Y);
  const int lower = bar("lower", chassis, leg.Z, leg.N);
  const int foot = bar("foot", lower, leg.N, leg.foot);
  rib(foot, leg.N, leg.X);
  rib(foot, leg.X, leg.foot);
  a.add_shape(foot, sphere(0.02), Transform{at_place(leg.foot) - a.origin(foot)}, true);
  const int j = bar("j", crank, leg.M, leg.J), k = bar("k", crank, leg.M, leg.N), f = bar("f", upper, leg.Y, leg.X);
  a.connect(name + "J", j, upper, at_place(leg.J));
  a.connect(name + "N", k, lower, at_place(leg.N));
  a.connect(name + "X", f, foot, at_place(leg.X));
}

}  // namespace

Scene jansen(const SceneArguments& arguments) {
  const int pairs = arguments.integer("pairs");
  double lowest = 0.0;
  for (const double crank : {0.0, std::numbers::pi}) lowest = std::min(lowest, jansen_leg(crank).foot.z());
  const double height = 0.021 - lowest;
  Assembly a("jansen");
  add_ground(a.builder(), 0.8);
  const Vector3 center(0, 0, height);
  const int chassis = a.part("chassis", 0, center, box({kA, 0.5 * 0.25 * pairs, 0.03}), center, 4.0);
  a.free(chassis, "chassis");
  a.add_shape(chassis, box({kA, 0.5 * 0.25 * pairs, 0.03}), Transform(), true);
  const int crank = a.part("crank", chassis, center, sphere(0.04), center, 0.5);
  const int shaft = a.hinge(crank, "crank", kPlanarAxis);
  a.builder().joint(shaft).armature = 0.01;
  for (int i = 0; i < pairs; ++i) {
    const double y = 0.25 * (i - 0.5 * (pairs - 1));
    const double phase = i % 2 == 0 ? 0.0 : std::numbers::pi;  // every other pair stands, on both sides of the middle
    // Seen from the other side the crank turns the other way: the angle of a mirrored leg is pi minus the crank's.
    add_leg(a, chassis, crank, jansen_leg(phase), 1.0, y, height, fmt::format("left{}.", i + 1));
    add_leg(a, chassis, crank, jansen_leg(std::numbers::pi - phase), -1.0, y + 0.06, height,
            fmt::format("right{}.", i + 1));
  }
  a.velocity_servo("walk", shaft, 20.0, 100.0);
  Scene scene = a.scene();
  scene.control = VectorX::Constant(1, arguments.number("speed"));
  return scene;
}

// A leg of a bird-like robot: the tarsus hangs on the shin, held over a long rod by a leaf spring at the heel; the foot
// is driven over a crank and a short rod.
Scene spring_leg(const SceneArguments& arguments) {
  const Vector3 hip(0, 0, 1.0), knee(0.12, 0, 0.6), ankle(-0.25, 0, 0.35), toe_joint(0.05, 0, 0.08);
  const Vector3 heel(-0.32, 0, 0.30), rod_top(0.02, 0, 0.95), crank_tip(-0.16, 0, 0.24), foot_pin(0.0, 0, 0.05);
  Assembly a("spring-leg");
  const int thigh = a.bar("thigh", 0, hip, knee, 5.0, 0.04);
  const int hip_joint = a.hinge(thigh, "hip", kPlanarAxis);
  const int shin = a.bar("shin", thigh, knee, ankle, 0.6, 0.02);
  const int knee_joint = a.hinge(shin, "knee", kPlanarAxis);
  const int tarsus = a.bar("tarsus", shin, ankle, toe_joint, 0.8, 0.02);
  a.hinge(tarsus, "tarsus", kPlanarAxis);
  const int spring = a.bar("heel-spring", tarsus, ankle, heel, 0.1, 0.01);
  const int leaf = a.hinge(spring, "heel-spring", kPlanarAxis);
  a.builder().joint(leaf).stiffness = arguments.number("stiffness");
  a.builder().joint(leaf).damping = 1.0;
  const int rod = a.bar("achilles-rod", thigh, rod_top, heel, 0.16, 0.01);
  a.universal(rod, "achilles-rod", heel - rod_top);
  a.connect("achilles", rod, spring, heel);
  const Vector3 crank_axis(-0.12, 0, 0.28);
  const int crank = a.bar("foot-crank", tarsus, crank_axis, crank_tip, 0.05, 0.01);
  const int crank_joint = a.hinge(crank, "foot-crank", kPlanarAxis);
  const int plantar = a.bar("plantar-rod", crank, crank_tip, foot_pin, 0.08, 0.008);
  a.hinge(plantar, "plantar-rod", kPlanarAxis);
  const int foot = a.bar("foot", tarsus, toe_joint, toe_joint + Vector3(0.1, 0, -0.06), 0.15, 0.02);
  a.hinge(foot, "foot", kPlanarAxis);
  a.connect("plantar", plantar, foot, foot_pin);
  a.position_servo("hip", hip_joint, 300.0, 20.0);
  a.position_servo("knee", knee_joint, 300.0, 20.0);
  a.position_servo("foot", crank_joint, 50.0, 2.0);
  return a.scene();
}

}  // namespace touchstone::makers
