#include "touchstone/sim/simulator.hpp"

#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "touchstone/io/mjcf.hpp"

namespace touchstone {
namespace {

ModelPtr scene(const std::string& content) { return load_mjcf_string("<mujoco>" + content + "</mujoco>"); }

SimulatorOptions with_solver(const std::string& solver, double h) {
  SimulatorOptions options;
  options.solver = solver;
  options.time_step = h;
  return options;
}

// ALGORITHMS 9: v = v0 - mu g n h within 1e-4 m/s, position within 1e-5 m of the discrete formula.
TEST(Simulator, BoxSlides) {
  for (const double mu : {0.1, 0.3, 0.8}) {
    Simulator sim(scene("<worldbody><geom type='plane' size='5 5 1' friction='" + std::to_string(mu) +
                        "'/><body pos='0 0 0.1'><freejoint/><geom type='box' size='.1 .1 .1' friction='" +
                        std::to_string(mu) + "'/></body></worldbody>"),
                  with_solver("nbgs", 0.002));
    sim.state().v[0] = 3.0;
    double v = 3.0, x = 0.0;
    for (int i = 0; i < 50; ++i) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk) << sim.report().residuals.natv_relative;
      v -= mu * 9.81 * 0.002;
      x += 0.002 * v;
      ASSERT_EQ(sim.report().contacts, 4);
      ASSERT_NEAR(sim.state().v[0], v, 1e-4);
      ASSERT_NEAR(sim.state().q[0], x, 1e-5);
    }
  }
}

}  // namespace
}  // namespace touchstone
