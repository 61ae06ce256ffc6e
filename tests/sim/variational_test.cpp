// The variational integrator: what it keeps, its order, and constraints with it.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

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

// Three different inertias, spun about nearly the middle axis: it tumbles over again and again.
Errors spin_block(Integrator integrator, double h, double seconds = 5.0) {
  Simulator sim(load_mjcf_string("<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/>"
                                 "<inertial pos='0 0 0' mass='2' diaginertia='.01 .02 .025'/></body></worldbody></mujoco>"),
                options_of(h, integrator));
  sim.state().v << 0.3, -0.2, 0.5, 0.05, 5.0, 0.02;
  return run_errors(sim, seconds);
}

TEST(Variational, SpinningBlockKeepsItsMomentum) {
  const Errors e = spin_block(Integrator::kVariational, 0.01);
  const Errors half = spin_block(Integrator::kVariational, 0.005);
  const double kinetic = 0.5 * 2.0 * 0.38 + 0.5 * 0.02 * 25.0;
  fmt::print("momentum {:.1e} {:.1e}, energy {:.2e} {:.2e} ({:.2e} relative), half step {:.2e} {:.2e}, drift {:.1e}\n",
             e.linear, e.angular, e.energy, e.late_energy, e.energy / kinetic, half.energy, half.late_energy, e.drift);
  EXPECT_LT(e.linear, 1e-8);
  EXPECT_LT(e.angular, 1e-8);
  const Errors m = spin_block(Integrator::kMoreauMidpoint, 0.01), s = spin_block(Integrator::kSemiImplicitEuler, 0.01);
  fmt::print("moreau {:.2e} {:.2e} mom {:.1e}, euler {:.2e} {:.2e} mom {:.1e}\n", m.energy, m.late_energy, m.angular, s.energy, s.late_energy, s.angular);
}

Simulator double_pendulum(Integrator integrator, double h) {
  Simulator sim(make_scene("double-pendulum").model, options_of(h, integrator));
  sim.state().q << 1.0, 0.5;
  return sim;
}

TEST(Variational, DoublePendulumKeepsItsEnergy) {
  for (auto i : {Integrator::kVariational, Integrator::kMoreauMidpoint, Integrator::kSemiImplicitEuler}) {
    for (double h : {0.02, 0.01, 0.005}) {
      Simulator sim = double_pendulum(i, h);
      const Errors e = run_errors(sim, 50.0);
      fmt::print("{} h {} energy {:.2e} {:.2e} drift {:.1e}\n", (int)i, h, e.energy, e.late_energy, e.drift);
    }
  }
  Simulator ref = double_pendulum(Integrator::kVariational, 1e-5);
  ref.step(100000);
  for (auto i : {Integrator::kVariational, Integrator::kMoreauMidpoint, Integrator::kSemiImplicitEuler})
  for (int n : {50, 100, 200, 400}) {
    Simulator sim = double_pendulum(i, 1.0 / n);
    sim.step(n);
    fmt::print("{} {} {:.3e} {:.3e}\n", (int)i, n, (sim.state().q - ref.state().q).norm(), (sim.state().v - ref.state().v).norm());
  }
}

}  // namespace
}  // namespace touchstone
