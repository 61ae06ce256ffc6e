// Compliant contacts in motion, against closed forms and the artefacts that the models are known for; robots and heaps.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "support/effort.hpp"
#include "support/robot_runs.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

using testing::HasSubstr;
constexpr const char* kModels[] = {"sap", "lagged", "similar"};
constexpr double kGravity = 9.81;

struct Ball {
  double mass = 0.5, radius = 0.025, height = 0.0;  // height of its lowest point, m
  Vector3 velocity = Vector3::Zero();
  Material material;
  bool turns = true;
};

// A ball above a plane of rigid material.
ModelPtr make_model(const Ball& ball) {
  ModelBuilder builder;
  ShapeElement ground;
  ground.name = "ground";
  ground.shape = {.type = ShapeType::kPlane, .size = {5, 5, 0.1}};
  ground.material.friction = ball.material.friction;
  builder.add_shape(ground);
  Body body;
  body.name = "ball";
  body.pose.position = {0, 0, ball.radius + ball.height};
  const double inertia = ball.turns ? 0.4 * ball.mass * ball.radius * ball.radius : 1e6;
  body.inertia = {ball.mass, Vector3::Zero(), inertia * Matrix3::Identity()};
  const int index = builder.add_body(body);
  Joint joint;
  joint.name = "free";
  joint.body = index;
  joint.type = JointType::kFree;
  builder.add_joint(joint);
  ShapeElement shape;
  shape.name = "shell";
  shape.body = index;
  shape.shape = {.type = ShapeType::kSphere, .size = {ball.radius, ball.radius, ball.radius}};
  shape.material = ball.material;
  builder.add_shape(shape);
  return builder.build();
}

Simulator make_simulator(const Ball& ball, const char* model, double h, double tolerance = 1e-9) {
  SimulatorOptions options;
  options.solver = model;
  options.time_step = h;
  options.tolerance = tolerance;
  options.collision.margin = 0.05;  // sap and similar act at a distance
  Simulator sim(make_model(ball), options);
  sim.state().v.head<3>() = ball.velocity;
  return sim;
}

double lowest(const Simulator& sim, const Ball& ball) { return sim.state().q[2] - ball.radius; }

Material soft(double stiffness, double dissipation, double relaxation, double friction) {
  Material m;
  m.stiffness = stiffness;
  m.dissipation = dissipation;
  m.relaxation_time = relaxation;
  m.friction[0] = friction;
  return m;
}

TEST(CompliantMotion, RestsAtTheDepthOfItsWeight) {
  for (const char* model : kModels) {
    for (const double k : {1e4, 1e6}) {
      const Ball ball{.height = 1e-4, .material = soft(k, 50.0, 1e-3, 0.5)};
      Simulator sim = make_simulator(ball, model, 1e-3);
      sim.step(3000);
      EXPECT_EQ(sim.report().status, StepStatus::kOk) << model;
      // SAP is no stiffer than the step resolves: k is far below that here.
      EXPECT_NEAR(lowest(sim, ball), -ball.mass * kGravity / k, 1e-3 * ball.mass * kGravity / k) << model << ' ' << k;
      EXPECT_LE(sim.state().v.norm(), 1e-6) << model;
      EXPECT_LE(sim.report().residuals.law_natv_relative, 1e-8) << model;
    }
  }
}

// (24) and Table I: a body that slides glides at mu (h + tau) v with SAP, at mu h v with Similar, and not with Lagged.
TEST(CompliantMotion, GlidingDistances) {
  const double h = 2e-3, tau = 1e-3, mu = 0.7, k = 1e7, speed = 5.0;
  for (const std::string model : kModels) {
    const double reach = model == "sap" ? h + tau : model == "similar" ? h : 0.0;
    const Ball ball{.mass = 1.0,
                    .height = mu * reach * speed,  // from below it would be thrown up
                    .velocity = {speed, 0, 0},
                    .material = soft(k, 500.0, tau, mu),
                    .turns = false};
    Simulator sim = make_simulator(ball, model.c_str(), h);
    sim.step(100);
    const double v = sim.state().v[0];
    ASSERT_GT(v, 1.0) << model;
    const double glide = lowest(sim, ball) + ball.mass * kGravity / k;
    const double expected = mu * reach * v;
    EXPECT_NEAR(glide, expected, 0.02 * expected + 1e-7) << model;
    // Coulomb's friction slows it down, whatever the model.
    EXPECT_NEAR(v, speed - mu * kGravity * 100 * h, 0.02) << model;
  }
}

// On a slope that friction can hold, contacts creep slower than the stiction tolerance.
TEST(CompliantMotion, CreepsBelowTheStictionTolerance) {
  for (const char* model : {"lagged", "similar"}) {
    Ball ball{.mass = 1.0, .material = soft(1e6, 50.0, 0.0, 0.7), .turns = false};
    Simulator sim = make_simulator(ball, model, 2e-3);
    sim.parameters().gravity = {0.6 * kGravity, 0, -kGravity};
    sim.step(500);
    EXPECT_GT(sim.state().v[0], 0.0) << model;
    EXPECT_LT(sim.state().v[0], 2e-4) << model;  // 0.6/0.7 of the cone: s = v/v_s with s / sqrt(1 + s^2) = 0.857
    EXPECT_NEAR(sim.state().v[0], 1e-4 * 1.664, 2e-6) << model;
  }
}

// Hunt and Crossley's impact without gravity: m w' = -k x (1 - d w), with w = x' < 0 at the start. Dividing by w and
// integrating over it, both ends have the same value of d w + ln(1 - d w), which gives the speed after it.
double rebound(double d, double speed) {
  if (d == 0.0) return speed;
  const auto f = [d](double v) { return d * v + std::log1p(-d * v); };  // v > 0 separates
  const double start = f(-speed);
  double low = 0.0, high = std::min(speed, (1.0 - 1e-15) / d);
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (low + high);
    (f(middle) > start ? low : high) = middle;
  }
  return low;
}

TEST(CompliantMotion, HuntCrossleyRestitution) {
  for (const double d : {0.0, 0.1, 0.5, 2.0, 10.0}) {
    for (const double speed : {0.2, 1.0}) {
      Ball ball{.height = 1e-5, .velocity = {0, 0, -speed}, .material = soft(1e5, d, 0.0, 0.0)};
      Simulator sim = make_simulator(ball, "lagged", 1e-6);
      sim.parameters().gravity.setZero();
      for (int i = 0; i < 40000 && !(sim.state().v[2] > 0.0 && lowest(sim, ball) > 0.0); ++i) sim.step();
      EXPECT_NEAR(sim.state().v[2], rebound(d, speed), 0.005 * speed) << d << ' ' << speed;
    }
  }
}

// XI-B: a ball that falls, slides and rolls. The error of Lagged at a moment after the impact falls with the step.
TEST(CompliantMotion, LaggedConvergesWithTheFirstOrder) {
  const Ball ball{.height = 0.0, .velocity = {2, 0, 0}, .material = soft(1e4, 1.0, 0.0, 0.5)};
  const auto position = [&](double h) {
    Simulator sim = make_simulator(ball, "lagged", h);
    sim.step(static_cast<int>(std::lround(0.1 / h)));
    return sim.state().q[0];
  };
  const double reference = position(1e-6);
  std::vector<double> error;
  for (const double h : {4e-4, 2e-4, 1e-4, 5e-5}) error.push_back(std::abs(position(h) - reference));
  for (std::size_t i = 1; i < error.size(); ++i) {
    EXPECT_GT(error[i - 1] / error[i], 1.5) << i << ' ' << error[i - 1] << ' ' << error[i];
    EXPECT_LT(error[i - 1] / error[i], 3.0) << i;
  }
}

// Materials without stiffness: near-rigid, no bounce to speak of, rest within a step's resolution.
TEST(CompliantMotion, RigidMaterialsAreNearRigid) {
  for (const char* model : kModels) {
    for (const double h : {1e-3, 5e-3}) {
      const Ball ball{.mass = 3.0, .height = 0.05, .material = {}};
      Simulator sim = make_simulator(ball, model, h, 1e-6);
      double highest = 0.0;
      for (int i = 0; i < static_cast<int>(1.0 / h); ++i) {
        sim.step();
        ASSERT_EQ(sim.report().status, StepStatus::kOk) << model << ' ' << h;
        if (sim.state().time > 0.2) highest = std::max(highest, lowest(sim, ball));
      }
      EXPECT_LT(highest, 1e-3) << model << ' ' << h;
      EXPECT_GT(lowest(sim, ball), -kGravity * h * h) << model << ' ' << h;
      EXPECT_LT(sim.state().v.norm(), 1e-4) << model << ' ' << h;
    }
  }
}

Material hertzian(double stiffness) {
  Material m = soft(stiffness, 0, 0, 0.5);
  m.hertz = true;
  return m;
}

// A weight sinks in by (m g / k)^(2/3), with the compliant laws and, by tangents, with hard solvers.
TEST(CompliantMotion, HertzRestsAtTheDepthOfItsWeight) {
  for (const char* solver : {"lagged", "similar", "auto", "ncp-pgs"}) {
    for (const double k : {1e6, 1e9}) {
      Ball ball{.material = hertzian(k)};
      ball.material.dissipation = 50.0;
      const double depth = std::pow(ball.mass * kGravity / k, 2.0 / 3.0);
      ball.height = -0.5 * depth;
      Simulator sim = make_simulator(ball, solver, 1e-3);
      sim.step(4000);
      EXPECT_EQ(sim.report().status, StepStatus::kOk) << solver;
      EXPECT_NEAR(lowest(sim, ball), -depth, 1e-3 * depth) << solver << ' ' << k;
    }
  }
}

// An impact at v: 1/2 m v^2 + m g x = 2/5 k x^(5/2), and the ball leaves as fast as it came.
TEST(CompliantMotion, HertzImpact) {
  constexpr double kSpeed = 1.0, kStiffness = 1e8;
  const Ball ball{.height = 1e-6, .velocity = {0, 0, -kSpeed}, .material = hertzian(kStiffness)};
  double deepest = 0.0;
  for (int i = 0; i < 20; ++i)
    deepest = std::pow(1.25 * ball.mass * (kSpeed * kSpeed + 2.0 * kGravity * deepest) / kStiffness, 0.4);
  for (const char* solver : {"lagged", "similar", "auto"}) {
    Simulator sim = make_simulator(ball, solver, 1e-7);
    double depth = 0.0;
    for (int i = 0; i < 20000; ++i) {
      sim.step();
      depth = std::max(depth, -lowest(sim, ball));
    }
    EXPECT_NEAR(depth, deepest, 1e-3 * deepest) << solver;
    EXPECT_NEAR(sim.state().v[2], kSpeed, 5e-3 * kSpeed) << solver;
  }
}

// The stiffness of a modulus is that of the ball's curvature.
TEST(CompliantMotion, YoungsModulus) {
  Ball ball;
  ball.material.youngs_modulus = 1e7;
  ball.material.dissipation = 50.0;
  const double k = 4.0 / 3.0 * 1e7 / (1.0 - 0.09) * std::sqrt(ball.radius);
  const double depth = std::pow(ball.mass * kGravity / k, 2.0 / 3.0);
  ball.height = -0.5 * depth;
  Simulator sim = make_simulator(ball, "lagged", 1e-3);
  sim.step(3000);
  EXPECT_NEAR(lowest(sim, ball), -depth, 1e-3 * depth);
}

// SAP is a model of linear springs: it says so and leaves the contact out.
TEST(CompliantMotion, SapRefusesHertz) {
  Simulator sim = make_simulator({.material = hertzian(1e6)}, "sap", 1e-3);
  sim.step();
  EXPECT_EQ(sim.report().status, StepStatus::kInvalidProblem);
  EXPECT_THAT(sim.report().worst, HasSubstr("SAP has linear springs only"));
}

TEST(CompliantMotion, BadMaterialsAreNamed) {
  const auto message = [](const Material& material) -> std::string {
    try {
      make_model({.material = material});
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message(soft(-5.0, 0, 0, 1)), AllOf(HasSubstr("shell"), HasSubstr("stiffness is -5")));
  EXPECT_THAT(message(soft(std::nan(""), 0, 0, 1)), AllOf(HasSubstr("shell"), HasSubstr("stiffness is nan")));
  EXPECT_THAT(message(soft(0, 3.0, 0, 1)), AllOf(HasSubstr("shell"), HasSubstr("dissipation is 3 without stiffness")));
  EXPECT_THAT(message(soft(0, 0, 0.1, 1)), HasSubstr("relaxation time is 0.1 without stiffness"));
  EXPECT_THAT(message(soft(1e5, -1.0, 0, 1)), HasSubstr("dissipation is -1"));
  EXPECT_THAT(message(soft(1e5, 0, 0, 1e9)), HasSubstr("shape 'ground': friction is 1000000000"));
  Material m;
  m.youngs_modulus = -1.0;
  EXPECT_THAT(message(m), AllOf(HasSubstr("shell"), HasSubstr("Young's modulus is -1")));
  m.youngs_modulus = 1e9;
  m.stiffness = 1e5;
  EXPECT_THAT(message(m), AllOf(HasSubstr("shell"), HasSubstr("stiffness 100000 and Young's modulus 1000000000")));
  m.stiffness = 0.0;
  m.poisson_ratio = 0.7;
  EXPECT_THAT(message(m), AllOf(HasSubstr("shell"), HasSubstr("Poisson's ratio is 0.7")));
}

TEST(CompliantMotion, MixedElasticLawsAreNamed) {
  ModelBuilder builder;
  for (const bool hertz : {false, true}) {
    ShapeElement shape;
    shape.name = hertz ? "round" : "plain";
    shape.shape = {.type = ShapeType::kSphere, .size = {0.1, 0.1, 0.1}};
    shape.material.stiffness = 1e5;
    shape.material.hertz = hertz;
    builder.add_shape(shape);
  }
  try {
    builder.build();
    FAIL() << "it must not build";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("shape 'round': it has Hertz, but shape 'plain' has linear stiffness"));
  }
}

TEST(CompliantMotion, MujocosConstraintsContradict) {
  SimulatorOptions options;
  options.solver = "lagged";
  options.constraints = ConstraintModel::kMujoco;
  EXPECT_THROW(Simulator(make_model({}), options), Error);
}

// --- heaps and robots ---

// Boxes, balls and capsules of different sizes above each other on a plane.
std::string heap(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto uniform = [&](double a, double b) { return std::uniform_real_distribution<double>(a, b)(random); };
  std::string xml = "<mujoco><option timestep='0.001'/><worldbody><geom type='plane' size='5 5 1'/>";
  const int bodies = 3 + static_cast<int>(seed % 5);
  for (int i = 0; i < bodies; ++i) {
    const char* type = i % 3 == 0 ? "box" : i % 3 == 1 ? "sphere" : "capsule";
    xml += fmt::format(
        "<body pos='{} {} {}' euler='{} {} 0'><freejoint/><geom type='{}' size='{} {} {}' density='{}' "
        "friction='{}'/></body>",
        uniform(-0.05, 0.05), uniform(-0.05, 0.05), 0.12 + 0.24 * i, uniform(-90, 90), uniform(-90, 90), type,
        uniform(0.04, 0.06), uniform(0.04, 0.06), uniform(0.04, 0.06), uniform(100, 8000), uniform(0.0, 1.2));
  }
  return xml + "</worldbody></mujoco>";
}

TEST(CompliantScenes, Heaps) {
  const int count = test::whole_family() ? 100 : 5;
  for (const char* model : kModels) {
    int unsolved = 0, most = 0;
    long iterations = 0, steps = 0;
    double law = 0.0, deepest = 0.0;
    for (int seed = 0; seed < count; ++seed) {
      SimulatorOptions options;
      options.solver = model;
      Simulator sim(load_mjcf_string(heap(static_cast<std::uint32_t>(seed))), options);
      for (int i = 0; i < 1000; ++i) {
        const StepReport& report = sim.step();
        ASSERT_NE(report.status, StepStatus::kDiverged) << model << ' ' << seed;
        unsolved += report.status == StepStatus::kOk ? 0 : 1;
        most = std::max(most, report.largest_iterations);
        iterations += report.largest_iterations;
        law = std::max(law, report.residuals.law_natv_relative);
        ++steps;
      }
      deepest = std::max(deepest, sim.report().penetration);
      EXPECT_LT(sim.report().penetration, 2e-3) << model << ' ' << seed;
    }
    fmt::print(
        "{}: {} heaps, {} steps, {} not solved, iterations mean {:.1f} most {}, worst law {:.1e}, deepest {:.2g} m\n",
        model, count, steps, unsolved, static_cast<double>(iterations) / static_cast<double>(steps), most, law,
        deepest);
    EXPECT_EQ(unsolved, 0) << model;
    EXPECT_LE(law, 1.001e-6) << model;
  }
}

// A humanoid and Talos, held by their servos or falling, for two seconds; a share of that with sanitizers.
TEST(CompliantScenes, RobotsStandOrFall) {
  const double duration = test::whole_family() ? 2.0 : 0.1;
  int tried = 0;
  for (const test::RobotFile& file : test::robot_files()) {
    const bool chosen =
        file.name == "mjcf/mujoco_samples/humanoid/humanoid.xml" || file.name.starts_with("mjcf/pal_talos/scene_");
    if (!chosen) continue;
    for (const char* model : kModels) {
      const test::RobotSetup setup = test::set_up(file);
      SimulatorOptions options;
      options.solver = model;
      Simulator sim(setup.model, options);
      sim.reset(setup.start);
      sim.input().control = setup.control;
      int unsolved = 0, most = 0, steps = 0;
      long iterations = 0;
      double law = 0.0, deepest = 0.0, seconds = 0.0;
      for (; sim.state().time < duration; ++steps) {
        const StepReport& report = sim.step();
        ASSERT_NE(report.status, StepStatus::kDiverged) << file.name << ' ' << model;
        unsolved += report.status == StepStatus::kOk ? 0 : 1;
        most = std::max(most, report.largest_iterations);
        iterations += report.largest_iterations;
        law = std::max(law, report.residuals.law_natv_relative);
        seconds += report.times.total();
        if (sim.state().time > 1.0) deepest = std::max(deepest, report.penetration);
      }
      fmt::print(
          "{} {}: {} steps, {} not solved, iterations mean {:.1f} most {}, worst law {:.1e}, {:.2g} m deep, "
          "{:.0f} us a step\n",
          file.name, model, steps, unsolved, static_cast<double>(iterations) / steps, most, law, deepest,
          1e6 * seconds / steps);
      EXPECT_EQ(unsolved, 0) << file.name << ' ' << model;
      EXPECT_LE(law, 1.001e-6) << file.name << ' ' << model;
      EXPECT_LT(deepest, 2e-3) << file.name << ' ' << model;
      ++tried;
    }
  }
  if (tried == 0) GTEST_SKIP() << "no robots; set TOUCHSTONE_DATA to the folder that holds models/";
}

// Boxes on each other, whose contacts stay the same; one of them drags a chain.
std::string tower() {
  std::string xml = "<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='5 5 1'/>";
  for (int i = 0; i < 4; ++i) {
    xml += fmt::format("<body pos='{} 0 {}'><freejoint/><geom type='box' size='.1 .1 .05'/>", 0.01 * i, 0.05 + 0.1 * i);
    if (i == 1) {
      xml +=
          "<body pos='.1 0 0'><joint type='hinge' axis='0 1 0' limited='true' range='-5 60' frictionloss='.1'/>"
          "<geom type='capsule' fromto='.03 0 0 .1 0 0' size='.02'/></body>";
    }
    xml += "</body>";
  }
  return xml + "</worldbody></mujoco>";
}

TEST(CompliantScenes, AllocateNothingAndRepeatBits) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  for (const char* model : kModels) {
    SimulatorOptions options;
    options.solver = model;
    Simulator sim(load_mjcf_string(tower()), options);
    sim.step(600);
    const Simulator::Snapshot snapshot = sim.save();
    sim.step(100);
    const VectorX q = sim.state().q;
    sim.restore(snapshot);
    const test::AllocationGuard guard;
    for (int i = 0; i < 100; ++i) sim.step();
    EXPECT_EQ(guard.allocations(), 0u) << model;
    EXPECT_EQ(sim.state().q, q) << model;
  }
}

}  // namespace
}  // namespace touchstone
