// Loop joints: motions and forces against closed forms, and against joints of trees.
#include "touchstone/model/loop_joint.hpp"

#include <cmath>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/model/serialize.hpp"
#include "touchstone/sim/loop_reading.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kGravity = 9.81;

MassProperties inertia(double mass, const Vector3& moments, const Vector3& com = Vector3::Zero()) {
  return {mass, com, Matrix3(moments.asDiagonal())};
}

// A frame whose z axis is y of the parent: joints that turn in the plane of x and z.
Transform about_y(const Vector3& p = Vector3::Zero()) {
  return {p, Quaternion::FromTwoVectors(Vector3::UnitZ(), Vector3::UnitY())};
}

SimulatorOptions with_step(double h) {
  SimulatorOptions options;
  options.time_step = h;
  return options;
}

// A rotor about z with moment of inertia 0.5, in loop form and as a tree; both are the same numbers in each step.
struct Rotors {
  static constexpr double kMoment = 0.5;

  static ModelPtr loop(const LoopCoordinate& c, const Actuator* actuator = nullptr) {
    ModelBuilder b;
    b.set_gravity(Vector3::Zero());
    const int rotor = b.add_body({.name = "rotor", .inertia = inertia(2.0, {0.3, 0.4, kMoment})});
    b.add_joint({.body = rotor, .type = JointType::kFree});
    b.add_loop_joint({.name = "axle", .type = LoopJointType::kRevolute, .body_b = rotor, .coordinates = {c}});
    if (actuator != nullptr) {
      Actuator copy = *actuator;
      copy.transmission = TransmissionType::kLoopJoint;
      copy.target = 0;
      b.add_actuator(copy);
    }
    return b.build();
  }
  static ModelPtr tree(const LoopCoordinate& c, const Actuator* actuator = nullptr) {
    ModelBuilder b;
    b.set_gravity(Vector3::Zero());
    const int rotor = b.add_body({.name = "rotor", .inertia = inertia(2.0, {0.3, 0.4, kMoment})});
    Joint joint{.name = "axle", .body = rotor, .limited = c.limited, .range = c.range};
    joint.limit_impedance = c.limit_impedance;
    joint.stiffness = c.stiffness;
    joint.spring_reference = c.spring_reference;
    joint.damping = c.damping;
    joint.armature = c.armature;
    joint.friction = c.friction;
    const int j = b.add_joint(joint);
    if (actuator != nullptr) {
      Actuator copy = *actuator;
      copy.target = j;
      b.add_actuator(copy);
    }
    return b.build();
  }
};

void expect_same_rotation(const ModelPtr& loop, const ModelPtr& tree, double speed, double torque, double control,
                          int steps, double tolerance) {
  Simulator a(loop, with_step(1e-3)), b(tree, with_step(1e-3));
  a.state().v[5] = b.state().v[0] = speed;
  for (Simulator* sim : {&a, &b}) {
    if (sim->model().nu > 0) sim->input().control[0] = control;
  }
  a.input().applied_force[5] = b.input().applied_force[0] = torque;
  for (int i = 0; i < steps; ++i) {
    ASSERT_EQ(a.step().status, StepStatus::kOk);
    b.step();
    const LoopReading reading = a.loop_joint("axle");
    ASSERT_NEAR(reading.position[0], b.state().q[0], tolerance) << i;
    ASSERT_NEAR(reading.velocity[0], b.state().v[0], 10.0 * tolerance) << i;
  }
}

TEST(LoopJoint, SpringsDampersAndArmatureAreThoseOfATree) {
  LoopCoordinate c;
  c.stiffness = 30.0;
  c.spring_reference = 0.4;
  c.damping = 0.7;
  c.armature = 0.2;
  expect_same_rotation(Rotors::loop(c), Rotors::tree(c), 2.0, 0.3, 0.0, 500, 1e-8);
}

TEST(LoopJoint, ServosWithEffortLimitsAreThoseOfATree) {
  Actuator servo;
  servo.bias_type = ActuatorBias::kAffine;
  servo.gain = {400.0, 0.0, 0.0};
  servo.bias = {0.0, -400.0, -20.0};
  servo.gear[0] = 1.5;
  expect_same_rotation(Rotors::loop({}, &servo), Rotors::tree({}, &servo), 0.0, 0.0, 1.0, 500, 1e-8);
  servo.force_limited = true;
  servo.force_range = {-10.0, 10.0};
  expect_same_rotation(Rotors::loop({}, &servo), Rotors::tree({}, &servo), 0.0, 0.0, 1.0, 500, 1e-8);
}

// The load is below dry friction, then above it.
TEST(LoopJoint, DryFrictionHoldsAndThenSlides) {
  LoopCoordinate c;
  c.friction = 1.5;
  for (const double torque : {1.2, 2.5}) {
    Simulator sim(Rotors::loop(c), with_step(1e-3));
    sim.input().applied_force[5] = torque;
    sim.step(100);
    const double rate = std::max(0.0, torque - c.friction) / Rotors::kMoment * 0.1;
    EXPECT_NEAR(sim.loop_joint(0).velocity[0], rate, 1e-9);
    EXPECT_NEAR(sim.loop_joint(0).force[0], -std::min(torque, c.friction), 1e-7);
  }
}

// With solref of a critically damped spring nothing comes back; with little damping it bounces as a tree's limit does.
TEST(LoopJoint, LimitsStopAndBounceAsThoseOfATree) {
  LoopCoordinate c;
  c.limited = true;
  c.range = {-0.1, 0.1};
  expect_same_rotation(Rotors::loop(c), Rotors::tree(c), 3.0, 0.0, 0.0, 300, 1e-8);
  Simulator stopped(Rotors::loop(c), with_step(1e-3));
  stopped.state().v[5] = 3.0;
  stopped.step(300);
  EXPECT_NEAR(stopped.loop_joint(0).velocity[0], 0.0, 1e-9);
  c.limit_impedance.solref = {-2000.0, 0.0};
  expect_same_rotation(Rotors::loop(c), Rotors::tree(c), 3.0, 0.0, 0.0, 300, 1e-8);
  Simulator bounces(Rotors::loop(c), with_step(1e-3));
  bounces.state().v[5] = 3.0;
  bounces.step(50);
  EXPECT_LT(bounces.loop_joint(0).velocity[0], -2.0);
}

TEST(LoopJoint, AnglesCountTurns) {
  Simulator sim(Rotors::loop({.reference = 0.25}), with_step(1e-3));
  sim.state().v[5] = 50.0;
  sim.step(1000);
  EXPECT_NEAR(sim.loop_joint(0).position[0], 50.25, 1e-9);
  // A copy of the state goes on with the same turns, and so does one that was written and read.
  const State read = State::deserialize(sim.state().serialize());
  EXPECT_TRUE(read == sim.state());
  Simulator other(sim.model_ptr(), with_step(1e-3));
  other.reset(read);
  EXPECT_EQ(other.loop_joint(0).position[0], sim.loop_joint(0).position[0]);
  const Simulator::Snapshot snapshot = sim.save();
  sim.step(500);
  const double angle = sim.loop_joint(0).position[0];
  sim.restore(snapshot);
  sim.step(500);
  EXPECT_EQ(sim.loop_joint(0).position[0], angle);
}

// A rod that hangs from the world by a revolute joint; centre of mass half a metre below it.
ModelPtr pendulum(bool as_loop) {
  ModelBuilder b;
  b.set_gravity({0.0, 0.0, -kGravity});
  const int rod = b.add_body({.name = "rod", .inertia = inertia(1.0, {0.08, 0.08, 0.001}, {0, 0, -0.5})});
  if (as_loop) {
    b.add_joint({.body = rod, .type = JointType::kFree});
    b.add_loop_joint(
        {.name = "pivot", .type = LoopJointType::kRevolute, .body_b = rod, .frame_a = about_y(), .frame_b = about_y()});
  } else {
    b.add_joint({.body = rod, .axis = Vector3::UnitY()});
  }
  return b.build();
}

// The body's frame is at the pivot, so that both forms make the same steps. The compliance of the loop would show as
// 1e-11 m/s there and as 1e-11 rad after half a second: its effect is taken out.
TEST(LoopJoint, APendulumInLoopFormIsThatOfATree) {
  for (const double h : {2e-3, 1e-3, 5e-4}) {
    Simulator loop(pendulum(true), with_step(h)), tree(pendulum(false), with_step(h));
    tree.state().q[0] = 1.0;
    loop.state().q.segment<4>(3) << std::cos(0.5), 0.0, std::sin(0.5), 0.0;
    const int steps = static_cast<int>(std::lround(0.5 / h));
    for (int k = 0; k < steps; ++k) {
      loop.step();
      tree.step();
      EXPECT_LT(loop.state().v.head<3>().norm(), 1e-14);
    }
    EXPECT_NEAR(loop.loop_joint(0).position[0], tree.state().q[0], 1e-13);
    EXPECT_LT(loop.loop_joint(0).position_error, 1e-14);
  }
}

// A beam of 3 m on a hinge and a roller, its centre 1 m from the hinge: the roller bears a third of the weight.
TEST(LoopJoint, ReactionsOfABeamOnTwoSupports) {
  ModelBuilder b;
  b.set_gravity({0.0, 0.0, -kGravity});
  const int beam = b.add_body({.name = "beam", .inertia = inertia(6.0, {1.0, 5.0, 5.0}, {1.0, 0.0, 0.0})});
  b.add_joint({.body = beam, .type = JointType::kFree});
  b.add_loop_joint(
      {.name = "hinge", .type = LoopJointType::kRevolute, .body_b = beam, .frame_a = about_y(), .frame_b = about_y()});
  const Transform end{{3.0, 0.0, 0.0}, Quaternion::Identity()};
  b.add_loop_joint(
      {.name = "roller", .type = LoopJointType::kPointOnPlane, .body_b = beam, .frame_a = end, .frame_b = end});
  Simulator sim(b.build(), with_step(1e-3));
  sim.step(10);
  const double weight = 6.0 * kGravity;
  EXPECT_NEAR(sim.loop_joint("roller").reaction[2], weight / 3.0, 1e-6 * weight);
  const Vector6 hinge = sim.loop_joint("hinge").reaction;  // in its own axes: z is y of the world
  EXPECT_NEAR(hinge.head<3>().norm(), weight * 2.0 / 3.0, 1e-6 * weight);
  EXPECT_NEAR(hinge[2], 0.0, 1e-6 * weight);
  EXPECT_NEAR(hinge.tail<3>().norm(), 0.0, 1e-6 * weight);
}

// Crank 0.2 m, rod 0.5 m; the end of the rod is held on the x axis.
TEST(LoopJoint, SliderCrankKinematicsOverTwoTurns) {
  const double r = 0.2, l = 0.5;
  ModelBuilder b;
  b.set_gravity(Vector3::Zero());
  const int crank = b.add_body({.name = "crank", .inertia = inertia(1.0, {0.01, 0.01, 0.01})});
  b.add_joint({.name = "crank", .body = crank, .axis = Vector3::UnitZ()});
  const int rod =
      b.add_body({.name = "rod", .parent = crank, .inertia = inertia(0.5, {0.001, 0.01, 0.01}, {0.25, 0, 0})});
  b.body(rod).pose.position = Vector3(r, 0.0, 0.0);
  b.add_joint({.name = "pin", .body = rod, .axis = Vector3::UnitZ()});
  const Transform along_x{Vector3::Zero(), Quaternion::FromTwoVectors(Vector3::UnitZ(), Vector3::UnitX())};
  b.add_loop_joint({.name = "slider",
                    .type = LoopJointType::kPointOnLine,
                    .body_b = rod,
                    .frame_a = along_x,
                    .frame_b = {{l, 0.0, 0.0}, Quaternion::Identity()}});
  Actuator motor{.target = 0};  // holds the speed
  motor.bias_type = ActuatorBias::kAffine;
  motor.gain = {100.0, 0.0, 0.0};
  motor.bias = {0.0, 0.0, -100.0};
  b.add_actuator(motor);
  SimulatorOptions options = with_step(1e-4);
  options.stabilisation.slop = 2e-5;  // loops are closed to a hundredth of it
  Simulator sim(b.build(), options);
  sim.input().control[0] = 4.0;
  sim.state().v << 4.0, -4.0 - 4.0 * r / l;
  double worst = 0.0, turned = 0.0;
  while (turned < 4.0 * kPi) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    turned = sim.state().q[0];
    const LoopReading slider = sim.loop_joint("slider");
    const double x = r * std::cos(turned) + std::sqrt(l * l - r * r * std::sin(turned) * std::sin(turned));
    worst = std::max({worst, std::abs(slider.position[0] - x), slider.position_error});
  }
  EXPECT_LT(worst, 1e-6);
}

// Two rotors geared 1 : -2, the torque on the first: I_1 + 4 I_2.
TEST(LoopJoint, GearsCoupleCoordinatesOfLoopJoints) {
  ModelBuilder b;
  b.set_gravity(Vector3::Zero());
  for (int k = 0; k < 2; ++k) {
    const Transform place{{0.5 * k, 0.0, 0.0}, Quaternion::Identity()};
    const int wheel = b.add_body({.pose = place, .inertia = inertia(1.0, {0.1, 0.1, k == 0 ? 0.2 : 0.3})});
    b.add_joint({.body = wheel, .type = JointType::kFree});
    b.add_loop_joint({.type = LoopJointType::kRevolute, .body_b = wheel, .frame_a = place});
  }
  Equality gear{.type = EqualityType::kJoint, .a = 1, .b = 0, .polynomial = {0.0, -2.0, 0.0, 0.0, 0.0}};
  gear.coordinate_a = gear.coordinate_b = 0;
  b.add_equality(gear);
  Simulator sim(b.build(), with_step(1e-3));
  sim.input().applied_force[5] = 0.7;
  sim.step(1000);
  EXPECT_NEAR(sim.loop_joint(0).velocity[0], 0.7 / (0.2 + 4.0 * 0.3), 1e-6);
  EXPECT_NEAR(sim.loop_joint(1).position[0], -2.0 * sim.loop_joint(0).position[0], 2e-5);
}

// Loops that are closed in every step know how often their joints have turned.
TEST(LoopJoint, ScrewsAndGearsStayClosedOverManyTurns) {
  constexpr double kPitch = 0.01, kSpeed = 30.0;
  SimulatorOptions options = with_step(1e-3);
  options.stabilisation.loops = LoopClosing::kClosed;
  ModelBuilder b;
  b.set_gravity(Vector3::Zero());
  for (int k = 0; k < 2; ++k) {
    const Transform place{{0.5 * k, 0.0, 0.0}, Quaternion::Identity()};
    const int wheel = b.add_body({.pose = place, .inertia = inertia(1.0, {0.1, 0.1, 0.2})});
    b.add_joint({.body = wheel, .type = JointType::kFree});
    b.add_loop_joint({.type = k == 0 ? LoopJointType::kScrew : LoopJointType::kRevolute,
                      .body_b = wheel,
                      .frame_a = place,
                      .pitch = kPitch});
  }
  Equality gear{.type = EqualityType::kJoint, .a = 1, .b = 0, .polynomial = {0.0, -2.0, 0.0, 0.0, 0.0}};
  gear.coordinate_a = gear.coordinate_b = 0;
  b.add_equality(gear);
  Simulator sim(b.build(), options);
  sim.state().v[2] = kPitch * kSpeed;
  sim.state().v[5] = kSpeed;
  sim.state().v[11] = -2.0 * kSpeed;
  for (int k = 0; k < 1000; ++k) {
    const StepReport& report = sim.step();
    ASSERT_EQ(report.status, StepStatus::kOk) << k;
    ASSERT_LE(report.loop_error, 1e-9) << k;
  }
  EXPECT_NEAR(sim.loop_joint(0).position[0], kSpeed, 1e-6);
  EXPECT_NEAR(sim.loop_joint(1).position[0], -2.0 * kSpeed, 1e-6);
  EXPECT_NEAR(sim.state().q[2], kPitch * kSpeed, 1e-8);
}

// Two hinges on a tendon whose length is held; and limits of one are kept when a start is made consistent.
TEST(LoopJoint, TendonsThatAreHeldStayClosed) {
  SimulatorOptions options = with_step(1e-3);
  options.stabilisation.loops = LoopClosing::kClosed;
  ModelBuilder b;
  b.set_gravity({0.0, 0.0, -kGravity});
  Tendon tendon{.name = "belt"};
  for (int k = 0; k < 2; ++k) {
    const int bar = b.add_body({.pose = {{0.5 * k, 0.0, 0.0}, Quaternion::Identity()},
                                .inertia = inertia(1.0, {0.1, 0.1, 0.1}, {0.2, 0.0, 0.0})});
    tendon.terms.push_back({b.add_joint({.body = bar, .axis = Vector3::UnitY()}), k == 0 ? 1.0 : -0.5});
  }
  const int belt = b.add_tendon(tendon);
  b.add_equality({.type = EqualityType::kTendon, .a = belt, .polynomial = {0.1, 0.0, 0.0, 0.0, 0.0}});
  Simulator sim(b.build(), options);
  for (int k = 0; k < 300; ++k) {
    const StepReport& report = sim.step();
    ASSERT_EQ(report.status, StepStatus::kOk) << k;
    ASSERT_LE(report.loop_error, 1e-9) << k;
    ASSERT_NEAR(sim.state().q[0] - 0.5 * sim.state().q[1], 0.1, 1e-8) << k;
  }
  EXPECT_GT(std::abs(sim.state().v[0]), 0.01);
}

// A body that hangs by a ball joint at its largest angle: the limit holds the weight, about the axis of the whole turn.
TEST(LoopJoint, TheLimitOfABallActsAboutItsTurn) {
  ModelBuilder b;
  const int arm = b.add_body({.name = "arm", .inertia = inertia(2.0, {0.1, 0.1, 0.1}, {0.5, 0, 0})});
  b.add_joint({.body = arm, .type = JointType::kFree});
  LoopCoordinate c;
  c.limited = true;
  c.range = {0.0, 0.3};
  b.add_loop_joint({.name = "ball", .type = LoopJointType::kSpherical, .body_b = arm, .coordinates = {c, {}, {}}});
  Simulator sim(b.build(), with_step(1e-3));
  sim.step(2000);
  const LoopReading ball = sim.loop_joint("ball");
  EXPECT_NEAR(ball.position[1], 0.3, 1e-3);
  EXPECT_NEAR(ball.force[0], 0.0, 1e-6);
  EXPECT_NEAR(ball.force[1], -2.0 * kGravity * 0.5 * std::cos(ball.position[1]), 1e-4);
  EXPECT_NEAR(ball.force[2], 0.0, 1e-6);
}

// What errors are worth in metres does not depend on how the rows of a weld are scaled.
TEST(LoopJoint, ErrorsOfWeldsAreMetresAtAnyTorqueScale) {
  std::vector<double> errors;
  for (const double scale : {1.0, 0.01, 20.0}) {
    ModelBuilder b;
    const int bar = b.add_body({.name = "bar", .inertia = inertia(2.0, {0.1, 0.2, 0.3}, {0.5, 0, 0})});
    b.add_joint({.name = "hinge", .body = bar, .axis = Vector3::UnitY()});
    const int end = b.add_body(
        {.name = "end", .parent = bar, .pose = Transform{{1, 0, 0}}, .inertia = inertia(1.0, {0.1, 0.1, 0.1})});
    b.add_joint({.body = end, .type = JointType::kBall});
    b.add_equality(
        {.type = EqualityType::kWeld, .a = 0, .b = end, .relative_pose = Transform{{1, 0, 0}}, .torque_scale = scale});
    SimulatorOptions options = with_step(1e-3);
    options.stabilisation.loops = LoopClosing::kClosed;
    options.stabilisation.loop_tolerance = 1e-6;
    Simulator sim(b.build(), options);
    sim.state().q[0] = 1e-3;
    sim.step();
    errors.push_back(sim.report().loop_error);
    EXPECT_LT(std::abs(sim.state().q[0]), 2e-6) << scale;
    EXPECT_LT(2.0 * sim.state().q.tail<3>().norm(), 1e-5) << scale;
  }
  for (const double error : errors) EXPECT_LT(error, 1e-6);
}

TEST(LoopJoint, ARodKeepsItsLength) {
  ModelBuilder b;
  b.set_gravity({0.0, 0.0, -kGravity});
  const int bob = b.add_body({.pose = {{1.0, 0.0, 0.0}, Quaternion::Identity()}, .inertia = inertia(1.0, {1, 1, 1})});
  b.add_joint({.body = bob, .type = JointType::kFree});
  b.add_loop_joint({.type = LoopJointType::kDistance, .body_b = bob, .length = 1.0});
  Simulator sim(b.build(), with_step(1e-3));
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    ASSERT_NEAR(sim.state().q.head<3>().norm(), 1.0, 3e-5);
  }
}

// A free joint keeps all six motions; each type leaves as many as it has rows less.
TEST(LoopJoint, RowsAndCoordinatesAddUp) {
  for (int i = 0; i <= static_cast<int>(LoopJointType::kPointOnPlane); ++i) {
    const auto type = static_cast<LoopJointType>(i);
    EXPECT_EQ(find_loop_joint_type(to_string(type)), type);
    const bool leaves_turns = type == LoopJointType::kDistance || type == LoopJointType::kPointOnLine ||
                              type == LoopJointType::kPointOnPlane;  // free motions that are no coordinates
    if (leaves_turns) continue;
    EXPECT_EQ(row_count(type) + coordinate_count(type), 6) << to_string(type);
  }
}

TEST(LoopJoint, AStepAllocatesNothing) {
  LoopCoordinate c;
  c.limited = true;
  c.range = {-0.1, 0.1};
  c.friction = 0.1;
  c.stiffness = 10.0;
  Simulator sim(Rotors::loop(c), with_step(1e-3));
  sim.state().v[5] = 3.0;
  sim.step(200);
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  const test::AllocationGuard guard;
  sim.step(100);
  EXPECT_EQ(guard.allocations(), 0u);
}

TEST(LoopJoint, ModelsWithThemComeBack) {
  const ModelPtr model = Rotors::loop({.reference = 0.2, .limited = true, .range = {-1.0, 2.0}, .damping = 0.3});
  const ModelPtr again = deserialize_model(serialize(*model));
  EXPECT_TRUE(same_elements(*model, *again));
  EXPECT_EQ(again->loop_joint("axle"), 0);
  ModelBuilder twice;
  twice.add_model(*model, {}, "left/");
  twice.add_model(*model, {{0.0, 1.0, 0.0}, so3_exp({0.3, 0.0, 0.0})}, "right/");
  const ModelPtr both = twice.build();
  ASSERT_EQ(both->loop_joints.size(), 2u);
  EXPECT_EQ(both->loop_joints[1].body_b, both->body("right/rotor"));
  EXPECT_NEAR(both->loop_joints[1].frame_a.position.y(), 1.0, 1e-15);
}

TEST(LoopJoint, BadOnesAreNamed) {
  const auto message = [](const LoopJoint& joint) {
    ModelBuilder b;
    const int body = b.add_body({.name = "link", .inertia = inertia(1.0, {1, 1, 1})});
    b.add_joint({.body = body, .type = JointType::kFree});
    b.add_loop_joint(joint);
    try {
      b.build();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto expect = [&](const LoopJoint& joint, const char* part) {
    EXPECT_NE(message(joint).find(part), std::string::npos) << message(joint);
  };
  EXPECT_EQ(message({.name = "good", .body_b = 1}), "");
  expect({.name = "pin", .body_b = 7}, "loop joint 'pin'");
  expect({.name = "pin", .body_a = 1, .body_b = 1}, "joins body 'link' with itself");
  expect({.name = "rod", .type = LoopJointType::kDistance, .body_b = 1}, "length is 0");
  expect({.name = "pin", .body_b = 1, .coordinates = {{}, {}}}, "2 coordinates are given, a revolute joint has 1");
  expect({.name = "pin", .body_b = 1, .coordinates = {{.damping = -1.0}}}, "damping is -1");
  expect({.name = "pin", .body_b = 1, .coordinates = {{.limited = true, .range = {1.0, 0.0}}}}, "range");
}

}  // namespace
}  // namespace touchstone
