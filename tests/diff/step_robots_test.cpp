// Derivatives of steps of the shared robots, on the ground and in contact with themselves, against differences.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diff/step_instants.hpp"
#include "support/effort.hpp"
#include "support/robot_runs.hpp"
#include "touchstone/sim/integrators/integrator.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone::test {
namespace {

// Controls a little inside of their ranges, at whose ends a step bends.
VectorX inside(const Model& model, VectorX control) {
  for (int u = 0; u < model.nu; ++u) {
    const Actuator& actuator = model.actuators[static_cast<std::size_t>(u)];
    if (!actuator.control_limited) continue;
    const Vector2 range = actuator.control_range;
    const double least = 0.01 * (range[1] - range[0]);
    control[u] = std::clamp(control[u], range[0] + least, range[1] - least);
  }
  return control;
}

// Ellipsoids against other shapes than planes: the search knows their normals and points to 1e-4, which differences
// feel.
bool has_rough_contacts(Simulator& sim) {
  const Model& model = sim.model();
  const auto contacts = sim.context().contacts();
  const auto type = [&](int shape) { return model.shapes[static_cast<std::size_t>(shape)].shape.type; };
  const auto is_rough = [&](const Contact& c) {
    const ShapeType a = type(c.shape_a), b = type(c.shape_b);
    return (a == ShapeType::kEllipsoid && b != ShapeType::kPlane) ||
           (b == ShapeType::kEllipsoid && a != ShapeType::kPlane);
  };
  return std::any_of(contacts.begin(), contacts.end(), is_rough);
}

class StepDerivativesOfRobots : public testing::TestWithParam<Integrator> {};

TEST_P(StepDerivativesOfRobots, OnTheGround) {
  const std::vector<RobotFile> files = robot_files();
  if (files.empty()) GTEST_SKIP() << "no robots; set TOUCHSTONE_DATA to the folder that holds models/";
  const bool is_euler = GetParam() == Integrator::kSemiImplicitEuler;
  if (!whole_family() && !is_euler) GTEST_SKIP() << "takes long in this build, where only euler is tried";
  const int instants = whole_family() && is_euler ? 2 : 1, columns = whole_family() ? 8 : 1;
  std::mt19937_64 random(17);
  Tally tally;
  for (const RobotFile& file : files) {
    const RobotSetup setup = set_up(file);
    SimulatorOptions options = exact_options(Stabilisation::kBaumgarte);
    options.integrator = GetParam();
    Simulator sim(setup.model, options);
    State start = setup.start;
    start.v += 0.1 * random_vector(setup.model->nv, random);
    sim.reset(start);
    const VectorX control = inside(*setup.model, setup.control);
    sim.input().control = control;
    for (int k = 0; k < instants; ++k) {
      sim.step(whole_family() ? 50 : 10);
      if (has_rough_contacts(sim)) continue;
      Stepper stepper(setup.model, sim.state(), options);
      stepper.control() = control;
      compare_instant(stepper, *setup.model, fmt::format("{} {}", file.name, k), columns, {1e-3, 1e-4, 1e-5, 1e-6},
                      random, tally);
      if (HasFailure()) return;
    }
  }
  RecordProperty("figures", tally.text());
  EXPECT_GE(tally.figures.steps, tally.instants * 3 / 4) << tally.text();
  EXPECT_GE(tally.figures.kept, tally.figures.columns * 3 / 4) << tally.text();
}

INSTANTIATE_TEST_SUITE_P(Rules, StepDerivativesOfRobots,
                         testing::Values(Integrator::kSemiImplicitEuler, Integrator::kMoreauMidpoint,
                                         Integrator::kVariational),
                         [](const auto& test) { return std::string(entry_of(test.param).name); });

}  // namespace
}  // namespace touchstone::test
