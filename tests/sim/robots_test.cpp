// Every robot and scene that is at hand stands, falls and lies as physics says. Without the folder of models these
// tests are skipped; with TOUCHSTONE_LONG they run ten seconds at three time steps.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "support/robot_runs.hpp"

namespace touchstone::test {
namespace {

bool long_run() { return std::getenv("TOUCHSTONE_LONG") != nullptr; }

constexpr const char* kRobots[] = {
    "mjcf/agility_cassie/scene.xml",
    "mjcf/google_barkour_vb/barkour_vb_rev_1_0_head_straight.urdf",
    "mjcf/google_barkour_vb/scene.xml",
    "mjcf/google_barkour_vb/scene_hfield_mjx.xml",
    "mjcf/google_barkour_vb/scene_mjx.xml",
    "mjcf/kinova_gen3/scene.xml",
    "mjcf/mujoco_samples/car/car.xml",
    "mjcf/mujoco_samples/cube/cube_3x3x3.xml",
    "mjcf/mujoco_samples/humanoid/100_humanoids.xml",
    "mjcf/mujoco_samples/humanoid/22_humanoids.xml",
    "mjcf/mujoco_samples/humanoid/humanoid.xml",
    "mjcf/mujoco_samples/slider_crank/slider_crank.xml",
    "mjcf/pal_talos/scene_motor.xml",
    "mjcf/pal_talos/scene_position.xml",
    "mjcf/shadow_hand/scene_left.xml",
    "mjcf/shadow_hand/scene_right.xml",
    "mjcf/wonik_allegro/scene_left.xml",
    "mjcf/wonik_allegro/scene_right.xml",
    "urdf/example-robot-data/robots/allegro_hand_description/urdf/allegro_left_hand.urdf",
    "urdf/example-robot-data/robots/allegro_hand_description/urdf/allegro_right_hand.urdf",
    "urdf/example-robot-data/robots/double_pendulum_description/urdf/double_pendulum.urdf",
    "urdf/example-robot-data/robots/double_pendulum_description/urdf/double_pendulum_continuous.urdf",
    "urdf/example-robot-data/robots/double_pendulum_description/urdf/double_pendulum_simple.urdf",
    "urdf/example-robot-data/robots/panda_description/urdf/panda.urdf",
    "urdf/example-robot-data/robots/panda_description/urdf/panda_collision.urdf",
    "urdf/example-robot-data/robots/simple_humanoid_description/urdf/simple_humanoid.urdf",
    "urdf/example-robot-data/robots/simple_humanoid_description/urdf/simple_humanoid_classical.urdf",
    "urdf/example-robot-data/robots/solo_description/robots/solo.urdf",
    "urdf/example-robot-data/robots/solo_description/robots/solo12.urdf",
    "urdf/example-robot-data/robots/talos_data/robots/talos_full_v2.urdf",
    "urdf/example-robot-data/robots/talos_data/robots/talos_full_v2_box.urdf",
    "urdf/example-robot-data/robots/talos_data/robots/talos_left_arm.urdf",
    "urdf/example-robot-data/robots/talos_data/robots/talos_reduced.urdf",
    "urdf/example-robot-data/robots/talos_data/robots/talos_reduced_box.urdf",
    "urdf/example-robot-data/robots/talos_data/robots/talos_reduced_corrected.urdf",
};

class Robots : public ::testing::TestWithParam<const char*> {};

void check(const RobotSetup& setup, double h, double seconds) {
  SCOPED_TRACE(fmt::format("time step {} s", h));
  SimulatorOptions options;
  options.time_step = h;
  const RunFigures f = run(setup, options, seconds);
  fmt::print(
      "  h {:.3f}: contacts {:5.1f} %, natv {:.1e} ({} of {} above 1e-6), penetration {:.2e} m, energy {:.2e} of "
      "{:.2e} J, {} warned, {:.1f} us a step, {}\n",
      h, 100.0 * f.steps_with_contacts / f.steps, f.worst_natv, f.uncertified, f.steps, f.penetration, f.energy_growth,
      f.energy_range, f.warned, 1e6 * f.seconds / f.steps, f.worst);
  EXPECT_EQ(f.diverged, 0) << f.worst;
  EXPECT_LE(f.uncertified, f.steps / 1000) << f.worst_natv << " " << f.worst;
  EXPECT_LT(f.penetration, 1e-3);
  EXPECT_LT(f.energy_growth, 0.01 * f.energy_range);
  EXPECT_GE(2 * f.steps_with_contacts, f.steps);
}

TEST_P(Robots, ObeyPhysics) {
  const std::vector<RobotFile> files = robot_files();
  const auto file = std::find_if(files.begin(), files.end(), [](const RobotFile& f) { return f.name == GetParam(); });
  if (file == files.end()) GTEST_SKIP() << GetParam() << " is not here; set TOUCHSTONE_DATA";
  const RobotSetup setup = set_up(*file);
  for (const std::string& pair : setup.excluded) fmt::print("  {}\n", pair);
  if (!long_run()) {
    check(setup, 0.002, 1.0);
    return;
  }
  for (const double h : {0.001, 0.002, 0.005}) check(setup, h, 10.0);
}

std::string test_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Shared, Robots, ::testing::ValuesIn(kRobots), test_name);

TEST(RobotFiles, AreAllListed) {
  const std::vector<RobotFile> files = robot_files();
  if (files.empty()) GTEST_SKIP() << "no models are here; set TOUCHSTONE_DATA";
  for (const RobotFile& file : files) {
    EXPECT_NE(std::find(std::begin(kRobots), std::end(kRobots), file.name), std::end(kRobots)) << file.name;
  }
}

}  // namespace
}  // namespace touchstone::test
