// Many steps of everything with random torques, pushes and starts. A million with TOUCHSTONE_LONG.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "support/robot_runs.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/reference_weights.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

// Resident memory in MB; 0 where the system does not say.
double resident_memory() {
  std::ifstream file("/proc/self/statm");
  double pages = 0.0, resident = 0.0;
  file >> pages >> resident;
  return resident * 4096.0 / 1e6;
}

std::string pile(int count) {
  std::string bodies;
  for (int i = 0; i < count; ++i) {
    const char* shapes[] = {"type='sphere' size='.08'", "type='box' size='.08 .06 .1'", "type='capsule' size='.06 .08'",
                            "type='cylinder' size='.07 .05'"};
    const int column = i % 3, row = i / 3 % 3, level = i / 9;
    bodies += fmt::format("<body pos='{} {} {}'><freejoint/><geom {}/></body>", 0.25 * column, 0.25 * row,
                          0.2 + 0.3 * level, shapes[i % 4]);
  }
  return "<mujoco><worldbody><geom type='plane' size='5 5 1'/>" + bodies + "</worldbody></mujoco>";
}

struct Subject {
  std::string name;
  ModelPtr model;
  State start;
};

std::vector<Subject> own_subjects() {
  std::vector<Subject> list;
  for (const int count : {1, 4, 9}) {
    const ModelPtr model = load_mjcf_string(pile(count));
    list.push_back({fmt::format("pile of {}", count), model, State(*model)});
  }
  const ModelPtr quadruped = load_scene("quadruped:flat");
  list.push_back({"quadruped", quadruped, State(*quadruped)});
  return list;
}

std::vector<Subject> robot_subjects() {
  std::vector<Subject> list;
  for (const test::RobotFile& file : test::robot_files()) {
    const char* wanted[] = {"humanoid/humanoid.xml", "barkour_vb/scene.xml", "cassie/scene.xml", "scene_right.xml",
                            "car/car.xml",           "solo12.urdf",          "panda.urdf"};
    const auto named = [&file](const char* end) { return file.name.ends_with(end); };
    if (!std::any_of(std::begin(wanted), std::end(wanted), named)) continue;
    const test::RobotSetup setup = test::set_up(file);
    list.push_back({file.name, setup.model, setup.start});
  }
  return list;
}

// Random controls within their ranges, torques on dofs, and pushes; each in proportion to what it moves.
void disturb(Simulator& sim, const ReferenceWeights& weights, std::mt19937_64& random) {
  constexpr double kAcceleration = 30.0, kPush = 30.0;  // m/s^2 or rad/s^2
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  const Model& model = sim.model();
  for (int u = 0; u < model.nu; ++u) {
    const Actuator& a = model.actuators[static_cast<std::size_t>(u)];
    const double x = 0.5 * (1.0 + unit(random));
    sim.input().control[u] =
        a.control_limited ? a.control_range[0] + x * (a.control_range[1] - a.control_range[0]) : unit(random);
  }
  for (int i = 0; i < model.nv; ++i) {
    sim.input().applied_force[i] = kAcceleration * unit(random) / std::max(weights.dof[i], 1e-12);
  }
  for (int b = 1; b < model.nbody; ++b) {
    Vector6& wrench = sim.input().applied_wrench[static_cast<std::size_t>(b)];
    wrench.setZero();
    if (unit(random) < 0.8) continue;
    for (int k = 0; k < 3; ++k) wrench[k] = kPush * sim.parameters().mass(b) * unit(random);
  }
}

// No crash, no NaN that is not reported, no growing memory.
void soak(const std::vector<Subject>& subjects, int total) {
  std::mt19937_64 random(2024);
  for (const Subject& subject : subjects) {
    SCOPED_TRACE(subject.name);
    const int steps = total / static_cast<int>(subjects.size());
    SimulatorOptions options;
    options.time_step = 0.002;
    Simulator sim(subject.model, options);
    const ReferenceWeights weights(*subject.model);
    sim.reset(subject.start);
    int diverged = 0, unsolved = 0;
    double memory = 0.0;
    for (int i = 0; i < steps; ++i) {
      if (i % 25 == 0) disturb(sim, weights, random);
      const StepReport& report = sim.step();
      ASSERT_TRUE(sim.state().q.allFinite() && sim.state().v.allFinite()) << "step " << i;
      diverged += report.status == StepStatus::kDiverged ? 1 : 0;
      unsolved += report.status == StepStatus::kNotConverged ? 1 : 0;
      if (report.status == StepStatus::kDiverged || sim.state().v.lpNorm<Eigen::Infinity>() > 1e3 || i % 5000 == 4999) {
        sim.reset(subject.start);
      }
      if (i == steps / 2) memory = resident_memory();
    }
    fmt::print("  {}: {} steps, {} diverged, {} not solved, memory {:.1f} -> {:.1f} MB\n", subject.name, steps,
               diverged, unsolved, memory, resident_memory());
    EXPECT_EQ(diverged, 0);
    EXPECT_LE(unsolved, steps / 100);
    EXPECT_LT(resident_memory(), memory + 20.0);
  }
}

// Steps in a long run, in a normal one, and in a build with checks.
int steps_of(int in_long_run) {
#ifdef NDEBUG
  return std::getenv("TOUCHSTONE_LONG") != nullptr ? in_long_run : 2'000;
#else
  return std::min(in_long_run, 200);
#endif
}

TEST(Soak, PilesAndOurQuadruped) { soak(own_subjects(), steps_of(400'000)); }

TEST(Soak, Robots) {
  const std::vector<Subject> robots = robot_subjects();
  if (robots.empty()) GTEST_SKIP() << "no models are here; set TOUCHSTONE_DATA";
  soak(robots, steps_of(600'000));
}

}  // namespace
}  // namespace touchstone
