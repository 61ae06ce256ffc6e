// What happened is part of what the viewer is told.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/scenes/scenes.hpp"
#include "touchstone/viewer/protocol.hpp"
#include "touchstone/viewer/replay.hpp"
#include "touchstone/viewer/simulation.hpp"

namespace touchstone {
namespace {

TEST(ViewerMarks, FramesSayWhatHappened) {
  Simulation simulation(make_scene("woodpecker"));
  int impacts = 0, changes = 0;
  double before = 0.0;
  for (int i = 0; i < 40; ++i) {
    for (int k = 0; k < 5; ++k) simulation.step();
    Frame frame;
    simulation.read(frame);
    for (const Mark& mark : frame.marks) {
      EXPECT_GT(mark.time, before);
      EXPECT_LE(mark.time, frame.time);
      (mark.kind == MarkKind::kImpact ? impacts : changes) += 1;
    }
    before = frame.time;
    const std::string message = viewer::frame_message(frame);
    EXPECT_EQ(message.find("marks") != std::string::npos, !frame.marks.empty());
  }
  EXPECT_GT(impacts, 3);
  EXPECT_GT(changes, 3);
}

// A step that another rule had to make is marked too, and a replay has all of it.
TEST(ViewerMarks, ReplaysHaveFallbacks) {
  StepReport report;
  std::vector<Mark> marks;
  add_marks(report, marks);
  EXPECT_TRUE(marks.empty());
  report.time = 2.0;
  report.warnings.variational_fallback = true;
  add_marks(report, marks);
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_EQ(marks[0].kind, MarkKind::kFallback);
  EXPECT_EQ(marks[0].time, 2.0);
  Simulation simulation(make_scene("woodpecker"));
  const Replay replay = record(simulation, 0.2, 50.0);
  EXPECT_THAT(replay_json(replay), testing::HasSubstr("\"marks\":{\"times\""));
}

}  // namespace
}  // namespace touchstone
