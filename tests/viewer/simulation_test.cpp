// The simulator as a live source, and recordings as replays.
#include "touchstone/viewer/simulation.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "touchstone/scenes/scenes.hpp"
#include "touchstone/viewer/recording_replay.hpp"

namespace touchstone {
namespace {

void steps(Simulation& simulation, int count) {
  for (int i = 0; i < count; ++i) simulation.step();
}

std::size_t channel(const char* name) {
  const std::vector<Channel> channels = step_channels();
  const auto found = std::find_if(channels.begin(), channels.end(), [&](const Channel& c) { return c.name == name; });
  EXPECT_NE(found, channels.end()) << name;
  return static_cast<std::size_t>(found - channels.begin());
}

TEST(SimulationSource, FramesHoldContactsFiguresAndTheCertificate) {
  Simulation simulation(make_scene("stack:3"));
  steps(simulation, 50);
  Frame frame;
  simulation.read(frame);
  ASSERT_EQ(frame.contacts.size(), 12U);
  double weight = 0.0;
  for (const FrameContact& c : frame.contacts) {
    if (c.body_a == 0) weight += c.force.z();
    EXPECT_EQ(c.mode, ContactMode::kStick);
    EXPECT_EQ(c.island, 0) << "they stand on each other";
    EXPECT_EQ(c.friction, 0.5);
    EXPECT_NEAR(c.normal.z(), 1.0, 1e-9);
  }
  EXPECT_NEAR(weight, 3 * 4.0 * 9.81, 0.1);
  ASSERT_EQ(frame.values.size(), simulation.channels().size());
  EXPECT_EQ(frame.values[channel("contacts")], 12.0);
  EXPECT_LE(frame.values[channel("natv, relative")], 1e-6);
  EXPECT_GT(frame.values[channel("solve")], 0.0);
  ASSERT_EQ(frame.certificate.size(), 3U);
  for (const CertificateItem& item : frame.certificate) EXPECT_TRUE(item.passed()) << item.name;
}

TEST(SimulationSource, SlidingAndSeparateBodiesAreTold) {
  Simulation sliding(make_scene("cube-slide"));
  steps(sliding, 20);
  Frame frame;
  sliding.read(frame);
  ASSERT_EQ(frame.contacts.size(), 4U);
  for (const FrameContact& c : frame.contacts) EXPECT_EQ(c.mode, ContactMode::kSlip);
  Simulation separate(make_scene("domino:2"));
  steps(separate, 5);
  separate.read(frame);
  ASSERT_EQ(frame.contacts.size(), 8U);
  EXPECT_NE(frame.contacts.front().island, frame.contacts.back().island);
}

TEST(SimulationSource, ChoicesChangeTheMotion) {
  Simulation simulation(make_scene("cube-slide:3,angle=0"));
  EXPECT_EQ(simulation.choices().solver, "auto");
  EXPECT_GE(simulation.choices().solvers.size(), 18U);
  steps(simulation, 10);
  const double time = simulation.time();
  const State before = simulation.state();
  simulation.set_solver("nbgs");
  simulation.set_time_step(0.004);
  EXPECT_TRUE(simulation.state() == before) << "the state stays";
  EXPECT_EQ(simulation.choices().solver, "nbgs");
  EXPECT_EQ(simulation.choices().time_step->value, 0.004);
  simulation.set_friction(0.0);
  EXPECT_EQ(simulation.choices().friction->value, 0.0);
  steps(simulation, 10);
  EXPECT_NEAR(simulation.time(), time + 0.04, 1e-12);
  EXPECT_NEAR(simulation.state().v[0], before.v[0], 1e-6) << "nothing brakes it";
  simulation.reset();
  EXPECT_EQ(simulation.time(), 0.0);
  EXPECT_TRUE(simulation.state() == simulation.initial_state());
  EXPECT_EQ(simulation.choices().solver, "nbgs") << "choices stay";
}

TEST(SimulationSource, PullsAgainstPushesAndGravity) {
  Simulation simulation(make_scene("cube-drag:0"));
  simulation.set_drag({.body = 1, .target = {0, 0, 1.0}});
  steps(simulation, 1000);
  // The spring of rate w holds the weight at g / w^2 below its target.
  EXPECT_NEAR(simulation.state().q[2], 1.0 - 9.81 / 144.0, 1e-3);
  simulation.release_drag();
  steps(simulation, 500);
  EXPECT_NEAR(simulation.state().q[2], 0.1, 1e-3);
}

TEST(SimulationSource, ControlsReachTheActuators) {
  Simulation simulation(make_scene("conveyor:1,speed=0"));
  ASSERT_EQ(simulation.controls().size(), 20U);
  for (int i = 0; i < 20; ++i) simulation.set_control(i, 5.0);
  steps(simulation, 500);
  EXPECT_NEAR(simulation.state().v[0], 5.0, 0.2);
  simulation.reset();
  EXPECT_EQ(simulation.controls()[0], 5.0) << "the sliders stay";
}

TEST(RecordingReplay, ShowsWhatTheRunShowed) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("touchstone_replay_" + std::to_string(getpid()) + ".h5");
  Simulation simulation(make_scene("cube-slide:2"));
  std::vector<Frame> frames(51);
  {
    RecordingWriter writer(file, simulation.run().simulator(), {.scene = "cube-slide:2"});
    for (int i = 1; i <= 50; ++i) {
      simulation.step();
      simulation.read(frames[static_cast<std::size_t>(i)]);
      writer.add(simulation.run().simulator());
    }
    writer.close();
  }
  const Replay replay = replay_of(Recording(file), 1e9);
  std::filesystem::remove(file);
  EXPECT_EQ(replay.title, "cube-slide:2");
  ASSERT_EQ(replay.frames.size(), 51U);
  for (std::size_t i = 1; i < frames.size(); ++i) {
    const Frame &live = frames[i], &recorded = replay.frames[i];
    EXPECT_EQ(recorded.time, live.time);
    EXPECT_EQ(recorded.poses[1].position, live.poses[1].position);
    EXPECT_EQ(recorded.values[channel("kinetic")], live.values[channel("kinetic")]);
    ASSERT_EQ(recorded.contacts.size(), live.contacts.size());
    for (std::size_t c = 0; c < live.contacts.size(); ++c) {
      EXPECT_EQ(recorded.contacts[c].force, live.contacts[c].force);
      EXPECT_EQ(recorded.contacts[c].mode, live.contacts[c].mode);
      EXPECT_EQ(recorded.contacts[c].island, live.contacts[c].island);
    }
  }
}

}  // namespace
}  // namespace touchstone
