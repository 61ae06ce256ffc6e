// Who sleeps is part of what the viewer is told.
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/scenes/scenes.hpp"
#include "touchstone/viewer/protocol.hpp"
#include "touchstone/viewer/simulation.hpp"

namespace touchstone {
namespace {

TEST(ViewerSleep, FramesSayWhoSleeps) {
  Scene scene = make_scene("stack:3");
  scene.options.sleep.mode = SleepMode::kOn;
  Simulation simulation(std::move(scene));
  Frame frame;
  simulation.step();
  simulation.read(frame);
  EXPECT_TRUE(frame.asleep.empty());
  EXPECT_THAT(viewer::frame_message(frame), testing::Not(testing::HasSubstr("asleep")));
  for (int i = 0; i < 1000; ++i) simulation.step();
  simulation.read(frame);
  EXPECT_EQ(frame.asleep, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(frame.contacts.empty());
  EXPECT_THAT(viewer::frame_message(frame), testing::HasSubstr("\"asleep\":[1,2,3]"));
}

}  // namespace
}  // namespace touchstone
