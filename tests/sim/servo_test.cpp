// Servos, springs and dampers that join branches or trees, and actuators that share a limit: implicit at any gain, as
// those are which the mass matrix has room for.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/effort.hpp"
#include "touchstone/dynamics/data.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/model/transmission.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

SimulatorOptions options_of(double h, double tolerance = 1e-10) {
  SimulatorOptions options;
  options.time_step = h;
  options.tolerance = tolerance;
  return options;
}

// Two sliders of 2 and 1 kg side by side, joined by a tendon x_a - 2 x_b.
ModelPtr two_sliders(const std::string& tendon, const std::string& actuators, const std::string& joint = "") {
  return load_mjcf_string(fmt::format(
      "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='a' type='slide' axis='1 0 0' {2}/><geom "
      "size='.1' mass='2' contype='0' conaffinity='0'/></body><body><joint name='b' type='slide' axis='1 0 0'/><geom "
      "size='.1' mass='1' contype='0' conaffinity='0'/></body></worldbody><tendon><fixed name='t' {0}><joint joint='a' "
      "coef='1'/><joint joint='b' coef='-2'/></fixed></tendon><actuator>{1}</actuator></mujoco>",
      tendon, actuators, joint));
}

// (M + g J J') dv = h J f, f the force with the length that the old velocity leads to.
class Reference {
 public:
  Reference(double kp, double kd, double h) : kp_(kp), kd_(kd), h_(h) {}
  void step(double target) {
    const double force = kp_ * (target - J_.dot(q) - h_ * J_.dot(v)) - kd_ * J_.dot(v);
    const Eigen::Matrix2d M = Eigen::Vector2d(2.0, 1.0).asDiagonal();
    v += (M + (h_ * kd_ + h_ * h_ * kp_) * J_ * J_.transpose()).inverse() * J_ * h_ * force;
    q += h_ * v;
  }
  Eigen::Vector2d q = Eigen::Vector2d::Zero(), v = Eigen::Vector2d::Zero();

 private:
  Eigen::Vector2d J_{1.0, -2.0};
  double kp_, kd_, h_;
};

TEST(ServosAcrossTrees, AreImplicit) {
  for (const double h : {0.001, 0.02, 0.2}) {
    Simulator sim(two_sliders("", "<position tendon='t' kp='3000' kv='5'/>"), options_of(h));
    Reference reference(3000.0, 5.0, h);
    sim.input().control[0] = 0.2;
    for (int k = 0; k < 100; ++k) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk);
      reference.step(0.2);
      ASSERT_NEAR((sim.state().q - reference.q).norm() + (sim.state().v - reference.v).norm(), 0.0, 1e-9) << h << k;
    }
  }
}

TEST(TendonSpringsAcrossTrees, AreImplicit) {
  for (const double h : {0.001, 0.02, 0.2}) {
    Simulator sim(two_sliders("stiffness='3000' damping='5' springlength='0.2'", ""), options_of(h));
    Reference reference(3000.0, 5.0, h);
    double dampers = 0.0, unexplained = 0.0;
    for (int k = 0; k < 100; ++k) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk);
      reference.step(0.2);
      ASSERT_NEAR((sim.state().q - reference.q).norm() + (sim.state().v - reference.v).norm(), 0.0, 1e-9) << h << k;
      dampers += sim.report().energy.dampers;
      unexplained += sim.report().energy.error();
      ASSERT_EQ(sim.report().energy.constraints, 0.0);
    }
    EXPECT_LT(dampers, 0.0);
    EXPECT_LT(unexplained, 1e-9) << h;  // backward Euler takes energy and gives none
  }
}

// A pulling spring is slack within its band: no row, no force.
TEST(TendonSpringsAcrossTrees, RestWithinTheirBand) {
  Simulator sim(two_sliders("stiffness='3000' springlength='-0.5 0.5'", ""), options_of(0.01));
  sim.state().v << 0.1, 0.0;
  sim.step(10);
  EXPECT_NEAR(sim.state().q[0], 0.01, 1e-12);
  EXPECT_EQ(sim.report().constraints, 0);
}

// Limits of a servo across trees are kept.
TEST(ServosAcrossTrees, KeepTheirLimits) {
  Simulator sim(two_sliders("", "<position tendon='t' kp='3000' kv='50' forcerange='-4 4'/>"), options_of(0.005));
  sim.input().control[0] = 0.3;
  int at_limit = 0;
  for (int k = 0; k < 2000; ++k) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    ASSERT_LE(std::abs(sim.actuator_forces()[0]), 4.0 + 1e-9);
    at_limit += std::abs(sim.actuator_forces()[0]) > 3.999 ? 1 : 0;
  }
  EXPECT_GT(at_limit, 20);
  EXPECT_NEAR(sim.state().q[0] - 2.0 * sim.state().q[1], 0.3, 1e-3);
}

// What an actuator reports is its law at the end of the step, whatever it acts on. At a constant control c it is a
// spring and a damper: with the energy of the spring the whole cannot gain any, but for the c^2 kv/4 watts that a
// velocity servo gives at most.
TEST(Servos, ForcesAreThoseOfTheEnd) {
  const char* actuators[] = {
      "<position joint='ball' kp='200' kv='3' gear='0 1 0.3'/>",
      "<position jointinparent='ball' kp='200' kv='3' gear='0 1 0.3'/>",
      "<position site='tip' refsite='world' kp='500' kv='2' gear='0 0 1 0 0 0'/>",
      "<position site='tip' refsite='other' kp='500' kv='2' gear='1 0 0.5 0 0 0'/>",
      "<velocity site='tip' kv='30' gear='0 1 0 0 0 0.1'/>",
      "<position cranksite='tip' slidersite='slider' cranklength='0.8' kp='400' kv='1'/>",
  };
  for (const char* actuator : actuators) {
    for (const double h : {0.001, 0.01, 0.05}) {
      const ModelPtr model = load_mjcf_string(fmt::format(
          "<mujoco><worldbody><site name='world' pos='0 0 1'/><site name='slider' pos='0.3 0 0.2'/><body pos='0 0 1'>"
          "<joint name='ball' type='ball' damping='.1'/><geom type='capsule' fromto='0 0 0 .4 0 0' size='.02' mass='1' "
          "contype='0' conaffinity='0'/><body pos='.4 0 0'><joint axis='0 1 0' damping='.05'/><geom type='capsule' "
          "fromto='0 0 0 .3 0 0' size='.02' mass='.5' contype='0' conaffinity='0'/><site name='tip' pos='.3 0 0'/>"
          "</body></body><body pos='0 0.5 1'><joint axis='0 1 0' damping='.05'/><geom type='capsule' fromto='0 0 0 0 0 "
          "-.3' size='.02' mass='.5' contype='0' conaffinity='0'/><site name='other' pos='0 0 -.3'/></body></worldbody>"
          "<actuator>{}</actuator></mujoco>",
          actuator));
      Simulator sim(model, options_of(h));
      sim.input().control[0] = 0.2;
      const Actuator& a = model->actuators[0];
      const bool has_kp = has_length(*model, a);
      const double kp = has_kp ? -a.bias[1] : 0.0, power = has_kp ? 0.0 : -a.bias[2] * 0.2 * 0.2 / 4.0;
      double first = 0.0;  // J
      for (double t = 0.0; t < 3.0; t += h) {
        const double energy = sim.kinetic_energy() + sim.potential_energy();
        ASSERT_EQ(sim.step().status, StepStatus::kOk) << actuator;
        const Data& data = sim.data();
        const double rate = data.actuator_moment.col(0).dot(sim.state().v), stretch = data.actuator_length[0] - 0.2;
        const double length = data.actuator_length[0] + (has_kp ? h * rate : 0.0);
        const double law = a.gain[0] * 0.2 + a.bias[1] * length + a.bias[2] * rate;
        ASSERT_NEAR(sim.actuator_forces()[0], law, 1e-12 * (1.0 + std::abs(law))) << actuator << ' ' << h;
        const double whole = energy + 0.5 * kp * stretch * stretch;
        if (t == 0.0) first = whole;
        ASSERT_LE(whole, first + power * t + 1e-9) << actuator << ' ' << h << ' ' << t;
      }
    }
  }
}

// Two servos and a motor at a joint whose force is limited: the sum is that of one servo, clamped.
TEST(Servos, ShareTheLimitOfTheirJoint) {
  const double h = 0.005;
  const std::string joint = "actuatorfrclimited='true' actuatorfrcrange='-8 8'";
  Simulator sim(two_sliders("",
                            "<position joint='a' kp='1000' kv='20' gear='2'/><position joint='a' kp='500' "
                            "kv='30'/><motor joint='a'/>",
                            joint),
                options_of(h));
  sim.input().control << 0.4, 0.2, 1.0;
  double q = 0.0, v = 0.0;
  int at_limit = 0;
  for (int k = 0; k < 1500; ++k) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    // gears: length 2 q, force times 2
    const double kp = 4.0 * 1000.0 + 500.0, kd = 4.0 * 20.0 + 30.0;
    const double constant = 2.0 * 1000.0 * 0.4 + 500.0 * 0.2 + 1.0;
    const double force = (constant - kp * (q + h * v) - kd * v) / (1.0 + (h * kd + h * h * kp) / 2.0);
    at_limit += std::abs(force) > 8.0 ? 1 : 0;
    v += h * std::clamp(force, -8.0, 8.0) / 2.0;
    q += h * v;
    ASSERT_NEAR(sim.state().v[0], v, 1e-7) << k;
  }
  EXPECT_GT(at_limit, 50);
  EXPECT_NEAR(sim.state().q[0], (800.0 + 100.0 + 1.0) / 4500.0, 1e-4);
}

// Two servos pull at one tendon that cannot bear both.
TEST(Servos, ShareTheLimitOfTheirTendon) {
  const double h = 0.005;
  Simulator sim(two_sliders("actuatorfrclimited='true' actuatorfrcrange='-5 5'",
                            "<position tendon='t' kp='1000' kv='20'/><position tendon='t' kp='500' kv='30'/>"),
                options_of(h));
  sim.input().control << 0.3, 0.3;
  double before = 0.0;
  int at_limit = 0;
  for (int k = 0; k < 2000; ++k) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    const double force = 2.0 * (sim.state().v[0] - before) / h;  // on the first slider
    ASSERT_LE(std::abs(force), 5.0 + 1e-6) << k;
    at_limit += std::abs(force) > 4.999 ? 1 : 0;
    before = sim.state().v[0];
  }
  EXPECT_GT(at_limit, 20);
  EXPECT_NEAR(sim.state().q[0] - 2.0 * sim.state().q[1], 0.3, 1e-3);
}

// What a joint feels, for actuators with limits of their own at a joint or tendon with a limit: as if all were explicit
// and did not move.
TEST(Servos, LimitsOfTheirOwnAndSharedOnes) {
  struct Case {
    const char *tendon, *joint, *actuators;
    double control[2], force;
  };
  const char* limited = "actuatorfrclimited='true' actuatorfrcrange='-5 5'";
  const Case cases[] = {
      {"", limited, "<motor joint='a'/><position joint='a' kp='1000' forcerange='-2 2'/>", {10, 0}, 5.0},
      {"", limited, "<motor joint='a'/><position joint='a' kp='1000' forcerange='-2 2'/>", {-10, 0}, -5.0},
      {"", limited, "<position joint='a' kp='100' forcerange='-3 3'/><position joint='a' kp='10'/>", {0.1, 0.16}, 4.6},
      {"", limited, "<position jointinparent='a' kp='100'/><position joint='a' kp='10'/>", {0.1, 0.16}, 5.0},
      {limited, "", "<position tendon='t' kp='4'/><position tendon='t' kp='4'/>", {1, 1}, 5.0},
      {limited, "", "<position tendon='t' kp='4'/><position tendon='t' kp='4' gear='4'/>", {1, 1}, 12.5},
      {limited, "", "<position tendon='t' kp='4' gear='4'/><position tendon='t' kp='4'/>", {1, 1}, 12.5},
      {"", limited, "<position tendon='t' kp='100' gear='2'/>", {1, 0}, 5.0},
  };
  for (const Case& one : cases) {
    Simulator sim(two_sliders(one.tendon, one.actuators, one.joint), options_of(1e-5, 1e-6));
    for (int u = 0; u < sim.model().nu; ++u) sim.input().control[u] = one.control[u];
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    EXPECT_NEAR(2.0 * sim.state().v[0] / 1e-5, one.force, 0.01) << one.actuators;
    EXPECT_TRUE(one.tendon[0] == 0 || std::abs(sim.actuator_forces().sum() - 5.0) < 0.01) << one.actuators;
  }
}

// A tendon servo that pulls at a joint with a force limit stays stable there.
TEST(ServosAcrossTrees, KeepTheLimitsOfJoints) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='a' type='slide' axis='1 0 0' damping='.1' "
      "actuatorfrclimited='true' actuatorfrcrange='-4 4'/><geom size='.01' mass='.01'/></body><body pos='0 1 0'><joint "
      "name='b' type='slide' axis='1 0 0' damping='.1'/><geom size='.01' mass='.01'/></body></worldbody><tendon><fixed "
      "name='t'><joint joint='a' coef='1'/><joint joint='b' coef='-2'/></fixed></tendon><actuator><position tendon='t' "
      "kp='3000' kv='50'/></actuator></mujoco>");
  Simulator sim(model, options_of(0.002, 1e-6));
  sim.input().control[0] = 0.3;
  double before = 0.0;
  for (int k = 0; k < 1000; ++k) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    ASSERT_LT(std::abs(0.01 * (sim.state().v[0] - before) / 0.002 + 0.1 * sim.state().v[0]), 4.0 + 1e-6) << k;
    before = sim.state().v[0];
  }
  EXPECT_LT(sim.state().v.norm(), 1e-3);
  EXPECT_NEAR(sim.state().q[0] - 2.0 * sim.state().q[1], 0.3, 1e-3);
}

// The variational rule takes dampers across trees at the end of the step, and springs in its own way, however stiff.
// A tendon with the coefficients (1, -2) cannot change 4 v_a + v_b, and J M^-1 J' = 4.5. A damper leaves the velocity
// that this has without a rate of the tendon, (7, 3.5) / 9; a spring keeps the energy.
TEST(TendonSpringsAcrossTrees, AreStableWithTheVariationalRule) {
  struct Case {
    const char* tendon;
    double stiffness, damping, stretch;
  };
  const Case cases[] = {{"damping='3000'", 0.0, 3000.0, 0.0},
                        {"stiffness='3e6' springlength='0.2'", 3e6, 0.0, 0.2},
                        {"stiffness='3000' damping='5'", 3000.0, 5.0, 0.0}};
  for (const Case& one : cases) {
    const double h = 0.005, tolerance = 1e-6;
    SimulatorOptions options = options_of(h, tolerance);
    options.integrator = Integrator::kVariational;
    Simulator sim(two_sliders(one.tendon, ""), options);
    sim.state().v << 1.0, -0.5;
    const double start = 1.125 + 0.5 * one.stiffness * one.stretch * one.stretch;
    double energy = start;
    for (int k = 0; k < 1000; ++k) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk) << one.tendon << k;
      ASSERT_FALSE(sim.report().warnings.variational_fallback) << one.tendon << k;
      energy = sim.kinetic_energy() + sim.potential_energy();
      ASSERT_LE(energy, (1.0 + 1e-9) * start) << one.tendon << k;
      ASSERT_NEAR(4.0 * sim.state().v[0] + sim.state().v[1], 3.5, 1e-10) << one.tendon << k;
      if (k == 0 && one.stiffness == 0.0) {  // a damper alone: backward Euler
        EXPECT_NEAR(sim.state().v[0] - 2.0 * sim.state().v[1], 2.0 / (1.0 + h * one.damping * 4.5), tolerance);
      }
    }
    if (one.damping == 0.0) {
      EXPECT_NEAR(energy, start, 1e-9 * start);
    } else {
      EXPECT_NEAR(sim.state().v[0], 7.0 / 9.0, tolerance) << one.tendon;
      EXPECT_NEAR(sim.state().v[1], 3.5 / 9.0, tolerance) << one.tendon;
    }
  }
}

// Grippers whose fingers a tendon servo closes, with any gain at any step: they come to rest, on what they hold or on
// their limits, and the servo puts no energy in beyond what it spends on the way.
TEST(Servos, GrippersComeToRestAtAnyGain) {
  std::mt19937 random(11);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  const int count = test::whole_family() ? 300 : 10;
  std::vector<double> speeds;
  for (int k = 0; k < count; ++k) {
    const double h = uniform(0.001, 0.02), kp = std::pow(10.0, uniform(0.0, 5.0)), kd = kp * uniform(0.0, 0.05);
    const bool is_held = k % 2 == 0, is_limited = k % 3 == 0, is_split = k % 5 == 0;
    const std::string finger =
        "<joint name='{}' axis='0 {} 0' damping='.002' range='-.6 .8' limited='true'/><geom type='capsule' fromto='0 0 "
        "0 0 0 -.08' size='.008' mass='.03' friction='1'/>";
    const std::string palm = is_split ? ""
                                      : "<body pos='0 0 .3'><joint type='slide' axis='0 0 1' damping='50' "
                                        "stiffness='2000'/><geom size='.02' mass='.3' contype='0' "
                                        "conaffinity='0'/>";
    const ModelPtr model = load_mjcf_string(fmt::format(
        "<mujoco><worldbody>{}<body pos='-.04 0 0'>{}</body><body pos='.04 0 "
        "0'>{}</body>{}{}</worldbody><tendon><fixed "
        "name='grip'><joint joint='l' coef='{}'/><joint joint='r' coef='{}'/></fixed></tendon><actuator><position "
        "tendon='grip' kp='{}' kv='{}' {}/></actuator></mujoco>",
        palm, fmt::format(fmt::runtime(finger), "l", -1), fmt::format(fmt::runtime(finger), "r", 1),
        is_split ? "" : "</body>",
        is_held ? fmt::format("<geom type='box' pos='0 0 {}' size='.02 .02 .02'/>", is_split ? -0.07 : 0.23) : "",
        uniform(0.3, 1.0), uniform(0.3, 1.0), kp, kd, is_limited ? "forcerange='-1 1'" : ""));
    Simulator sim(model, options_of(h, 1e-6));
    sim.input().control[0] = uniform(-0.5, 1.0);
    int unsolved = 0;
    for (double t = 0.0; t < 4.0; t += h) unsolved += sim.step().status == StepStatus::kOk ? 0 : 1;
    EXPECT_EQ(unsolved, 0) << k;
    speeds.push_back(sim.state().v.lpNorm<Eigen::Infinity>());
    EXPECT_LT(speeds.back(), 1e-2) << k << ": h " << h << ", kp " << kp << ", kd " << kd;
  }
  std::sort(speeds.begin(), speeds.end());
  fmt::print("  {} grippers, speed after 4 s: worst per cent {:.1e}, worst {:.1e} rad/s\n", count,
             speeds[speeds.size() - 1 - speeds.size() / 100], speeds.back());
}

// MuJoCo's Euler rule takes servos at the start of a step: one that is too stiff for it drives its joint to and fro for
// ever, and is named. Ours takes it at the end, and says nothing.
TEST(Servos, LimitCyclesAreReported) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='j' type='slide' damping='1'/><geom size='.1' "
      "mass='1'/></body></worldbody><actuator><motor joint='j'/><velocity name='stiff' joint='j' "
      "kv='1001.5'/></actuator></mujoco>");
  for (const ConstraintModel kind : {ConstraintModel::kMujoco, ConstraintModel::kRigid}) {
    SimulatorOptions options = options_of(0.002, 1e-6);
    options.constraints = kind;
    Simulator sim(model, options);
    sim.state().v[0] = 0.1;
    int warned = 0;
    for (int k = 0; k < 500; ++k) {
      warned += sim.step().warnings.limit_cycle ? 1 : 0;
      EXPECT_EQ(sim.report().cycling_actuator, sim.report().warnings.limit_cycle ? 1 : -1);
    }
    EXPECT_EQ(warned > 400, kind == ConstraintModel::kMujoco) << warned;
    EXPECT_TRUE(kind == ConstraintModel::kMujoco || warned == 0) << warned;
  }
}

TEST(Servos, GainsOfTheWrongSignAreWarnedOf) {
  const char* model =
      "<mujoco><worldbody><body><joint name='j'/><geom size='.1'/></body></worldbody><actuator><general name='{}' "
      "joint='j' biastype='affine' biasprm='{}'/></actuator></mujoco>";
  const auto warnings = [&](const char* name, const char* bias) {
    return load_mjcf_string(fmt::format(fmt::runtime(model), name, bias))->warnings;
  };
  EXPECT_TRUE(warnings("good", "0 -10 -1").empty());
  for (const char* bias : {"0 10 -1", "0 -10 1"}) {
    ASSERT_EQ(warnings("bad", bias).size(), 1u);
    EXPECT_NE(warnings("bad", bias)[0].message.find("wrong sign"), std::string::npos);
  }
}

}  // namespace
}  // namespace touchstone
