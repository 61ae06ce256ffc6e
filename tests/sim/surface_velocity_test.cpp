// Surfaces that move on their own: conveyor belts, treadmills, turntables, crawlers. With every kind of contact model,
// against closed forms and against the same scene seen from a frame that moves with the belt.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/model/fields.hpp"
#include "touchstone/model/serialize.hpp"
#include "touchstone/sim/batch.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

using testing::HasSubstr;
constexpr double kGravity = 9.81, kMu = 0.5;
const std::vector<std::string> kSolvers{"auto", "ncp-pgs", "ncp-ipm", "ncp-admm", "sap", "lagged", "similar"};

bool is_compliant(const std::string& solver) { return solver == "sap" || solver == "lagged" || solver == "similar"; }

ShapeElement plane(const Vector6& surface_velocity) {
  ShapeElement belt;
  belt.name = "belt";
  belt.shape = {.type = ShapeType::kPlane, .size = {50, 50, 0.1}};
  belt.material.friction[0] = kMu;
  belt.surface_velocity = surface_velocity;
  return belt;
}

int add_free_body(ModelBuilder& builder, const std::string& name, const Shape& shape, const Vector3& position,
                  double mass = 1.0, int dimension = 3) {
  Body body;
  body.name = name;
  body.pose.position = position;
  body.inertia = with_mass(mass_properties(shape, 1000.0), mass);
  const int index = builder.add_body(body);
  Joint joint;
  joint.name = name + "_free";
  joint.body = index;
  joint.type = JointType::kFree;
  builder.add_joint(joint);
  ShapeElement element;
  element.name = name + "_shape";
  element.body = index;
  element.shape = shape;
  element.material.friction = {kMu, 0.01, 1e-4};
  element.contact_dimension = dimension;
  builder.add_shape(element);
  return index;
}

Shape box(double x, double y, double z) { return {.type = ShapeType::kBox, .size = {x, y, z}}; }
Shape egg(double x, double y, double z) { return {.type = ShapeType::kEllipsoid, .size = {x, y, z}}; }
Shape ball(double radius) { return {.type = ShapeType::kSphere, .size = {radius, radius, radius}}; }

// A flat block that does not tilt when it is pulled.
ModelPtr block_on_belt(double speed) {
  ModelBuilder builder;
  Vector6 velocity = Vector6::Zero();
  velocity[0] = speed;
  builder.add_shape(plane(velocity));
  add_free_body(builder, "block", box(0.1, 0.1, 0.02), {0, 0, 0.02});
  return builder.build();
}

SimulatorOptions options_of(const std::string& solver, double h = 1e-3) {
  SimulatorOptions options;
  options.solver = solver;
  options.time_step = h;
  options.tolerance = 1e-10;
  return options;
}

// Friction accelerates the block by mu g until it goes with the belt.
TEST(SurfaceVelocity, ABeltTakesABlockAlong) {
  constexpr double kSpeed = 0.3, kStep = 1e-3;
  for (const std::string& solver : kSolvers) {
    Simulator sim(block_on_belt(kSpeed), options_of(solver, kStep));
    sim.step(40);
    const double slides = solver == "lagged" ? 0.04 - kStep : 0.04;  // which has no friction in the step of an impact
    const double slack = is_compliant(solver) ? 0.01 * kMu * kGravity * 0.04 : 1e-9;
    EXPECT_NEAR(sim.state().v[0], kMu * kGravity * slides, slack) << solver;
    EXPECT_EQ(sim.report().status, StepStatus::kOk) << solver;
    const double residual = is_compliant(solver) ? sim.report().residuals.law_natv : sim.report().residuals.natv;
    EXPECT_LE(residual, 1e-7) << solver;
    sim.step(460);
    EXPECT_NEAR(sim.state().v[0], kSpeed, is_compliant(solver) ? 1e-4 : 1e-9) << solver;
    EXPECT_LE(sim.state().v.tail<5>().norm(), 1e-4) << solver;
  }
}

TEST(SurfaceVelocity, MujocosConstraintsFeelIt) {
  SimulatorOptions options;
  options.constraints = ConstraintModel::kMujoco;
  options.time_step = 1e-3;
  Simulator sim(block_on_belt(0.3), options);
  sim.step(1000);
  EXPECT_NEAR(sim.state().v[0], 0.3, 1e-3);
}

// Work of the belt: friction's force mu m g times the way of the belt. Half of it is heat while the block slides.
TEST(SurfaceVelocity, TheBeltDoesWork) {
  constexpr double kSpeed = 0.3;
  for (const std::string solver : {"auto", "lagged"}) {
    Simulator sim(block_on_belt(kSpeed), options_of(solver, 1e-4));
    double belt = 0.0, heat = 0.0, error = 0.0;
    for (int i = 0; i < 1500; ++i) {
      sim.step();
      belt += sim.report().energy.surfaces;
      heat -= sim.report().energy.constraints + sim.report().energy.inelastic;
      error += std::abs(sim.report().energy.error());
    }
    // It slides for s / (mu g) and takes m s while the belt goes s: m s^2, of which the block has one half.
    EXPECT_NEAR(belt, kSpeed * kSpeed, 2e-3 * kSpeed * kSpeed) << solver;
    EXPECT_NEAR(heat, 0.5 * kSpeed * kSpeed, 5e-3 * kSpeed * kSpeed) << solver;
    EXPECT_NEAR(sim.report().energy.kinetic, 0.5 * kSpeed * kSpeed, 2e-3 * kSpeed * kSpeed) << solver;
    EXPECT_LE(error, 1e-4 * belt) << solver;
  }
}

// Balls and eggs, whose motion is unique, on a belt move as on ground that rests, seen by someone who goes with the
// belt.
TEST(SurfaceVelocity, IsAMotionOfTheFrame) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  for (const std::string& solver : kSolvers) {
    for (int scene = 0; scene < 20; ++scene) {
      const Vector3 speed(unit(random), unit(random), 0.0);
      const auto make = [&](const Vector3& belt, const std::vector<Vector6>& bodies) {
        ModelBuilder builder;
        Vector6 velocity = Vector6::Zero();
        velocity.head<3>() = belt;
        builder.add_shape(plane(velocity));
        for (std::size_t i = 0; i < bodies.size(); ++i) {
          const Shape shape = i % 2 == 0 ? ball(0.05) : egg(0.04, 0.06, 0.03);
          add_free_body(builder, "b" + std::to_string(i), shape, {0.0, 0.3 * static_cast<double>(i), 0.07}, 0.5, 4);
        }
        return builder.build();
      };
      std::vector<Vector6> bodies(3);
      for (Vector6& v : bodies) v << unit(random), unit(random), 0.2 * unit(random), 0, 0, 3.0 * unit(random);
      Simulator moving(make(speed, bodies), options_of(solver)),
          resting(make(Vector3::Zero(), bodies), options_of(solver));
      for (int i = 0; i < 3; ++i) {
        moving.state().v.segment<6>(6 * i) = bodies[static_cast<std::size_t>(i)];
        resting.state().v.segment<6>(6 * i) = bodies[static_cast<std::size_t>(i)];
        resting.state().v.segment<3>(6 * i) -= speed;
      }
      constexpr int kSteps = 150;  // they fall, touch and slide
      moving.step(kSteps);
      resting.step(kSteps);
      EXPECT_GE(moving.report().contacts, 2) << solver << " scene " << scene;
      for (int i = 0; i < 3; ++i) {
        const Vector3 way = moving.state().q.segment<3>(7 * i) - resting.state().q.segment<3>(7 * i);
        EXPECT_LE((way - speed * kSteps * 1e-3).norm(), 1e-7) << solver << " scene " << scene;
        const Vector3 faster = moving.state().v.segment<3>(6 * i) - resting.state().v.segment<3>(6 * i);
        EXPECT_LE((faster - speed).norm(), 1e-5) << solver << " scene " << scene;
        EXPECT_LE((moving.state().v.segment<3>(6 * i + 3) - resting.state().v.segment<3>(6 * i + 3)).norm(), 1e-4)
            << solver << " scene " << scene;
      }
    }
  }
}

// A block that goes with a turntable: w r in a circle, and it turns with the table by the spin of its contacts.
TEST(SurfaceVelocity, ATurntableCarries) {
  constexpr double kRate = 2.0, kRadius = 0.2, kStep = 1e-3;
  for (const std::string& solver : kSolvers) {
    ModelBuilder builder;
    ShapeElement table = plane((Vector6() << 0, 0, 0, 0, 0, kRate).finished());
    table.shape = box(1, 1, 0.1);
    table.pose.position = {1, 2, -0.1};  // about its own origin
    builder.add_shape(table);
    add_free_body(builder, "block", box(0.05, 0.05, 0.01), {1 + kRadius, 2, 0.01});
    Simulator sim(builder.build(), options_of(solver, kStep));
    sim.state().v << 0, kRate * kRadius, 0, 0, 0, kRate;
    sim.step(1000);
    const Vector3 arm = sim.state().q.head<3>() - Vector3(1, 2, 0);
    EXPECT_NEAR(arm.head<2>().norm(), kRadius, 2e-3) << solver;  // a step leaves the circle by (w h)^2 / 2
    EXPECT_NEAR(std::atan2(arm.y(), arm.x()), kRate * 1.0, 1e-2) << solver;
    EXPECT_NEAR(sim.state().v[5], kRate, 1e-2) << solver;
  }
}

// Torsional friction of one point spins a ball up: gamma m g / (2/5 m r^2).
TEST(SurfaceVelocity, TorsionFeelsTheSpin) {
  ModelBuilder builder;
  ShapeElement table = plane((Vector6() << 0, 0, 0, 0, 0, 30.0).finished());
  table.material.friction[1] = 0.01;
  table.contact_dimension = 4;
  builder.add_shape(table);
  add_free_body(builder, "ball", ball(0.1), {0, 0, 0.1}, 1.0, 4);
  Simulator sim(builder.build(), options_of("auto"));
  sim.step(100);
  EXPECT_NEAR(sim.state().v[5], 0.01 * kGravity / (0.4 * 0.01) * 0.1, 1e-6);
  sim.step(3000);
  EXPECT_NEAR(sim.state().v[5], 30.0, 1e-6);
}

// The belt is on the body that moves: the ground drives it the other way.
TEST(SurfaceVelocity, ACrawlerCrawls) {
  ModelBuilder builder;
  builder.add_shape(plane(Vector6::Zero()));
  add_free_body(builder, "crawler", box(0.1, 0.1, 0.02), {0, 0, 0.02});
  ModelPtr model = builder.build();
  Simulator sim(model, options_of("auto"));
  sim.parameters().shape_surface_velocity[static_cast<std::size_t>(model->shape("crawler_shape"))][1] = 0.2;
  sim.step(500);
  EXPECT_NEAR(sim.state().v[1], -0.2, 1e-9);
  EXPECT_NEAR(sim.state().v[0], 0.0, 1e-9);
}

TEST(SurfaceVelocity, WakesWhatSleepsOnTheBelt) {
  SimulatorOptions options = options_of("auto", 2e-3);
  options.sleep.mode = SleepMode::kOn;
  Simulator sim(block_on_belt(0.0), options);
  sim.step(1500);
  ASSERT_EQ(sim.report().sleep.bodies, 1);
  sim.parameters().shape_surface_velocity[0][0] = 0.4;
  sim.step(500);
  EXPECT_EQ(sim.report().sleep.bodies, 0);
  EXPECT_NEAR(sim.state().v[0], 0.4, 1e-6);
}

TEST(SurfaceVelocity, EachWorldOfABatchHasItsOwn) {
  Batch batch(block_on_belt(0.1), 3, options_of("auto"));
  for (int w = 0; w < 3; ++w) batch.parameters(w).shape_surface_velocity[0][0] = 0.1 * w;
  batch.step(300);
  for (int w = 0; w < 3; ++w) EXPECT_NEAR(batch.v(w)[0], 0.1 * w, 1e-9) << w;
}

TEST(SurfaceVelocity, AllocatesNothing) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  Simulator sim(block_on_belt(0.3), options_of("lagged"));
  sim.step(200);
  const test::AllocationGuard guard;
  sim.step(100);
  EXPECT_EQ(guard.allocations(), 0u);
}

// --- models and files ---

TEST(SurfaceVelocity, IsReadFromMjcf) {
  const ModelPtr model = load_mjcf_string(R"(<mujoco>
    <default><geom surfacevel="1"/></default>
    <asset><mesh name="m" vertex="1 0 0  1.5 0 0  1 0.3 0  1 0 0.2"/></asset>
    <worldbody>
      <geom name="belt" type="box" size="1 1 .1"/>
      <geom name="table" type="cylinder" size="1 .1" surfacevel="0 0 0 0 0 2" pos="5 0 0"/>
      <geom name="fitted" type="box" mesh="m" pos="0.1 0.2 0.3" surfacevel="1 2 3 4 5 6"/>
    </worldbody></mujoco>)");
  EXPECT_EQ(model->shapes[0].surface_velocity, (Vector6() << 1, 0, 0, 0, 0, 0).finished());
  EXPECT_EQ(model->defaults.shape_surface_velocity[1], (Vector6() << 0, 0, 0, 0, 0, 2).finished());
  // The field at a point of the world is that of the frame in the file, whatever the frame of the box.
  const ShapeElement& fitted = model->shapes[2];
  const Vector3 point(0.7, -0.3, 0.2), linear = fitted.surface_velocity.head<3>(),
                                       angular = fitted.pose.rotation * fitted.surface_velocity.tail<3>();
  const Vector3 there = fitted.pose.rotation * linear + angular.cross(point - fitted.pose.position);
  const Vector3 expected = Vector3(1, 2, 3) + Vector3(4, 5, 6).cross(point - Vector3(0.1, 0.2, 0.3));
  EXPECT_LE((there - expected).norm(), 1e-12);
}

TEST(SurfaceVelocity, IsKeptInModels) {
  const ModelPtr model = block_on_belt(0.3), back = deserialize_model(serialize(*model));
  EXPECT_TRUE(same_value(back->shapes[0], model->shapes[0]));
  EXPECT_EQ(back->defaults.shape_surface_velocity[0][0], 0.3);
}

TEST(SurfaceVelocity, BadNumbersNameTheShape) {
  ModelBuilder builder;
  builder.add_shape(plane(Vector6::Constant(std::numeric_limits<double>::quiet_NaN())));
  try {
    builder.build();
    FAIL() << "it must not build";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("belt"));
    EXPECT_THAT(error.what(), HasSubstr("surface velocity is nan"));
  }
}

}  // namespace
}  // namespace touchstone
