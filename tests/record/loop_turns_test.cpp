// Recordings of loop joints that turn.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/model/builder.hpp"
#include "touchstone/record/recording.hpp"
#include "touchstone/sim/loop_reading.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A loop joint that has turned: its angle is not in the configuration.
TEST(LoopTurns, AreRecorded) {
  const fs::path folder = fs::temp_directory_path() / ("touchstone_loop_turns" + std::to_string(getpid()));
  fs::create_directories(folder);
  const fs::path file = folder / "run.h5";
  ModelBuilder b;
  b.set_gravity(Vector3::Zero());
  const int rotor =
      b.add_body({.name = "rotor", .inertia = {1.0, Vector3::Zero(), Matrix3(0.1 * Matrix3::Identity())}});
  b.add_joint({.body = rotor, .type = JointType::kFree});
  LoopCoordinate coil;
  coil.stiffness = 0.5;
  b.add_loop_joint({.name = "axle", .type = LoopJointType::kRevolute, .body_b = rotor, .coordinates = {coil}});
  Simulator sim(b.build(), {.time_step = 1e-3});
  sim.state().v[5] = 30.0;
  sim.step(500);
  ASSERT_GT(sim.loop_joint("axle").position[0], 6.5);
  RecordingWriter writer(file, sim, {});
  for (int i = 0; i < 200; ++i) {
    sim.step();
    writer.add(sim);
  }
  writer.close();
  const Recording recording(file);
  EXPECT_TRUE(recording.state(200) == sim.state());
  Simulator again(recording.model(), recording.options());
  again.reset(recording.state(0));
  again.step(200);
  EXPECT_TRUE(again.state() == sim.state());
  write_csv(recording, folder / "tables");
  std::ifstream table(folder / "tables" / "steps.csv");
  std::string titles;
  std::getline(table, titles);
  EXPECT_THAT(titles, HasSubstr("loop_q:axle"));
  table.close();
  fs::remove_all(folder);
}

}  // namespace
}  // namespace touchstone
