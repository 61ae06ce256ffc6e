// A solref with a damping ratio below 1 bounces: the unilateral damped spring, in closed form and in motion.
#include "touchstone/sim/rebound.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

constexpr double kGravity = 9.81;

Impedance spring_of(double frequency, double ratio, double d = 0.95) {
  Impedance impedance;
  impedance.solref = {-frequency * frequency, -2.0 * ratio * frequency};
  impedance.solimp = {d, d, 0.001, 0.5, 2.0};
  return impedance;
}

double closed_form(double ratio) { return std::exp(-2.0 * ratio * std::acos(ratio) / std::sqrt(1.0 - ratio * ratio)); }

// Integrates x'' = -B x' - K x - (1 - d) load from an impact, until the spring would pull or the body is back.
double integrated(const Impedance& impedance, double speed, double load) {
  const double K = -impedance.solref[0], B = -impedance.solref[1], d = impedance.solimp[1];
  const double dt = 1e-4 / std::sqrt(K);
  const auto acceleration = [&](double x, double v) { return -B * v - K * x - (1.0 - d) * load; };
  double x = 0.0, v = -speed;
  for (int i = 0; i < 100000; ++i) {
    if (i > 0 && (acceleration(x, v) <= -load || x >= 0.0)) return std::max(0.0, v / speed);
    const double xm = x + 0.5 * dt * v, vm = v + 0.5 * dt * acceleration(x, v);
    x += dt * vm;
    v += dt * acceleration(xm, vm);
  }
  return 0.0;
}

TEST(Rebound, HasItsLimits) {
  EXPECT_DOUBLE_EQ(rebound(spring_of(300.0, 0.0), 1.0, 0.0), 1.0);
  EXPECT_NEAR(rebound(spring_of(300.0, 0.998), 1.0, 0.0), std::exp(-2.0), 1e-3);
  EXPECT_EQ(rebound(spring_of(300.0, 1.0), 1.0, 0.0), 0.0);
  EXPECT_EQ(rebound(spring_of(300.0, 5.0), 1.0, 0.0), 0.0);
  EXPECT_EQ(rebound(Impedance(), 10.0, 0.0), 0.0);
  EXPECT_EQ(rebound(spring_of(0.0, 0.0), 1.0, 0.0), 0.0);
  EXPECT_EQ(rebound(spring_of(300.0, 0.2), -1.0, 0.0), 0.0);
  EXPECT_EQ(rebound(spring_of(300.0, 0.2), 0.0, 0.0), 0.0);
  EXPECT_EQ(rebound(spring_of(1e-150, 0.2), 1e-150, 10.0), 0.0);
  for (double z = 0.01; z < 0.998; z += 0.01) {
    EXPECT_NEAR(rebound(spring_of(300.0, z), 1.0, 0.0), closed_form(z), 1e-14);
    EXPECT_NEAR(rebound(spring_of(300.0, z), 1.0, 1e-9), closed_form(z), 1e-6);
    EXPECT_NEAR(rebound(spring_of(300.0, z), 1.0, -5.0), closed_form(z), 1e-14) << "a pull away does not count";
    const double angle = std::acos(z), heavy = std::exp(-std::numbers::pi * z / std::sin(angle));
    EXPECT_NEAR(rebound(spring_of(300.0, z, 0.9999), 1.0, 200.0), heavy, 1e-2) << z;
  }
}

TEST(Rebound, IsThatOfTheIntegratedSpring) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> ratio(0.02, 0.99), exponent(-3.0, 1.0), share(0.5, 0.99);
  int left = 0;
  for (int i = 0; i < 200; ++i) {
    const double z = ratio(random), speed = 2.0, load = 200.0 * std::pow(10.0, exponent(random));
    const double edge = 200.0 * std::pow(closed_form(z), 1.5);
    if (std::abs(load / edge - 1.0) < 0.02) continue;  // there the end jumps
    const Impedance spring = spring_of(100.0, z, share(random));
    const double expected = integrated(spring, speed, load);
    EXPECT_NEAR(rebound(spring, speed, load), expected, 2e-3) << i << ' ' << z << ' ' << load;
    left += expected > 0.0 ? 1 : 0;
  }
  EXPECT_GT(left, 40);
  EXPECT_LT(left, 180);
}

// --- motion
// ------------------------------------------------------------------------------------------------------------

struct Drop {
  std::string shape = "type='sphere' size='.05'";
  double bottom = 0.05;  // of the shape below its centre
  double height = 1.0;
  std::string solref = "-100000 0", floor_solref = "-100000 0";

  std::string xml() const {
    return fmt::format(
        "<mujoco><worldbody><geom type='plane' size='5 5 1' solref='{}'/><body pos='0 0 {}'><freejoint/>"
        "<geom {} mass='1' solref='{}'/></body></worldbody></mujoco>",
        floor_solref, bottom + height, shape, solref);
  }
};

struct Bounce {
  double before = 0.0, after = 0.0;  // m/s, of the first impact
  double apex = 0.0;                 // of the shape's lowest point after it, m
};

Bounce first_bounce(Simulator& sim, const Drop& drop) {
  Bounce bounce;
  const double h = sim.time_step();
  const int steps = static_cast<int>(3.0 * std::sqrt(2.0 * drop.height / kGravity) / h) + 50;
  bool touched = false;
  for (int i = 0; i < steps; ++i) {
    const double v = sim.state().v[2];
    EXPECT_EQ(sim.step().status, StepStatus::kOk);
    if (!touched && sim.state().v[2] > v + kGravity * h) {
      touched = true;
      bounce.before = -v;
      bounce.after = sim.state().v[2];
    } else if (touched && sim.state().v[2] < -0.5 * kGravity * h && bounce.apex == 0.0) {
      bounce.apex = sim.state().q[2] - drop.bottom;
    }
  }
  EXPECT_TRUE(touched);
  return bounce;
}

Bounce first_bounce(const Drop& drop, double h = 1e-3) {
  SimulatorOptions options;
  options.time_step = h;
  options.tolerance = 1e-9;
  Simulator sim(load_mjcf_string(drop.xml()), options);
  return first_bounce(sim, drop);
}

// Undamped: the ball comes back to where it was, at any height and step.
TEST(Rebound, AnUndampedBallComesBack) {
  for (const double height : {0.1, 0.5, 1.0, 3.0}) {
    for (const double h : {5e-4, 1e-3, 2e-3}) {
      const Bounce bounce = first_bounce({.height = height}, h);
      EXPECT_NEAR(bounce.after / bounce.before, 1.0, 1e-3);
      EXPECT_NEAR(bounce.apex, height, 0.01 * height + 2.0 * h * std::sqrt(2.0 * kGravity * height)) << height << h;
    }
  }
}

// Shapes, heights, damping ratios, both formats.
TEST(Rebound, ShapesLeaveWithTheShareOfTheSpring) {
  struct Body {
    const char* shape;
    double bottom;
  };
  const Body bodies[] = {{"type='sphere' size='.05'", 0.05},
                         {"type='box' size='.1 .08 .05'", 0.05},
                         {"type='capsule' size='.05 .1' euler='0 90 0'", 0.05},
                         {"type='cylinder' size='.08 .05'", 0.05},
                         {"type='ellipsoid' size='.1 .1 .05'", 0.05}};
  for (const Body& body : bodies) {
    for (const double z : {0.05, 0.2, 0.5, 0.8}) {
      for (const double height : {0.3, 1.5}) {
        const double w = 400.0;
        const std::string direct = fmt::format("{} {}", -w * w, -2.0 * z * w);
        const std::string standard = fmt::format("{} {}", 1.0 / (w * z), z);
        for (const std::string& solref : {direct, standard}) {
          const Drop drop{
              .shape = body.shape, .bottom = body.bottom, .height = height, .solref = solref, .floor_solref = solref};
          const Bounce bounce = first_bounce(drop);
          EXPECT_NEAR(bounce.after / bounce.before, closed_form(z), 3e-3) << body.shape << ' ' << solref;
        }
      }
    }
  }
}

// MuJoCo's rules for the two geoms come first: a mean of times, the least of direct numbers, priority, pairs.
TEST(Rebound, FollowsTheMixedSolref) {
  const auto share = [](const Drop& drop) {
    const Bounce bounce = first_bounce(drop);
    return std::max(0.0, bounce.after) / bounce.before;  // what does not bounce may still close its gap
  };
  EXPECT_NEAR(share({.solref = "0.004 0.2", .floor_solref = "0.004 0.6"}), closed_form(0.4), 3e-3);
  EXPECT_NEAR(share({.solref = "-160000 -80", .floor_solref = "-40000 -240"}), closed_form(240.0 / 800.0), 3e-3);
  EXPECT_NEAR(share({.solref = "-160000 -80", .floor_solref = "0.02 1"}), closed_form(0.1), 3e-3);
  EXPECT_NEAR(share({.solref = "-160000 -80' priority='1", .floor_solref = "0.02 1"}), closed_form(0.1), 3e-3);
  EXPECT_LT(share({.solref = "0.02 1' priority='1", .floor_solref = "-160000 -80"}), 1e-9);
  EXPECT_LT(share({.solref = "0.02 1", .floor_solref = "0.004 1"}), 1e-9);
  EXPECT_LT(share({.solref = "-1000 1", .floor_solref = "-1000 1"}), 1e-9) << "mixed signs are the default";
}

TEST(Rebound, ContactPairsHaveTheirOwn) {
  SimulatorOptions options;
  options.time_step = 1e-3;
  const Drop drop;
  Simulator sim(load_mjcf_string("<mujoco><worldbody><geom name='f' type='plane' size='5 5 1'/><body pos='0 0 1.05'>"
                                 "<freejoint/><geom name='b' size='.05' mass='1'/></body></worldbody><contact>"
                                 "<pair geom1='f' geom2='b' solref='-160000 -400'/></contact></mujoco>"),
                options);
  const Bounce bounce = first_bounce(sim, drop);
  EXPECT_NEAR(bounce.after / bounce.before, closed_form(0.5), 3e-3);
}

TEST(Rebound, LimitsOfJointsAndTendonsBounceToo) {
  const auto share = [](const std::string& xml) {
    Simulator sim(load_mjcf_string(xml));
    sim.state().v[0] = 2.0;
    double before = 2.0;
    for (int i = 0; i < 1000 && sim.state().v[0] > 0.0; ++i) {
      before = sim.state().v[0];
      sim.step();
    }
    return -sim.state().v[0] / before;
  };
  const auto hinge = [](const std::string& solref) {
    return "<mujoco><option gravity='0 0 0'/><worldbody><body><joint axis='0 1 0' limited='true' range='-60 60' "
           "solreflimit='" +
           solref + "'/><geom size='.1' pos='.3 0 0'/></body></worldbody></mujoco>";
  };
  EXPECT_NEAR(share(hinge("-40000 0")), 1.0, 1e-6);
  EXPECT_NEAR(share(hinge("-40000 -120")), closed_form(0.3), 1e-6);
  EXPECT_NEAR(share(hinge("0.005 0.6")), closed_form(0.6), 1e-6);
  EXPECT_NEAR(share(hinge("0.02 1")), 0.0, 1e-6);
  EXPECT_NEAR(share("<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='j' type='slide'/><geom size='.1'/>"
                    "</body></worldbody><tendon><fixed limited='true' range='-1 1' solreflimit='-40000 -120'><joint "
                    "joint='j' coef='1'/></fixed></tendon></mujoco>"),
              closed_form(0.3), 1e-6);
}

// A spring that cannot throw a body off against its weight does not bounce: robots with a damping ratio of a little
// less than 1 stand as they did.
TEST(Rebound, WhatStandsStaysStanding) {
  for (const char* solref : {"0.02 0.9", "0.02 0.5", "0.005 0.7", "0.02 0.05", "-100000 0", "-2500 -50"}) {
    std::string xml = fmt::format("<mujoco><default><geom solref='{}'/></default><worldbody>", solref);
    xml += "<geom type='plane' size='5 5 1'/>";
    for (int i = 0; i < 5; ++i) {
      xml += fmt::format("<body pos='0 0 {}'><freejoint/><geom type='box' size='.05 .05 .05' mass='1'/></body>",
                         0.0503 + 0.1001 * i);
    }
    Simulator sim(load_mjcf_string(xml + "</worldbody></mujoco>"));
    double fastest = 0.0;
    sim.step(250);
    const VectorX settled = sim.state().q;
    for (int i = 0; i < 500; ++i) {
      sim.step();
      fastest = std::max(fastest, sim.state().v.cwiseAbs().maxCoeff());
    }
    EXPECT_LT(fastest, 1e-3) << solref;
    EXPECT_LT((sim.state().q - settled).cwiseAbs().maxCoeff(), 1e-4) << solref;
  }
}

// Dropped from 2 cm, 0.63 m/s: a damping ratio of 0.9 at MuJoCo's usual time constant stays, as in MuJoCo.
TEST(Rebound, SlowDropsOnSoftSpringsDoNotBounce) {
  const Bounce bounce = first_bounce({.height = 0.02, .solref = "0.02 0.9", .floor_solref = "0.02 0.9"});
  EXPECT_LT(bounce.after, 1e-9);
}

}  // namespace
}  // namespace touchstone
