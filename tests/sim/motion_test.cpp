// Motions with a known answer: closed forms, and the discrete formulas of the time stepping.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include <gtest/gtest.h>

#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

constexpr double kGravity = 9.81;

ModelPtr scene(const std::string& content, const std::string& options = "") {
  return load_mjcf_string("<mujoco><option " + options + "/><worldbody>" + content + "</worldbody></mujoco>");
}

std::string number(double x) { return fmt::format("{}", x); }

SimulatorOptions options_of(double h, double tolerance = 1e-8) {
  SimulatorOptions options;
  options.time_step = h;
  options.tolerance = tolerance;
  return options;
}

// The sum of normal forces of all contacts, and of those that touch the world alone.
struct NormalForces {
  double all = 0.0, ground = 0.0;
};

NormalForces normal_forces(const Simulator& sim) {
  NormalForces sum;
  for (const ContactForce& f : sim.contacts()) {
    sum.all += f.local_force.z();
    if (f.contact->body_a == 0) sum.ground += f.local_force.z();
  }
  return sum;
}

TEST(Motion, BoxSlidesByTheDiscreteFormula) {
  for (const double mu : {0.1, 0.3, 0.8}) {
    const std::string friction = " friction='" + number(mu) + "'";
    Simulator sim(scene("<geom type='plane' size='5 5 1'" + friction + "/><body pos='0 0 0.1'><freejoint/>" +
                        "<geom type='box' size='.1 .1 .1'" + friction + "/></body>"),
                  options_of(0.002));
    sim.state().v[0] = 3.0;
    double v = 3.0, x = 0.0;
    for (int i = 0; i < 50; ++i) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk);
      v -= mu * kGravity * 0.002;
      x += 0.002 * v;
      ASSERT_EQ(sim.report().contacts, 4);
      ASSERT_NEAR(sim.state().v[0], v, 1e-6);
      ASSERT_NEAR(sim.state().q[0], x, 1e-7);
      ASSERT_NEAR(sim.state().v[1], 0.0, 1e-6);
    }
  }
}

// Gravity is tilted instead of the plane.
TEST(Motion, InclineHoldsOrSlides) {
  const auto run = [](double degrees, double mu) {
    const double angle = degrees * std::numbers::pi / 180.0;
    Simulator sim(
        scene("<geom type='plane' size='5 5 1' friction='" + number(mu) +
                  "'/><body pos='0 0 0.1'><freejoint/><geom type='box' size='.1 .1 .1' friction='" + number(mu) +
                  "'/></body>",
              "gravity='" + number(kGravity * std::sin(angle)) + " 0 " + number(-kGravity * std::cos(angle)) + "'"),
        options_of(0.002));
    sim.step(100);
    return std::pair(sim.state().q[0], sim.state().v[0]);
  };
  const auto [x_rest, v_rest] = run(25.0, 0.7);
  EXPECT_LT(std::abs(v_rest), 1e-4);
  EXPECT_LT(std::abs(x_rest), 1e-5);
  const auto [x, v] = run(35.0, 0.3);
  const double angle = 35.0 * std::numbers::pi / 180.0;
  const double a = kGravity * (std::sin(angle) - 0.3 * std::cos(angle)), h = 0.002;
  EXPECT_NEAR(v, a * 100 * h, 1e-6);
  EXPECT_NEAR(x, a * h * h * 100 * 101 / 2, 1e-6);
}

TEST(Motion, ElasticBallReturns) {
  for (const double h : {1e-3, 1e-2}) {
    ModelPtr model =
        scene("<geom type='plane' size='5 5 1'/><body pos='0 0 1.1'><freejoint/><geom size='0.1'/></body>");
    Simulator sim(model, options_of(h));
    for (Material& material : sim.parameters().shape_material) material.restitution = 1.0;
    double highest = 0.0;
    bool bounced = false;
    for (double t = 0.0; t < 1.0; t += h) {
      sim.step();
      bounced = bounced || sim.state().v[2] > 1.0;
      if (bounced) highest = std::max(highest, sim.state().q[2] - 0.1);
    }
    EXPECT_TRUE(bounced);
    EXPECT_NEAR(highest, 1.0, 10.0 * h);
  }
}

// Slides, then rolls: angular momentum about the point of contact is kept.
TEST(Motion, SphereSlidesThenRolls) {
  Simulator sim(scene("<geom type='plane' size='50 5 1' friction='0.3'/><body pos='0 0 0.1'><freejoint/>"
                      "<geom size='0.1' mass='2' friction='0.3'/></body>"),
                options_of(0.001));
  sim.state().v[0] = 2.0;
  sim.step(1000);
  const double v = sim.state().v[0], w = sim.state().v[4];
  EXPECT_NEAR(v, 2.0 / (1.0 + 0.4), 1e-4);
  EXPECT_LE(std::abs(v - 0.1 * w), 1e-5);
}

TEST(Motion, StackOfFiveBoxesCarriesItsWeight) {
  Simulator sim(scene("<geom type='plane' size='5 5 1'/><replicate count='5' offset='0 0 0.2'><body pos='0 0 0.1'>"
                      "<freejoint/><geom type='box' size='.1 .1 .1' mass='3'/></body></replicate>"),
                options_of(0.002));
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk) << i << " " << sim.report().residuals.natv_relative;
  }
  const NormalForces sum = normal_forces(sim);
  EXPECT_NEAR(sum.ground, 5 * 3 * kGravity, 0.02 * 5 * 3 * kGravity);
  EXPECT_NEAR(sum.all, 15 * 3 * kGravity, 0.02 * 15 * 3 * kGravity);
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(sim.state().q[7 * i + 2], 0.1 + 0.2 * i, 1e-3);
}

TEST(Motion, HeavySphereOnALightOne) {
  Simulator sim(
      scene("<geom type='plane' size='5 5 1'/><body pos='0 0 0.1'><freejoint/><geom size='0.1' mass='1'/></body>"
            "<body pos='0 0 0.3'><freejoint/><geom size='0.1' mass='100'/></body>"),
      options_of(0.001));
  for (int i = 0; i < 50; ++i) ASSERT_EQ(sim.step().status, StepStatus::kOk);
  const NormalForces sum = normal_forces(sim);
  EXPECT_NEAR(sum.ground, 101 * kGravity, 0.02 * 101 * kGravity);
  EXPECT_NEAR(sum.all - sum.ground, 100 * kGravity, 0.02 * 100 * kGravity);
}

// A disc of mass 3 on three points at radius 1.5, mu = 2/3, g = 10: it can hold 3 points * mu m g / 3 * R = 30 N m.
TEST(Motion, DiscOnThreePointsUnderTorque) {
  const auto run = [](double torque) {
    std::string feet;
    for (int k = 0; k < 3; ++k) {
      const double a = 2.0 * std::numbers::pi * k / 3.0;
      feet += "<geom size='0.05' mass='0' friction='0.6666666666666666' pos='" + number(1.5 * std::cos(a)) + " " +
              number(1.5 * std::sin(a)) + " 0'/>";
    }
    ModelPtr model = load_mjcf_string(
        "<mujoco><option gravity='0 0 -10'/><worldbody><geom type='plane' size='5 5 1' friction='0.6666666666666666'/>"
        "<body pos='0 0 0.05'><freejoint/><inertial pos='0 0 0' mass='3' diaginertia='2 2 3'/>" +
        feet + "</body></worldbody></mujoco>");
    // Impulses at three points are not unique; ADMM from a cold start gives those of least norm.
    SimulatorOptions options = options_of(0.001, 1e-10);
    options.solver = "ncp-admm";
    options.warm_start = false;
    options.max_iterations = 10000;
    auto sim = std::make_unique<Simulator>(model, options);
    for (int i = 0; i < 20; ++i) {
      sim->input().applied_wrench[1] << 0, 0, 0, 0, 0, torque;
      sim->step();
    }
    return sim;
  };
  const auto held = run(20.0);
  EXPECT_LT(std::abs(held->state().v[5]), 1e-8);
  ASSERT_EQ(held->contacts().size(), 3u);
  for (const ContactForce& f : held->contacts()) {
    EXPECT_NEAR(std::hypot(f.local_force.x(), f.local_force.y()), 20.0 / (3.0 * 1.5), 1e-3);
    EXPECT_NEAR(f.local_force.z(), 10.0, 1e-3);
  }
  const auto slid = run(40.0);  // 10 N m too many, inertia 3
  EXPECT_NEAR(slid->state().v[5], 20 * 0.001 * 10.0 / 3.0, 1e-4);
}

TEST(Motion, PendulumStopsAtItsLimit) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><compiler angle='radian'/><worldbody><body><joint name='hinge' axis='0 1 0' limited='true' range='-0.5 "
      "0.5'/>"
      "<geom type='capsule' fromto='0 0 0 1 0 0' size='0.05'/></body></worldbody></mujoco>");
  Simulator sim(model, options_of(0.002));
  for (int i = 0; i < 2000; ++i) {
    sim.step();
    ASSERT_LT(sim.state().q[0], 0.5 + 1e-3);
  }
  EXPECT_NEAR(sim.state().q[0], 0.5, 3e-4);
  EXPECT_NEAR(sim.state().v[0], 0.0, 1e-6);
}

TEST(Motion, DryFrictionHoldsAJoint) {
  const auto angle_after = [](double friction) {
    const ModelPtr model =
        load_mjcf_string("<mujoco><worldbody><body><joint axis='0 1 0' frictionloss='" + number(friction) +
                         "'/><geom type='sphere' size='0.1' mass='1' pos='0.5 0 0'/></body></worldbody></mujoco>");
    Simulator sim(model, options_of(0.002));
    sim.step(100);
    return sim.state().q[0];
  };
  EXPECT_NEAR(angle_after(5.0), 0.0, 1e-9);  // m g l = 4.905 N m
  EXPECT_GT(angle_after(4.0), 0.01);
}

// A closed four-bar chain: the connect equality keeps the loop shut.
TEST(Motion, LoopStaysClosed) {
  const ModelPtr model = load_mjcf_string(R"(<mujoco><compiler angle='degree'/><worldbody>
      <body name='a'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0 0 0.4' size='0.02'/>
        <body name='b' pos='0 0 0.4'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0.4 0 0' size='0.02'
          contype='0' conaffinity='0'/></body></body>
      <body name='c' pos='0.4 0 0'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0 0 0.4' size='0.02'
        contype='0' conaffinity='0'/></body>
    </worldbody><equality><connect body1='b' body2='c' anchor='0.4 0 0'/></equality></mujoco>)");
  Simulator sim(model, options_of(0.001));
  sim.state().v << 1.0, -1.0, 1.0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    ASSERT_LT(sim.report().violation, 1e-3);
  }
  EXPECT_NEAR(sim.state().q[0], sim.state().q[2], 2e-3);  // a parallelogram
}

// Links of 4 m between pivots 2 m apart: hanging at rest it is a trapezoid whose legs stand at acos(1/4).
TEST(Motion, FourBarHangsInEquilibrium) {
  // Assembled with link A at 95 degrees below the horizontal: the joint of coupler and link C is where circles of
  // radius 4 about A's end and the second pivot meet.
  const double a = 95.0 * std::numbers::pi / 180.0;
  const Eigen::Vector2d A(4.0 * std::cos(a), -4.0 * std::sin(a)), D(2.0, 0.0);
  const Eigen::Vector2d middle = 0.5 * (A + D), along = (D - A).normalized(), across(along.y(), -along.x());
  const Eigen::Vector2d C = middle + std::sqrt(16.0 - 0.25 * (D - A).squaredNorm()) * across;
  const auto point = [](const Eigen::Vector2d& p) { return number(p.x()) + " 0 " + number(p.y()); };
  const std::string quiet = " size='0.05' mass='1' contype='0' conaffinity='0'/>";
  const ModelPtr model = load_mjcf_string(
      "<mujoco><compiler angle='radian'/><worldbody><body name='A'><joint axis='0 1 0' damping='3'/>"
      "<geom type='capsule' fromto='0 0 0 " +
      point(A) + "'" + quiet + "<body name='B' pos='" + point(A) +
      "'><joint axis='0 1 0' damping='3'/><geom type='capsule' fromto='0 0 0 " + point(C - A) + "'" + quiet +
      "</body></body><body name='C' pos='2 0 0'><joint axis='0 1 0' damping='3'/><geom type='capsule' fromto='0 0 0 " +
      point(C - D) + "'" + quiet + "</body></worldbody><equality><connect body1='B' body2='C' anchor='" + point(C - A) +
      "'/></equality></mujoco>");
  Simulator sim(model, options_of(0.005));
  sim.step(20000);
  EXPECT_LT(sim.state().v.norm(), 1e-5);
  // Turning by q about +y takes (x, z) at the angle t below the x axis to t + q.
  const auto degrees = [](double x) { return x * 180.0 / std::numbers::pi; };
  const double leg_a = degrees(a + sim.state().q[0]);
  const Eigen::Vector2d c = C - D;
  const double leg_c = degrees(std::atan2(-c.y(), c.x()) + sim.state().q[2]);
  EXPECT_NEAR(180.0 - leg_a, degrees(std::acos(0.25)), 0.01);  // 75.52 from the horizontal, leaning outward
  EXPECT_NEAR(leg_c, degrees(std::acos(0.25)), 0.01);
}

// Six levels of four planks, each across the one below.
TEST(Motion, PlankTowerStands) {
  std::string planks;
  const double half_length = 0.2, half_width = 0.02, half_height = 0.0075;
  for (int level = 0; level < 6; ++level) {
    for (int k = 0; k < 4; ++k) {
      const double offset = (k - 1.5) * 0.1, z = half_height * (2 * level + 1);
      const bool along_x = level % 2 == 0;
      planks += fmt::format("<body pos='{} {} {}'><freejoint/><geom type='box' size='{} {} {}' friction='0.6'/></body>",
                            along_x ? 0.0 : offset, along_x ? offset : 0.0, z, along_x ? half_length : half_width,
                            along_x ? half_width : half_length, half_height);
    }
  }
  Simulator sim(scene("<geom type='plane' size='5 5 1' friction='0.6'/>" + planks), options_of(0.001));
  const VectorX start = sim.state().q;
  for (int i = 0; i < 50; ++i) ASSERT_EQ(sim.step().status, StepStatus::kOk) << i;
  for (int body = 0; body < 24; ++body) {
    const Vector3 moved = sim.state().q.segment<3>(7 * body) - start.segment<3>(7 * body);
    EXPECT_GT(moved.z(), -0.015);
    EXPECT_LT(moved.head<2>().norm(), 0.010);
    EXPECT_LT(moved.norm(), 1e-3);  // in fact it hardly moves
  }
}

// Free fall is a parabola: the midpoint rules hit it, Euler's is off by g h t / 2.
TEST(Motion, MidpointRuleIsExactInFreeFall) {
  const auto height = [&](Integrator integrator) {
    SimulatorOptions options = options_of(0.01);
    options.integrator = integrator;
    Simulator sim(scene("<body pos='0 0 10'><freejoint/><geom size='0.1'/></body>"), options);
    sim.step(100);
    return sim.state().q[2];
  };
  EXPECT_NEAR(height(Integrator::kMoreauMidpoint), 10.0 - 0.5 * kGravity, 1e-12);
  EXPECT_NEAR(height(Integrator::kVariational), 10.0 - 0.5 * kGravity, 1e-12);
  EXPECT_NEAR(height(Integrator::kSemiImplicitEuler), 10.0 - 0.5 * kGravity * (1.0 + 0.01), 1e-12);
}

TEST(Motion, MidpointRuleRests) {
  for (const Integrator integrator : {Integrator::kMoreauMidpoint, Integrator::kVariational}) {
    SimulatorOptions options = options_of(0.002);
    options.integrator = integrator;
    Simulator sim(scene("<geom type='plane' size='5 5 1'/><body pos='0 0 0.15'><freejoint/>"
                        "<geom type='box' size='.1 .1 .1'/></body>"),
                  options);
    sim.step(1000);
    EXPECT_NEAR(sim.state().q[2], 0.1, 5e-4);
    EXPECT_LT(sim.state().v.norm(), 1e-6);
  }
}

}  // namespace
}  // namespace touchstone
