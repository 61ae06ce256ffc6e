// The variational integrator: what it keeps, its order, and constraints with it.
#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

constexpr double kGravity = 9.81;

SimulatorOptions options_of(double h, Integrator integrator = Integrator::kVariational) {
  SimulatorOptions options;
  options.time_step = h;
  options.tolerance = 1e-8;
  options.integrator = integrator;
  return options;
}

Momentum momentum_of(const Simulator& sim) {
  Data data(sim.model());
  forward_kinematics(sim.model(), sim.parameters(), sim.state(), data);
  forward_velocity(sim.model(), sim.state().v, data);
  return momentum(sim.model(), sim.parameters(), data, Vector3::Zero());
}

double energy_of(Simulator& sim) { return sim.kinetic_energy() + sim.potential_energy(); }

// The largest errors of a run, the energy in both halves apart.
struct Errors {
  double linear = 0.0, angular = 0.0;
  double energy = 0.0, late_energy = 0.0;
  double drift = 0.0;  // mean energy of the second half minus that of the first
};

Errors run_errors(Simulator& sim, double seconds) {
  Errors e;
  const Momentum start = momentum_of(sim);
  const double energy = energy_of(sim);
  const int steps = static_cast<int>(std::lround(seconds / sim.time_step()));
  for (int i = 0; i < steps; ++i) {
    EXPECT_EQ(sim.step().status, StepStatus::kOk);
    EXPECT_FALSE(sim.report().warnings.variational_fallback);
    const Momentum now = momentum_of(sim);
    e.linear = std::max(e.linear, (now.linear - start.linear).norm());
    e.angular = std::max(e.angular, (now.angular - start.angular).norm());
    const double error = energy_of(sim) - energy;
    (2 * i < steps ? e.energy : e.late_energy) = std::max(2 * i < steps ? e.energy : e.late_energy, std::abs(error));
    e.drift += (2 * i < steps ? -error : error) / (0.5 * steps);
  }
  return e;
}

// Three different inertias, spun about nearly the middle axis: it turns over again and again.
Errors spin_block(Integrator integrator, double h) {
  Simulator sim(
      load_mjcf_string("<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/>"
                       "<inertial pos='0 0 0' mass='2' diaginertia='.01 .02 .025'/></body></worldbody></mujoco>"),
      options_of(h, integrator));
  sim.state().v << 0.3, -0.2, 0.5, 0.1, 10.0, 0.05;
  return run_errors(sim, 5.0);
}

TEST(Variational, SpinningBlockKeepsMomentumAndEnergy) {
  const Errors e = spin_block(Integrator::kVariational, 0.01);
  EXPECT_LT(e.linear, 1e-12);
  EXPECT_LT(e.angular, 1e-12);
  const double kinetic = 0.5 * 2.0 * 0.38 + 0.5 * 0.02 * 100.0;
  EXPECT_LT(e.energy, 2e-4 * kinetic);  // the block turns by 0.1 rad a step
  // Bounded: the second half is as good as the first, and in the mean there is no drift.
  EXPECT_NEAR(e.late_energy, e.energy, 0.05 * e.energy);
  EXPECT_LT(std::abs(e.drift), 0.1 * e.energy);
  // O(h^2).
  const Errors half = spin_block(Integrator::kVariational, 0.005);
  EXPECT_NEAR(e.energy / half.energy, 4.0, 0.1);
  EXPECT_LT(half.angular, 1e-12);

  // The others keep the energy of a free body too (dynamics/gyroscopic.hpp), but lose the direction of the momentum.
  for (const Integrator other : {Integrator::kSemiImplicitEuler, Integrator::kMoreauMidpoint}) {
    const Errors o = spin_block(other, 0.01);
    EXPECT_LT(std::max(o.energy, o.late_energy), 1e-12 * kinetic * 500);
    EXPECT_GT(o.angular, 1e-5);
  }
}

Simulator double_pendulum(double h, Integrator integrator = Integrator::kVariational) {
  Simulator sim(make_scene("double-pendulum").model, options_of(h, integrator));
  sim.state().q << 0.6, 0.4;
  return sim;
}

TEST(Variational, DoublePendulumKeepsItsEnergy) {
  Simulator sim = double_pendulum(0.01), fine = double_pendulum(0.005);
  const Errors e = run_errors(sim, 50.0), half = run_errors(fine, 50.0);
  EXPECT_LT(e.energy, 1e-3);  // J, of 9 J between top and bottom of its swing
  EXPECT_NEAR(e.late_energy, e.energy, 0.1 * e.energy);
  EXPECT_LT(std::abs(e.drift), 0.02 * e.energy);
  EXPECT_NEAR(e.energy / half.energy, 4.0, 0.2);
  Simulator moreau = double_pendulum(0.01, Integrator::kMoreauMidpoint);
  EXPECT_GT(run_errors(moreau, 50.0).late_energy, 100.0 * e.late_energy);
}

// By how much the error at t = 1 falls when the step is halved: 2 to the order.
double error_ratio(Simulator (*make)(double)) {
  const auto end = [&](int steps) {
    Simulator sim = make(1.0 / steps);
    for (int i = 0; i < steps; ++i) EXPECT_EQ(sim.step().status, StepStatus::kOk);
    VectorX result(sim.model().nq + sim.model().nv);
    result << sim.state().q, sim.state().v;
    return result;
  };
  const VectorX reference = end(20000);
  return (end(400) - reference).norm() / (end(800) - reference).norm();
}

// A tree on a free joint, with a ball, that motors, a spring and a wrench move.
constexpr const char* kFloating =
    R"(<mujoco><option gravity='0 0 0'/><worldbody>
    <body name='trunk'><freejoint/><inertial pos='.02 .01 0' mass='3' diaginertia='.03 .04 .05'/>
      <body pos='.2 0 0'><joint name='a' axis='0 1 0'/><inertial pos='.1 0 -.1' mass='1' diaginertia='.01 .01 .004'/>
        <body pos='.2 0 -.2'><joint name='b' axis='1 0 0' stiffness='3'/><inertial pos='0 .1 0' mass='.5'
            diaginertia='.003 .001 .003'/></body></body>
      <body pos='-.2 0 0'><joint name='c' type='ball'/><inertial pos='-.1 0 .1' mass='.8' diaginertia='.004 .006 .003'/>
      </body></body></worldbody>
    <actuator><motor joint='a'/><position joint='b' kp='20' kv='1'/></actuator></mujoco>)";

Simulator floating(double h) {
  Simulator sim(load_mjcf_string(kFloating), options_of(h));
  sim.state().v << 0.5, -0.3, 0.2, 1, 2, -1, 1, -2, 3, 1, 2;
  sim.parameters().actuator_gain[1] = {};  // the servo is off
  sim.parameters().actuator_bias[1] = {};
  return sim;
}

TEST(Variational, IsOfSecondOrder) {
  EXPECT_NEAR(error_ratio([](double h) { return double_pendulum(h); }), 4.0, 0.1);
  EXPECT_NEAR(error_ratio([](double h) {
                Simulator sim = floating(h);
                sim.input().control[0] = 0.7;
                sim.input().applied_wrench[2] << 1, 0.5, -1, 0.1, 0, 0.2;
                return sim;
              }),
              4.0, 0.1);
}

TEST(Variational, FloatingTreeKeepsItsMomentum) {
  Simulator sim(load_mjcf_string(kFloating), options_of(0.01));
  sim.state().v << 0.5, -0.3, 0.2, 1, 2, -1, 3, -4, 3, 1, 5;
  sim.parameters().dof_damping.tail(5).setConstant(0.02);
  sim.input().control << 0.5, 0.8;  // forces within the tree
  const Errors e = run_errors(sim, 5.0);
  EXPECT_LT(e.linear, 1e-11);
  EXPECT_LT(e.angular, 1e-11);
  EXPECT_GT(e.energy, 0.1);  // they do work
}

TEST(Variational, ThrownBlockFliesAParabola) {
  Simulator sim(load_mjcf_string("<mujoco><worldbody><body pos='0 0 10'><freejoint/><geom type='box' size='.1 .2 .3'/>"
                                 "</body></worldbody></mujoco>"),
                options_of(0.01));
  sim.state().v << 1, 2, 3, 4, 5, 6;
  const Vector3 spin = momentum_of(sim).angular - Vector3(0, 0, 10).cross(momentum_of(sim).linear);
  sim.step(100);
  EXPECT_LT((sim.state().q.head<3>() - Vector3(1, 2, 13 - 0.5 * kGravity)).norm(), 1e-12);
  EXPECT_LT((sim.state().v.head<3>() - Vector3(1, 2, 3 - kGravity)).norm(), 1e-12);
  const Momentum end = momentum_of(sim);
  EXPECT_LT((end.angular - sim.state().q.head<3>().cross(end.linear) - spin).norm(), 1e-12 * spin.norm());
}

// The midpoint rule keeps the energy of a linear oscillator, however stiff.
TEST(Variational, SpringsKeepTheirEnergy) {
  for (const double stiffness : {1.0, 1e3, 1e7}) {
    Simulator sim(
        load_mjcf_string(fmt::format("<mujoco><worldbody><body><joint type='slide' axis='0 0 1' stiffness='{}'/>"
                                     "<geom size='0.1' mass='1'/></body></worldbody></mujoco>",
                                     stiffness)),
        options_of(0.01));
    sim.state().v[0] = 1.0;
    const double start = energy_of(sim);
    for (int i = 0; i < 1000; ++i) {
      ASSERT_FALSE(sim.step().warnings.any());
      ASSERT_NEAR(energy_of(sim), start, 1e-9) << stiffness;
    }
  }
}

// Dampers and servos are backward Euler's: v' = v / (1 + h d/m) whatever the damping, and a stiff servo holds its
// place.
TEST(Variational, StiffDampersAndServosSettle) {
  const char* model =
      "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='j' type='slide' axis='0 0 1'/>"
      "<geom size='0.1' mass='1'/></body></worldbody><actuator><position joint='j' kp='1e6' "
      "kv='100'/></actuator></mujoco>";
  Simulator damped(load_mjcf_string(model), options_of(0.01));
  damped.parameters().actuator_gain[0] = {};
  damped.parameters().actuator_bias[0] = {};
  damped.parameters().dof_damping[0] = 1e5;
  damped.state().v[0] = 1.0;
  damped.step();
  EXPECT_NEAR(damped.state().v[0], 1.0 / 1001.0, 1e-12);

  Simulator held(load_mjcf_string(model), options_of(0.01));
  held.state().v[0] = 1.0;
  held.input().control[0] = 0.3;
  held.step(100);
  EXPECT_NEAR(held.state().q[0], 0.3, 1e-9);
  EXPECT_NEAR(held.state().v[0], 0.0, 1e-9);
}

TEST(Variational, BoxSlidesByTheDiscreteFormula) {
  const double h = 0.002;
  for (const double mu : {0.1, 0.3, 0.8}) {
    Simulator sim(load_mjcf_string(fmt::format("<mujoco><worldbody><geom type='plane' size='5 5 1' friction='{0}'/>"
                                               "<body pos='0 0 0.1'><freejoint/><geom type='box' size='.1 .1 .1' "
                                               "friction='{0}'/></body></worldbody></mujoco>",
                                               mu)),
                  options_of(h));
    sim.state().v[0] = 3.0;
    double x = 0.0;
    for (int n = 1; n <= 50; ++n) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk);
      ASSERT_EQ(sim.report().contacts, 4);
      const double v = 3.0 - mu * kGravity * n * h;
      x += h * (v + 0.5 * mu * kGravity * h);  // the mean of both velocities
      ASSERT_NEAR(sim.state().v[0], v, 1e-6);
      ASSERT_NEAR(sim.state().q[0], x, 1e-7);
    }
  }
}

// A ball that a stiff spring presses onto the ground: it rests, and the ground carries its weight and the spring.
TEST(Variational, BallRestsUnderASpring) {
  for (const double stiffness : {0.0, 100.0, 1e6}) {
    Simulator sim(
        load_mjcf_string(fmt::format("<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 0.1'>"
                                     "<joint type='slide' axis='0 0 1' stiffness='{}' springref='-0.001'/>"
                                     "<geom size='0.1' mass='2'/></body></worldbody></mujoco>",
                                     stiffness)),
        options_of(0.002));
    sim.step(500);
    EXPECT_NEAR(sim.state().q[0], 0.0, 2.5e-4);
    EXPECT_NEAR(sim.state().v[0], 0.0, 1e-9);
    ASSERT_EQ(sim.contacts().size(), 1U);
    EXPECT_NEAR(sim.contacts()[0].force.z(), 2.0 * kGravity + stiffness * (0.001 + sim.state().q[0]),
                1e-6 * (20.0 + 1e-3 * stiffness));
  }
}

TEST(Variational, BodyFallsAndRests) {
  Simulator sim(load_mjcf_string("<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 0.5'><freejoint/>"
                                 "<geom size='0.1' mass='1'/></body></worldbody></mujoco>"),
                options_of(0.002));
  sim.step(1000);
  EXPECT_NEAR(sim.state().q[2], 0.1, 5e-4);
  EXPECT_LT(sim.state().v.norm(), 1e-6);
}

// A double pendulum whose shoulder is a loop.
Simulator loop(double h) {
  return Simulator(load_mjcf_string(R"(<mujoco><worldbody>
      <body name='upper'><freejoint/><inertial pos='.3 0 0' mass='1' diaginertia='.01 .03 .03'/>
        <body pos='.6 0 0'><joint axis='0 1 0' damping='0.01'/><inertial pos='.2 0 0' mass='.5' diaginertia='.01 .02 .02'/>
        </body></body></worldbody><equality><connect body1='upper' anchor='0 0 0'/></equality></mujoco>)"),
                   options_of(h));
}

// Constraints are as accurate as Moreau's.
TEST(Variational, LoopsAreOfFirstOrder) {
  EXPECT_NEAR(error_ratio(loop), 2.0, 0.2);
  Simulator sim = loop(0.002);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_LE(sim.step().residuals.natv_relative, 1e-6);
    ASSERT_LT(sim.report().violation, 1e-3);
  }
}

// Dry friction slows a slide by f/m; then it stays where it is. A faster one is stopped by its limit.
TEST(Variational, FrictionAndLimits) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><option gravity='0 0 0'/><worldbody><body><joint type='slide' axis='1 0 0' frictionloss='4' "
      "limited='true' "
      "range='-1 0.5'/><geom size='0.1' mass='2'/></body></worldbody></mujoco>");
  Simulator sim(model, options_of(0.002));
  sim.state().v[0] = 1.0;
  for (int n = 1; n <= 200; ++n) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    ASSERT_NEAR(sim.state().v[0], 1.0 - 2.0 * 0.002 * n, 1e-7);
  }
  sim.step(400);
  EXPECT_NEAR(sim.state().q[0], 0.25, 1e-6);  // v^2 m / 2 f
  EXPECT_NEAR(sim.state().v[0], 0.0, 1e-9);
  // Where the mass matrix is constant the rule is Moreau's, with constraints too.
  Simulator moreau(model, options_of(0.002, Integrator::kMoreauMidpoint));
  moreau.reset(sim.state());
  sim.state().v[0] = moreau.state().v[0] = 3.0;
  for (int n = 1; n <= 400; ++n) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    moreau.step();
    ASSERT_LT(sim.state().q[0], 0.5 + 3.0 * 0.002);
    ASSERT_NEAR(sim.state().q[0], moreau.state().q[0], 1e-9);
  }
  EXPECT_NEAR(sim.state().v[0], 0.0, 1e-9);
}

TEST(Variational, RobotsObeyTheLawsOfContact) {
  for (const char* name : {"quadruped", "humanoid", "hand"}) {
    Scene scene = make_scene(name);
    scene.options.integrator = Integrator::kVariational;
    SceneRun run(scene);
    int contacts = 0;
    while (run.simulator().state().time < 1.0) {
      const StepReport& report = run.step();
      ASSERT_EQ(report.status, StepStatus::kOk) << name;
      ASSERT_LE(report.residuals.natv_relative, 1e-6) << name;
      ASSERT_FALSE(report.warnings.variational_fallback) << name;
      contacts += report.contacts;
    }
    EXPECT_GT(contacts, 100) << name;
  }
}

// A turn of three radians in a step is too much: the step is Moreau's, and says so.
TEST(Variational, FallsBackToMoreausRule) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/><geom type='box' size='.1 .05 .2'/></body>"
      "</worldbody></mujoco>");
  Simulator one(model, options_of(0.1)), two(model, options_of(0.1, Integrator::kMoreauMidpoint));
  for (Simulator* sim : {&one, &two}) {
    sim->state().v << 1, 0, 0, 40, 10, 30;
    EXPECT_NE(sim->step().status, StepStatus::kDiverged);
  }
  EXPECT_TRUE(one.report().warnings.variational_fallback);
  EXPECT_FALSE(two.report().warnings.variational_fallback);
  EXPECT_TRUE(one.state() == two.state());
  one.state().v << 1, 0, 0, 4, 1, 3;
  EXPECT_FALSE(one.step().warnings.variational_fallback);
}

// A body that turns too fast does not take the rule away from another.
TEST(Variational, AFastTreeIsGivenUpAlone) {
  const std::string body = "<body><freejoint/><geom type='box' size='.1 .05 .2' contype='0' conaffinity='0'/></body>";
  const std::string head = "<mujoco><option gravity='0 0 0'/><worldbody>", tail = "</worldbody></mujoco>";
  Simulator both(load_mjcf_string(head + body + body + tail), options_of(0.1));
  Simulator alone(load_mjcf_string(head + body + tail), options_of(0.1));
  both.state().v << 1, 0, 0, 40, 10, 30, 0, 1, 0, 4, 1, 3;
  alone.state().v << 0, 1, 0, 4, 1, 3;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(both.step().warnings.variational_fallback);
    EXPECT_FALSE(alone.step().warnings.variational_fallback);
  }
  EXPECT_LT((both.state().q.tail(7) - alone.state().q).norm(), 1e-12);
  EXPECT_LT((both.state().v.tail(6) - alone.state().v).norm(), 1e-11);
}

}  // namespace
}  // namespace touchstone
