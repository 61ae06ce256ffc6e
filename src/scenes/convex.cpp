// The cases of Castro et al. 2025 (Irrotational contact fields), sections XI and XII, with its parameters.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "touchstone/scenes/makers.hpp"
#include "touchstone/scenes/workshop.hpp"

namespace touchstone::makers {

using namespace workshop;

namespace {

constexpr double kTurn = 2.0 * std::numbers::pi;
constexpr double kGravity = 9.81;
const Color kFloor(0.75, 0.76, 0.78, 1.0);
constexpr double kFar = 0.1, kNear = 0.02;  // m: pairs as far as this take part; X-A has 10 cm

// Both sides of a contact give way alike, so each has twice the stiffness and half the relaxation time.
Stuff steel(const SceneArguments& arguments, double friction) {
  Stuff stuff;
  stuff.friction = friction;
  stuff.stiffness = 2.0 * arguments.number("stiffness");
  stuff.dissipation = arguments.number("dissipation");
  stuff.relaxation_time = 0.5 * arguments.number("relaxation");
  return stuff;
}

// Corners touch everything; boxes touch corners and balls, not each other.
constexpr unsigned kBox = 1, kBall = 2;

void set_filter(ShapeElement& shape, unsigned type, unsigned affinity) {
  shape.contact_type = type;
  shape.contact_affinity = affinity;
}

ShapeElement& last_shape(ModelBuilder& b) { return b.shape(static_cast<int>(b.shapes().size()) - 1); }

// A cube with a ball in each corner, flush with its faces.
void add_cornered_box(ModelBuilder& b, const std::string& name, const Transform& pose, double half, double corner,
                      const Stuff& stuff) {
  const int body = add_free(b, name, pose, box(Vector3::Constant(half)), stuff);
  set_filter(last_shape(b), kBox, kBall);
  ShapeElement ball = last_shape(b);
  ball.shape = sphere(corner);
  ball.body = body;
  set_filter(ball, kBall, kBox | kBall);
  for (int i = 0; i < 8; ++i) {
    const auto side = [&](int axis) { return ((i >> axis) & 1) != 0 ? half - corner : corner - half; };
    ball.name = name + "-corner" + std::to_string(i + 1);
    ball.pose.position = {side(0), side(1), side(2)};
    b.add_shape(ball);
  }
}

void use_compliant_contact(Scene& scene, double time_step, double margin) {
  scene.options.solver = "lagged";
  scene.options.time_step = time_step;
  scene.options.collision.margin = margin;
}

void add_joint(ModelBuilder& b, const std::string& name, int body, JointType type, const Vector3& axis,
               double armature = 0.0) {
  Joint joint;
  joint.name = name;
  joint.body = body;
  joint.type = type;
  joint.axis = axis;
  joint.armature = armature;
  b.add_joint(std::move(joint));
}

}  // namespace

// XI-B.
Scene convex_sphere(const SceneArguments& arguments) {
  constexpr double kRadius = 0.025, kMass = 0.5, kHeight = 0.05, kSpeed = 2.0, kFriction = 0.5;
  ModelBuilder b("convex-sphere");
  Stuff stuff = steel(arguments, kFriction);
  stuff.color = kFloor;
  add_fixed(b, "ground", {}, {.type = ShapeType::kPlane}, stuff);
  stuff.color = color(1);
  stuff.density = density_for(sphere(kRadius), kMass);
  add_free(b, "sphere", {{0, 0, kRadius + kHeight}}, sphere(kRadius), stuff);
  Scene scene = scene_of(b.build());
  set_velocity(scene, "sphere", {kSpeed, 0, 0});
  use_compliant_contact(scene, 2e-3, kFar);
  scene.duration = 0.3;
  return scene;
}

// XI-C: in the plane, its leading end on the ground.
Scene convex_rod(const SceneArguments& arguments) {
  constexpr double kRadius = 0.005, kLength = 0.5, kMass = 0.3, kSpeed = 10.0, kFriction = 2.3;
  constexpr double kAngle = kTurn / 12.0, kArm = 0.5 * kLength - kRadius;
  ModelBuilder b("convex-rod");
  Stuff stuff = steel(arguments, kFriction);
  stuff.color = kFloor;
  add_fixed(b, "ground", {}, {.type = ShapeType::kPlane}, stuff);
  stuff.color = color(1);
  stuff.density = 1.0;
  const int rod = add_part(b, "rod", 0, {{0, 0, kArm * std::sin(kAngle) + kRadius}}, sphere(kRadius), stuff);
  const Vector3 thin(1e-4, 1.0, 1.0);
  b.body(rod).inertia = {kMass, Vector3::Zero(), (kMass * kLength * kLength / 12.0 * thin).asDiagonal()};
  ShapeElement& lead = last_shape(b);
  lead.name = "lead";
  lead.pose.position = {kArm, 0, 0};
  ShapeElement trail = lead;
  trail.name = "trail";
  trail.pose.position = {-kArm, 0, 0};
  b.add_shape(trail);
  ShapeElement look;
  look.name = "look";
  look.body = rod;
  look.pose.rotation = about(Vector3::UnitY(), 0.25 * kTurn);
  look.shape = cylinder(kRadius, kArm);
  look.color = color(1);
  look.visual_only = true;
  b.add_shape(look);
  add_joint(b, "x", rod, JointType::kSlide, Vector3::UnitX());
  add_joint(b, "z", rod, JointType::kSlide, Vector3::UnitZ());
  add_joint(b, "angle", rod, JointType::kHinge, Vector3::UnitY());
  Scene scene = scene_of(b.build());
  scene.start.q[2] = kAngle;
  scene.start.v[0] = kSpeed;
  use_compliant_contact(scene, 1e-4, kFar);
  scene.duration = 0.2;
  return scene;
}

// XI-A: a box with a small sphere at each corner. The belt is a heavy slab; pushes of ten milliseconds move it to and
// fro.
Scene convex_conveyor(const SceneArguments& arguments) {
  constexpr double kHalf = 0.025, kMass = 1.0, kFriction = 0.7, kAmplitude = 0.2, kRate = kTurn;
  constexpr double kCorner = 1e-3, kSlab = 0.02, kSlabMass = 1e5, kPush = 0.01, kDuration = 2.0;
  ModelBuilder b("convex-conveyor");
  const Shape slab = box({1.0, 0.2, kSlab});
  Stuff stuff = steel(arguments, kFriction);
  stuff.density = density_for(slab, kSlabMass);
  stuff.color = color(7);
  const int belt = add_part(b, "belt", 0, {{0, 0, -kSlab}}, slab, stuff);
  set_filter(last_shape(b), 0, kBall);
  add_joint(b, "belt", belt, JointType::kSlide, Vector3::UnitX());
  stuff.density = density_for(box(Vector3::Constant(kHalf)), kMass);
  stuff.color = color(0);
  const double depth = 0.25 * kMass * kGravity / arguments.number("stiffness");  // four corners carry it
  add_cornered_box(b, "box", {{0, 0, kHalf - depth}}, kHalf, kCorner, stuff);
  Scene scene = scene_of(b.build());
  set_velocity(scene, "box", {kAmplitude * kRate, 0, 0});
  scene.start.v[0] = kAmplitude * kRate;
  for (double t = 0.0; t < kDuration - 0.5 * kPush; t += kPush) {
    const double change = kAmplitude * kRate * (std::cos(kRate * (t + kPush)) - std::cos(kRate * t));
    scene.pushes.push_back({.body = belt, .force = {kSlabMass * change / kPush, 0, 0}, .start = t, .end = t + kPush});
  }
  use_compliant_contact(scene, 1e-2, kFar);
  scene.duration = kDuration;
  return scene;
}

// XII-A: columns of ten, in a box without a lid.
Scene convex_clutter(const SceneArguments& arguments) {
  constexpr double kHalf = 0.05, kColumn = 0.4, kLayer = 0.12, kCorner = 0.005, kFriction = 1.0, kJitter = 0.01;
  constexpr int kHigh = 10;
  const int n = arguments.integer("n");
  const int columns = (n + kHigh - 1) / kHigh;
  const int side = std::max(2, static_cast<int>(std::ceil(std::sqrt(static_cast<double>(columns)))));
  const double wall = 0.5 * kColumn * side;
  Stuff stuff = steel(arguments, kFriction);
  ModelBuilder b("convex-clutter");
  stuff.color = kFloor;
  add_fixed(b, "floor", {}, {.type = ShapeType::kPlane}, stuff);
  set_filter(last_shape(b), 0, kBall);
  stuff.color = {0.6, 0.7, 0.8, 0.25};
  for (int i = 0; i < 4; ++i) {
    const Quaternion turn = about(Vector3::UnitZ(), 0.25 * kTurn * i);
    const Transform pose{turn * Vector3(-wall, 0, 0), turn * about(Vector3::UnitY(), 0.25 * kTurn)};
    add_fixed(b, "wall" + std::to_string(i + 1), pose, {.type = ShapeType::kPlane}, stuff);
    set_filter(last_shape(b), 0, kBall);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < n; ++i) {
    const int column = i % columns, layer = i / columns;
    const auto place = [&](int k) { return kColumn * (k - 0.5 * (side - 1)) + uniform(random, -kJitter, kJitter); };
    const double x = place(column % side), y = place(column / side);
    const Vector3 position(x, y, 1.2 * kHalf + kLayer * layer);
    const std::string name = "object" + std::to_string(i + 1);
    stuff.color = color(i);
    if ((column + layer) % 2 == 0) {
      add_free(b, name, {position}, sphere(kHalf), stuff);
      set_filter(last_shape(b), kBall, kBox | kBall);
    } else {
      add_cornered_box(b, name, {position}, kHalf, kCorner, stuff);
    }
  }
  Scene scene = scene_of(b.build());
  // Nothing moves so fast that a pair acts from farther away: (24) and the way of a step.
  use_compliant_contact(scene, 2e-3, kNear);
  scene.duration = 3.0;
  return scene;
}

namespace {

// As the fingers of a Franka hand.
void couple_last_joints(ModelBuilder& b) {
  Equality coupler;
  coupler.name = "fingers";
  coupler.type = EqualityType::kJoint;
  coupler.b = static_cast<int>(b.joints().size()) - 1;
  coupler.a = coupler.b - 1;
  b.add_equality(std::move(coupler));
}

// Velocities of the start, and pushes of two milliseconds that turn that of the hand.
void lead_on_circle(Scene& scene, int hand, double rate, double radius, double mass) {
  constexpr double kPush = 2e-3, kDuration = 10.0;
  const auto velocity = [&](double t) {
    return Vector3(rate * radius * Vector3(-std::sin(rate * t), std::cos(rate * t), 0));
  };
  scene.start.v.head<2>() = velocity(0).head<2>();
  set_velocity(scene, "rod", velocity(0));
  for (int i = 0; i < static_cast<int>(std::lround(kDuration / kPush)); ++i) {
    const double t = i * kPush;
    const Vector3 force = mass / kPush * (velocity(t + kPush) - velocity(t));
    scene.pushes.push_back({.body = hand, .force = force, .start = t, .end = t + kPush});
  }
  scene.duration = kDuration;
}

}  // namespace

// XII-B: a hand that runs on a circle of 3 cm, two fingers that close with 20 N each and touch with two small balls, a
// rod that hangs from them. The hand slides along x and y, for then its velocity at the end of a step is that of its
// joints: with a crank, whose direction is that of the start of the step, the grasped rod would lag by a h^2 in every
// step. It is so heavy that the rod does not disturb it; pushes lead it.
Scene convex_grasp(const SceneArguments& arguments) {
  constexpr double kCircle = 0.03, kRadius = 0.0125, kLength = 0.2, kGrip = 0.02, kForce = 20.0, kFriction = 0.7;
  constexpr double kHeavy = 1e6, kFinger = 0.01, kPad = 0.003, kPadHeight = 0.008, kHeight = 0.5;
  const double rate = kTurn * arguments.number("frequency");
  ModelBuilder b("convex-grasp");
  Stuff grey = steel(arguments, kFriction), bronze = grey;
  grey.density = 500.0;
  grey.color = kFloor;
  const int carriage = add_part(b, "carriage", 0, {{kCircle, 0, kHeight + 0.1}}, box({0.05, 0.01, 0.005}), grey);
  set_filter(last_shape(b), 0, 0);
  add_joint(b, "x", carriage, JointType::kSlide, Vector3::UnitX(), kHeavy);
  const int hand = add_part(b, "hand", carriage, {{0, 0, -0.02}}, box({0.03, 0.06, 0.01}), grey);
  set_filter(last_shape(b), 0, 0);
  add_joint(b, "y", hand, JointType::kSlide, Vector3::UnitY(), kHeavy);
  for (const double side : {-1.0, 1.0}) {
    const std::string name = side < 0 ? "right" : "left";
    const Vector3 place(0, side * (kRadius + 2.0 * kPad + kFinger), -0.08);
    const int finger = add_part(b, name, hand, {place}, box({0.01, kFinger, 0.015}), grey);
    set_filter(last_shape(b), 0, 0);
    ShapeElement pad = last_shape(b);
    pad.shape = sphere(kPad);
    set_filter(pad, kBall, kBox);
    for (const double up : {-1.0, 1.0}) {
      pad.name = name + (up < 0 ? "-lower" : "-upper");
      pad.pose.position = {0, -side * (kFinger + kPad), up * kPadHeight};
      b.add_shape(pad);
    }
    add_joint(b, name, finger, JointType::kSlide, -side * Vector3::UnitY());
    Actuator motor;
    motor.name = name;
    motor.target = static_cast<int>(b.joints().size()) - 1;
    b.joint(motor.target).damping = 20.0;
    b.add_actuator(std::move(motor));
  }
  couple_last_joints(b);
  bronze.density = 8000.0;
  bronze.color = color(0);
  add_free(b, "rod", {{kCircle, 0, kHeight + kGrip - 0.5 * kLength}}, cylinder(kRadius, 0.5 * kLength), bronze);
  set_filter(last_shape(b), kBox, kBall);
  Scene scene = scene_of(b.build());
  scene.control = VectorX::Constant(2, kForce);
  scene.start.q.segment<2>(2).setConstant(0.5 * kForce / arguments.number("stiffness"));  // pressed already
  lead_on_circle(scene, hand, rate, kCircle, kHeavy);
  use_compliant_contact(scene, 2e-4, kNear);
  return scene;
}

}  // namespace touchstone::makers
