// Joint terms, servos, and the constraints of joints and contacts beyond sliding, against closed forms of the time
// stepping.
#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

std::string number(double x) { return fmt::format("{}", x); }

// A mass of 2 kg on a rail without gravity; `joint` and `rest` go into the file.
ModelPtr slider(const std::string& joint, const std::string& rest = "") {
  return load_mjcf_string(
      "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='j' type='slide' axis='1 0 0' " + joint +
      "/><geom size='0.1' mass='2' contype='0' conaffinity='0'/></body></worldbody>" + rest + "</mujoco>");
}

SimulatorOptions options_of(double h) {
  SimulatorOptions options;
  options.time_step = h;
  options.tolerance = 1e-10;
  return options;
}

// (m + a + h b + h^2 k)(v' - v) = -h (b v + k (q + h v)), for any step.
TEST(JointTerms, SpringDamperAndArmatureAreImplicit) {
  for (const double h : {0.001, 0.01, 0.5}) {
    Simulator sim(slider("stiffness='800' damping='30' armature='0.5'"), options_of(h));
    sim.state().q[0] = 0.1;
    double q = 0.1, v = 0.0;
    for (int i = 0; i < 20; ++i) {
      sim.step();
      v += -h * (30.0 * v + 800.0 * (q + h * v)) / (2.5 + h * 30.0 + h * h * 800.0);
      q += h * v;
      ASSERT_NEAR(sim.state().v[0], v, 1e-12);
      ASSERT_NEAR(sim.state().q[0], q, 1e-12);
    }
  }
}

constexpr const char* kServo = "<actuator><position name='s' joint='j' kp='5000' kv='100' ";

TEST(Servos, AreImplicitAtAnyGain) {
  for (const double h : {0.001, 0.02, 0.2}) {
    Simulator sim(slider("", std::string(kServo) + "/></actuator>"), options_of(h));
    sim.input().control[0] = 0.3;
    double q = 0.0, v = 0.0;
    for (int i = 0; i < 50; ++i) {
      sim.step();
      const double change = h * (5000.0 * (0.3 - q - h * v) - 100.0 * v) / (2.0 + h * 100.0 + h * h * 5000.0);
      v += change;
      q += h * v;
      ASSERT_NEAR(sim.state().v[0], v, 1e-10);
      ASSERT_NEAR(sim.actuator_forces()[0], 2.0 * change / h, 1e-8);
    }
    EXPECT_NEAR(sim.state().q[0], 0.3, h < 0.01 ? 0.05 : 1e-3);
  }
}

// The limited servo pushes with its limit until the law asks for less, and never with more.
TEST(Servos, KeepTheirForceLimits) {
  const std::string limited[2] = {std::string(kServo) + "forcerange='-8 8'/></actuator>",
                                  std::string(kServo) + "/></actuator>"};
  for (int k = 0; k < 2; ++k) {
    const double h = 0.002;
    const std::string joint = k == 0 ? "" : "actuatorfrcrange='-8 8' actuatorfrclimited='true'";
    Simulator sim(slider(joint, limited[k]), options_of(h));
    sim.input().control[0] = 0.3;
    double q = 0.0, v = 0.0;
    int at_limit = 0;
    for (int i = 0; i < 1500; ++i) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk);
      double change = h * (5000.0 * (0.3 - q - h * v) - 100.0 * v) / (2.0 + h * 100.0 + h * h * 5000.0);
      if (std::abs(2.0 * change / h) > 8.0) ++at_limit;
      change = std::clamp(change, -h * 8.0 / 2.0, h * 8.0 / 2.0);
      v += change;
      q += h * v;
      ASSERT_NEAR(sim.state().v[0], v, 1e-8) << i;
      ASSERT_LE(std::abs(sim.actuator_forces()[0]), 8.0 + 1e-9);
      ASSERT_LE(sim.report().energy.actuators, 8.0 * std::abs(h * v) + 1e-9);
    }
    EXPECT_GT(at_limit, 50);
    EXPECT_NEAR(sim.state().q[0], q, 1e-8);
  }
}

// A servo that holds a weight against the ground: the contact drives it into its limit within the step.
TEST(Servos, KeepTheirLimitsInContact) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 0.5'><joint name='j' type='slide' axis='0 0 "
      "1'/>"
      "<geom size='0.1' mass='2'/></body></worldbody><actuator><position joint='j' kp='20000' kv='200' forcerange='-30 "
      "30'/></actuator></mujoco>");
  Simulator sim(model, options_of(0.002));
  sim.input().control[0] = -0.6;  // 20 cm below the ground
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    ASSERT_LE(std::abs(sim.actuator_forces()[0]), 30.0 + 1e-9);
  }
  ASSERT_EQ(sim.contacts().size(), 1u);
  EXPECT_NEAR(sim.contacts()[0].local_force.z(), 2 * 9.81 + 30.0, 1e-4);
  EXPECT_NEAR(sim.state().q[0], -0.4, 3e-4);
}

// A servo on a tendon couples its two joints.
TEST(Servos, ActThroughTendons) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='a' type='slide' axis='1 0 0'/><geom size='0.1' "
      "mass='2' contype='0' conaffinity='0'/><body><joint name='b' type='slide' axis='1 0 0'/><geom size='0.1' "
      "mass='1' "
      "contype='0' conaffinity='0'/></body></body></worldbody><tendon><fixed name='t'><joint joint='a' "
      "coef='1'/><joint "
      "joint='b' coef='-2'/></fixed></tendon><actuator><position tendon='t' kp='300' kv='5'/></actuator></mujoco>");
  const double h = 0.05;
  Simulator sim(model, options_of(h));
  sim.input().control[0] = 0.2;
  // M of the chain, J the tendon: (M + g J'J) dv = h J' f.
  Eigen::Matrix2d M;
  M << 3.0, 1.0, 1.0, 1.0;
  const Eigen::Vector2d J(1.0, -2.0);
  Eigen::Vector2d q(0, 0), v(0, 0);
  for (int i = 0; i < 40; ++i) {
    sim.step();
    const double force = 300.0 * (0.2 - J.dot(q) - h * J.dot(v)) - 5.0 * J.dot(v);
    const Eigen::Matrix2d A = M + (h * 5.0 + h * h * 300.0) * J * J.transpose();
    v += A.inverse() * J * (h * force);
    q += h * v;
    ASSERT_NEAR((sim.state().v - v).norm(), 0.0, 1e-10);
  }
}

TEST(Tendons, LimitsAndFriction) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='a' type='slide' axis='1 0 0'/><geom size='0.1' "
      "mass='2' contype='0' conaffinity='0'/></body><body pos='0 1 0'><joint name='b' type='slide' axis='1 0 0'/><geom "
      "size='0.1' mass='1' contype='0' conaffinity='0'/></body></worldbody><tendon><fixed name='t' limited='true' "
      "range='-0.1 0.1' frictionloss='1.5'><joint joint='a' coef='1'/><joint joint='b' "
      "coef='2'/></fixed></tendon></mujoco>");
  const double h = 0.002;
  Simulator sim(model, options_of(h));
  sim.state().v << 0.5, 0.0;
  // Dry friction of 1.5 N on the tendon: both masses are slowed until its rate is zero.
  Eigen::Vector2d v(0.5, 0.0);
  const Eigen::Vector2d per_impulse(1.0 / 2.0, 2.0 / 1.0);  // M^-1 J'
  while (v[0] + 2.0 * v[1] > 0.02) {
    sim.step();
    v -= h * 1.5 * per_impulse;
    ASSERT_NEAR((sim.state().v - v).norm(), 0.0, 1e-9);
  }
  sim.step(200);
  EXPECT_NEAR(sim.state().v[0] + 2.0 * sim.state().v[1], 0.0, 1e-9);
  sim.state().v << 3.0, 1.0;  // into the limit
  for (int i = 0; i < 200; ++i) sim.step();
  EXPECT_LT(sim.state().q[0] + 2.0 * sim.state().q[1], 0.1 + 3e-4);
}

TEST(Equalities, CoupleJoints) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='a' type='slide' axis='1 0 0'/><geom size='0.1' "
      "mass='2' contype='0' conaffinity='0'/></body><body pos='0 1 0'><joint name='b' type='slide' axis='1 0 0'/><geom "
      "size='0.1' mass='1' contype='0' conaffinity='0'/></body></worldbody><equality><joint joint1='a' joint2='b' "
      "polycoef='0 3 0 0 0'/></equality></mujoco>");
  Simulator sim(model, options_of(0.001));
  sim.input().applied_force << 0.0, 4.0;
  sim.step(500);
  // v_a = 3 v_b, so the force moves 1 + 9 * 2 kg.
  EXPECT_NEAR(sim.state().v[1], 0.5 * 4.0 / 19.0, 1e-9);
  EXPECT_NEAR(sim.state().v[0], 3.0 * sim.state().v[1], 1e-9);
  EXPECT_NEAR(sim.state().q[0], 3.0 * sim.state().q[1], 1e-9);
}

TEST(Equalities, WeldsHoldAgainstWeight) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><worldbody><body name='a' pos='0 0 1'><freejoint/><geom type='box' size='.1 .1 .1' mass='2' contype='0' "
      "conaffinity='0'/></body></worldbody><equality><weld body1='a'/></equality></mujoco>");
  Simulator sim(model, options_of(0.002));
  sim.input().applied_wrench[1] << 0, 0, 0, 0.5, 0, 0;
  sim.step(500);
  EXPECT_LT(sim.state().v.norm(), 1e-9);
  EXPECT_NEAR(sim.state().q[2], 1.0, 1e-9);
  // Rows: force then torque on the world, body b.
  EXPECT_NEAR(sim.impulses()[2] / 0.002, -2 * 9.81, 1e-6);
  EXPECT_NEAR(sim.impulses()[3] / 0.002, 0.5, 1e-6);
}

// A ball that spins on its point of contact slows by the torsional friction mu_t m g; one that rolls by mu_r m g.
TEST(Contacts, TorsionalAndRollingFriction) {
  const auto ball = [](int dimension) {
    return load_mjcf_string(
        "<mujoco><worldbody><geom type='plane' size='5 5 1' friction='0.9 0.01 0.002' condim='" + number(dimension) +
        "'/><body pos='0 0 0.1'><freejoint/><geom size='0.1' mass='2' condim='1' friction='0.9 0.01 "
        "0.002'/></body></worldbody></mujoco>");
  };
  const double h = 0.001, g = 9.81, m = 2.0, r = 0.1, inertia = 0.4 * m * r * r;
  for (const int dimension : {1, 3, 4, 6}) {
    Simulator sim(ball(dimension), options_of(h));
    sim.state().v[5] = 5.0;
    sim.step(100);
    const double slowed = dimension >= 4 ? 100 * h * 0.01 * m * g / inertia : 0.0;
    EXPECT_NEAR(sim.state().v[5], 5.0 - slowed, 1e-5) << dimension;
  }
  // Rolling: the torque tau = mu_r m g slows (I + m r^2) w', by way of the traction T. Both share one cone, whose
  // normal law gives the slip s = w (T / mu^2) / (tau / mu_r^2), which the momentum about the point of contact pays
  // for.
  Simulator sim(ball(6), options_of(h));
  sim.state().v[0] = 1.0;
  sim.state().v[4] = 10.0;
  sim.step(100);
  const double tau = 0.002 * m * g, rolling = inertia + m * r * r, T = tau * m * r / rolling;
  const double w = sim.state().v[4], slip = w * (T / (0.9 * 0.9)) / (tau / (0.002 * 0.002));
  EXPECT_NEAR(sim.state().v[0] - r * w, slip, 1e-7);
  EXPECT_NEAR(w, 10.0 - 100 * h * tau / rolling - m * r * slip / rolling, 3e-5);
  // And one without friction keeps sliding and does not begin to roll.
  Simulator smooth(ball(1), options_of(h));
  smooth.state().v[0] = 1.0;
  smooth.step(100);
  EXPECT_NEAR(smooth.state().v[0], 1.0, 1e-9);
  EXPECT_NEAR(smooth.state().v[4], 0.0, 1e-9);
}

// Overlapping parts that no joint can part have no contact force; the rest goes on.
TEST(Contacts, ThatNothingCanOpenAreLeftOut) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><worldbody><body><joint axis='0 0 1'/><geom type='cylinder' size='0.1 0.1' pos='0 0 0.1'/><body pos='0 "
      "0 "
      "0.2'><joint axis='0 0 1'/><geom type='box' size='0.02 0.02 0.02' pos='0.3 0 0'/><body pos='0 0 0'><joint "
      "axis='0 0 "
      "1'/><geom type='cylinder' size='0.1 0.1' pos='0 0 0.09'/></body></body></body></worldbody></mujoco>");
  Simulator sim(model, options_of(0.002));
  sim.state().v << 1.0, 0.0, -2.0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    ASSERT_GT(sim.report().immovable, 0);
    ASSERT_EQ(sim.report().contacts, 0);
  }
}

}  // namespace
}  // namespace touchstone
