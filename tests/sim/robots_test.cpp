// Every robot and scene that is at hand stands, falls and lies as physics says. Without the folder of models these
// tests are skipped; with TOUCHSTONE_LONG they run ten seconds at three time steps.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "support/robot_runs.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {
namespace {

// Checked builds are slow: there a few steps show what the checks find.
#ifdef NDEBUG
constexpr bool kChecked = false;
#else
constexpr bool kChecked = true;
#endif

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
  EXPECT_TRUE(!setup.can_touch || 2 * f.steps_with_contacts >= f.steps) << f.steps_with_contacts;
}

TEST_P(Robots, ObeyPhysics) {
  const std::vector<RobotFile> files = robot_files();
  const auto file = std::find_if(files.begin(), files.end(), [](const RobotFile& f) { return f.name == GetParam(); });
  if (file == files.end()) GTEST_SKIP() << GetParam() << " is not here; set TOUCHSTONE_DATA";
  const RobotSetup setup = set_up(*file);
  for (const std::string& pair : setup.excluded) fmt::print("  {}\n", pair);
  if (kChecked) {
    if (setup.model->nv > 500) GTEST_SKIP() << "too large for a build with checks";
    SimulatorOptions options;
    options.time_step = 0.002;
    const RunFigures f = run(setup, options, 0.1);
    EXPECT_EQ(f.diverged, 0) << f.worst;
    EXPECT_EQ(f.uncertified, 0) << f.worst_natv << " " << f.worst;
    return;
  }
  if (!long_run()) {
    check(setup, 0.002, 1.0);
    return;
  }
  const double seconds = setup.model->nv < 1000 ? 10.0 : 1.0;  // a hundred humanoids take their time
  for (const double h : {0.001, 0.002, 0.005}) check(setup, h, seconds);
}

// A robot that moves freely over a ground at z = 0, and is the only one.
bool stands_on_a_plane(const Model& model) {
  const auto is_free = [](const Joint& joint) { return joint.type == JointType::kFree; };
  const auto is_ground = [](const ShapeElement& shape) {
    return shape.body == 0 && shape.shape.type == ShapeType::kPlane && shape.pose.position.norm() == 0.0;
  };
  return !model.joints.empty() && is_free(model.joints[0]) &&
         std::count_if(model.joints.begin(), model.joints.end(), is_free) == 1 &&
         std::any_of(model.shapes.begin(), model.shapes.end(), is_ground);
}

// A robot that starts in the ground comes up to it and not above it, gets no energy from that but what lifting takes,
// and has left it a second later.
TEST_P(Robots, LeaveTheGroundWithoutAHop) {
  const std::vector<RobotFile> files = robot_files();
  const auto file = std::find_if(files.begin(), files.end(), [](const RobotFile& f) { return f.name == GetParam(); });
  if (file == files.end()) GTEST_SKIP() << GetParam() << " is not here; set TOUCHSTONE_DATA";
  const RobotSetup setup = set_up(*file);
  if (!setup.can_touch || !stands_on_a_plane(*setup.model)) GTEST_SKIP() << "does not stand on a plane";
  const auto lowest_point = lowest_point_of(*setup.model);
  const double low = lowest_point(setup.start);
  for (const double depth : {0.001, 0.01, 0.05}) {
    SCOPED_TRACE(fmt::format("{} m deep", depth));
    SimulatorOptions options;
    options.time_step = 0.002;
    Simulator sim(setup.model, options);
    State start = setup.start;
    start.q[2] -= low + depth;
    start.v.setZero();
    sim.reset(start);
    sim.input().control = setup.control;
    double highest = -1.0, stabilisation = 0.0;
    int unsolved = 0;
    for (int k = 0; k < (kChecked ? 20 : 500); ++k) {
      const StepReport& report = sim.step();
      unsolved += report.status == StepStatus::kOk ? 0 : 1;
      stabilisation += report.energy.stabilisation;
      highest = std::max(highest, lowest_point(sim.state()));
    }
    fmt::print(
        "  {:.3f} m deep: at most {:.2e} m above the ground, {:.2g} J for {:.2g} J of lifting, {:.2e} m at the end\n",
        depth, highest, stabilisation, depth * 9.81 * setup.model->total_mass(), sim.report().penetration);
    EXPECT_EQ(unsolved, 0);
    EXPECT_LT(highest, options.stabilisation.slop);
    EXPECT_LT(stabilisation, 1.05 * depth * 9.81 * setup.model->total_mass());
    EXPECT_TRUE(kChecked || sim.report().penetration < options.stabilisation.slop + 1e-4);
  }
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
