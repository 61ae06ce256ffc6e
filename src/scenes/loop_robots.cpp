// The robots of Tsounis et al. 2025, Tab. II, from primitives: the same bodies, joints, constraints, mass ratio and
// base. And a leg with the linkages of Agility's Digit.
#include <string>

#include "touchstone/scenes/figure.hpp"
#include "touchstone/scenes/makers.hpp"

namespace touchstone::makers {

using namespace workshop;

namespace {

const Vector3 kX = Vector3::UnitX(), kY = Vector3::UnitY(), kZ = Vector3::UnitZ();

std::string side_of(double s) { return s > 0 ? "left-" : "right-"; }

}  // namespace

// Reaches for a table.
Scene arm7d(const SceneArguments& arguments) {
  const double ratio = 19.54, lightest = 0.25;
  Figure f("arm7d", lightest, ratio * lightest, false, 7);
  Assembly& a = f.assembly();
  add_ground(a.builder(), 0.6);
  add_fixed(a.builder(), "table", {Vector3(0.62, 0, 0.2), Quaternion::Identity()}, box({0.25, 0.3, 0.2}),
            {.friction = 0.6, .color = {0.7, 0.6, 0.5, 1}});
  int body = f.base(fixed_base(arguments.choice("fixed")), {0, 0, 0.1}, {0.1, 0.1, 0.1});
  const Vector3 p[] = {{0, 0, 0.2},     {0, 0, 0.35},    {0.08, 0, 0.55}, {0.15, 0, 0.75},
                       {0.32, 0, 0.72}, {0.47, 0, 0.68}, {0.54, 0, 0.60}, {0.58, 0, 0.48}};
  const Vector3 axis[] = {kZ, kY, p[3] - p[2], kY, p[5] - p[4], kY, p[7] - p[6]};
  const double mass[] = {4.0, 3.5, 2.5, 2.5, 1.5, 1.0, lightest};
  for (int i = 0; i < 7; ++i) body = f.link("joint" + std::to_string(i + 1), body, p[i], p[i + 1], axis[i], mass[i]);
  f.foot(body, p[7], 0.03);
  Scene scene = f.scene();
  scene.control << 0.2, 0.3, 0.2, 0.35, 0.1, 0.1, 0.2;
  return scene;
}

Scene loop_quadruped(const SceneArguments& arguments) {
  const double ratio = 29.07, lightest = 0.2, height = 0.45 + arguments.number("drop");
  Figure f("loop-quadruped", lightest, ratio * lightest, false, 12);
  add_ground(f.assembly().builder(), 0.8);
  const int trunk = f.base(Base::kFree, {0, 0, height}, {0.25, 0.1, 0.06});
  f.sole(trunk, {0, 0, height}, {0.25, 0.1, 0.06});
  for (const double x : {0.2, -0.2}) {
    for (const double s : {1.0, -1.0}) {
      const std::string name = side_of(s) + (x > 0 ? "front-" : "hind-");
      const Vector3 hip(x, 0.1 * s, height), top(x, 0.17 * s, height), knee(x - 0.12, 0.17 * s, height - 0.17);
      const Vector3 toe(x + 0.02, 0.17 * s, height - 0.38);
      const int abduction = f.link(name + "hip", trunk, hip, top, kX, 0.8);
      const int thigh = f.link(name + "thigh", abduction, top, knee, kY, 1.0);
      const int shank = f.link(name + "shank", thigh, knee, toe, kY, lightest);
      f.foot(shank, toe, 0.025);
    }
  }
  return f.scene();
}

namespace {

// Yaw, roll, pitch, knee, ankle, and for a sixth joint the ankle's roll; the foot has a sole.
void add_walking_leg(Figure& f, int pelvis, double s, const Vector3& hip, double length, int joints, double mass,
                     double foot_mass) {
  const std::string name = side_of(s);
  const double thigh = 0.48 * length, shank = 0.42 * length;
  const Vector3 below = hip - Vector3(0, 0, 0.03), roll = hip - Vector3(0, 0, 0.06);
  const Vector3 knee = roll + Vector3(0.1 * length, 0, -thigh), ankle = knee + Vector3(-0.1 * length, 0, -shank);
  int body = f.link(name + "yaw", pelvis, hip, below, kZ, 0.5 * mass);
  body = f.link(name + "roll", body, below, roll, kX, 0.5 * mass);
  body = f.link(name + "pitch", body, roll, knee, kY, mass);
  body = f.link(name + "knee", body, knee, ankle, kY, 0.7 * mass);
  if (joints == 6) {
    const Vector3 lower = ankle - Vector3(0, 0, 0.02);
    body = f.link(name + "ankle", body, ankle, lower, kY, foot_mass);
    body = f.link(name + "ankle-roll", body, lower, lower + Vector3(0.05, 0, -0.01), kX, 0.5 * mass);
    f.sole(body, lower + Vector3(0.02, 0, -0.03), {0.1, 0.04, 0.01});
    return;
  }
  body = f.link(name + "ankle", body, ankle, ankle + Vector3(0.05, 0, -0.01), kY, foot_mass);
  f.sole(body, ankle + Vector3(0.02, 0, -0.02), {0.09, 0.035, 0.01});
}

}  // namespace

// A small biped: two legs of five joints, a neck and head of four.
Scene bdx(const SceneArguments& arguments) {
  const double ratio = 42.49, lightest = 0.15, height = 0.42 + arguments.number("drop");
  Figure f("bdx", lightest, ratio * lightest, false, 14);
  add_ground(f.assembly().builder(), 0.8);
  const int trunk = f.base(Base::kFree, {0, 0, height}, {0.1, 0.08, 0.06});
  f.sole(trunk, {0, 0, height}, {0.1, 0.08, 0.06});
  for (const double s : {1.0, -1.0}) add_walking_leg(f, trunk, s, {0, 0.08 * s, height - 0.03}, 0.3, 5, 0.8, 0.25);
  const Vector3 n0(0.06, 0, height + 0.06), n1(0.1, 0, height + 0.16), n2(0.15, 0, height + 0.2),
      n3(0.18, 0, height + 0.22), n4(0.24, 0, height + 0.24);
  int body = f.link("neck", trunk, n0, n1, kY, 0.4);
  body = f.link("head-pitch", body, n1, n2, kY, lightest);
  body = f.link("head-yaw", body, n2, n3, kZ, 0.2);
  body = f.link("head-roll", body, n3, n4, kX, 0.8);
  f.foot(body, n4, 0.05);
  Scene scene = f.scene();
  scene.control *= 0.3;  // stands
  return scene;
}

// A humanoid: two legs of six joints, two arms of four.
Scene lima(const SceneArguments& arguments) {
  const double ratio = 321.39, lightest = 0.05, height = 0.82 + arguments.number("drop");
  Figure f("lima", lightest, ratio * lightest, false, 20);
  add_ground(f.assembly().builder(), 0.8);
  const int trunk = f.base(Base::kFree, {0, 0, height + 0.25}, {0.1, 0.16, 0.25});
  f.sole(trunk, {0, 0, height + 0.25}, {0.1, 0.16, 0.25});
  for (const double s : {1.0, -1.0}) {
    add_walking_leg(f, trunk, s, {0, 0.1 * s, height}, 0.75, 6, 3.0, 0.1);
    const std::string name = side_of(s);
    const Vector3 shoulder(0, 0.2 * s, height + 0.45), out = shoulder + Vector3(0, 0.05 * s, 0),
                                                       elbow = out + Vector3(0.02, 0.03 * s, -0.27),
                                                       hand = elbow + Vector3(0.12, 0, -0.2);
    int body = f.link(name + "shoulder", trunk, shoulder, out, kY, 1.0);
    body = f.link(name + "arm", body, out, out + 0.3 * (elbow - out), kX, 0.8);
    body = f.link(name + "upper-arm", body, out + 0.3 * (elbow - out), elbow, kZ, 0.8);
    body = f.link(name + "forearm", body, elbow, hand, kY, s > 0 ? lightest : 0.4);
    f.foot(body, hand, 0.04);
  }
  Scene scene = f.scene();
  scene.control *= 0.3;
  return scene;
}

// Hip, knee, shin and tarsus: the tarsus is held over a long rod from the hip; two motors on the shin move the foot,
// which pitches and rolls on a universal joint, over rods on both sides of it.
Scene digit_leg(const SceneArguments& arguments) {
  const Vector3 hip(0, 0, 1.0), knee(0.1, 0, 0.62), hock(-0.2, 0, 0.4), ankle(0.02, 0, 0.06);
  Assembly a("digit-leg");
  a.builder().options().integrator = "implicitfast";
  add_ground(a.builder(), 0.8);
  const int carriage = a.part("carriage", 0, hip, box({0.1, 0.1, 0.05}), hip, 10.0);
  a.slide(carriage, "carriage", kZ);
  const int thigh = a.bar("thigh", carriage, hip, knee, 5.0, 0.04);
  const int hip_joint = a.hinge(thigh, "hip", kPlanarAxis);
  const int shin = a.bar("shin", thigh, knee, hock, 1.2, 0.025);
  const int knee_joint = a.hinge(shin, "knee", kPlanarAxis);
  a.builder().joint(knee_joint).stiffness = 20.0;
  const int tarsus = a.bar("tarsus", shin, hock, ankle, 1.0, 0.02);
  a.hinge(tarsus, "tarsus", kPlanarAxis);
  const Vector3 rod_top(0.03, 0.05, 0.98), heel = hock + Vector3(-0.06, 0.05, -0.05);
  const int achilles = a.bar("achilles-rod", thigh, rod_top, heel, 0.16, 0.01);
  a.universal(achilles, "achilles-rod", heel - rod_top);
  a.loop("achilles", LoopJointType::kSpherical, achilles, tarsus, heel, kZ);
  const int foot = a.part("foot", tarsus, ankle, box({0.1, 0.04, 0.012}), ankle + Vector3(0.03, 0, -0.03), 0.5);
  a.hinge(foot, "foot-pitch", kY);
  a.hinge(foot, "foot-roll", kX);
  a.add_shape(foot, box({0.1, 0.04, 0.012}), Transform{Vector3(0.03, 0, -0.03)}, true);
  std::vector<int> motors;
  for (const double s : {1.0, -1.0}) {
    const std::string name = side_of(s) + "toe";
    const Vector3 pivot(-0.12, 0.06 * s, 0.28 + 0.04 * s), tip = pivot + Vector3(-0.05, 0, -0.03);
    const Vector3 lever = ankle + Vector3(-0.06, 0.05 * s, 0.01);
    const int crank = a.bar(name + "-crank", tarsus, pivot, tip, 0.05, 0.01);
    motors.push_back(a.hinge(crank, name + "-crank", kPlanarAxis));
    const int rod = a.bar(name + "-rod", crank, tip, lever, 0.05, 0.008);
    a.universal(rod, name + "-rod", lever - tip);
    a.loop(name, LoopJointType::kSpherical, rod, foot, lever, kZ);
  }
  a.position_servo("hip", hip_joint, 800.0, 40.0);
  a.position_servo("knee", knee_joint, 800.0, 40.0);
  for (std::size_t i = 0; i < motors.size(); ++i) a.position_servo(i == 0 ? "toe-a" : "toe-b", motors[i], 60.0, 2.0);
  Scene scene = a.scene();
  scene.control = VectorX::Zero(4);
  scene.control[1] = arguments.number("bend");
  return scene;
}

}  // namespace touchstone::makers
