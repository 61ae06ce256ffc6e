// The certificate and the charts of a replay cover all steps, not those that happen to have a frame.
#include "touchstone/viewer/run_certificate.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/unpack.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/viewer/protocol.hpp"
#include "touchstone/viewer/recording_replay.hpp"
#include "touchstone/viewer/simulation.hpp"

namespace touchstone {
namespace {

using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const CertificateItem& find(const std::vector<CertificateItem>& items, const std::string& start) {
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const CertificateItem& item) { return item.name.rfind(start, 0) == 0; });
  if (found == items.end()) throw std::runtime_error("there is no check " + start);
  return *found;
}

StepReport good_step(double time) {
  StepReport report;
  report.time = time;
  report.residuals.natv_relative = 1e-8;
  report.penetration = 1e-4;
  return report;
}

// One bad step anywhere fails the run, and says when.
TEST(RunCertificate, CoversEveryStep) {
  constexpr int kSteps = 40;
  for (int bad = 0; bad < kSteps; ++bad) {
    RunCertificate deep{SimulatorOptions()}, wrong{SimulatorOptions()}, open{SimulatorOptions()},
        stuck{SimulatorOptions()};
    for (int i = 0; i < kSteps; ++i) {
      StepReport report = good_step(0.01 * (i + 1));
      const auto add = [&](RunCertificate& certificate, auto change) {
        StepReport changed = report;
        if (i == bad) change(changed);
        certificate.add(changed);
      };
      add(deep, [](StepReport& r) { r.penetration = 0.018; });
      add(wrong, [](StepReport& r) { r.residuals.natv_relative = 2e-6; });
      add(open, [](StepReport& r) { r.violation = 0.002; });
      add(stuck, [](StepReport& r) { r.status = StepStatus::kNotConverged; });
    }
    const std::string when = fmt::format("at {:.6g} s", 0.01 * (bad + 1));
    const auto expect_failed = [&](const RunCertificate& certificate, const char* name, double value) {
      const std::vector<CertificateItem> items = certificate.items();
      EXPECT_FALSE(all_passed(items));
      for (const CertificateItem& item : items) {
        EXPECT_THAT(item.name, HasSubstr("of all steps"));
        EXPECT_THAT(item.meaning, HasSubstr("all 40 steps, to 0.4 s"));
        EXPECT_EQ(item.passed(), item.name.rfind(name, 0) != 0) << item.name;
      }
      EXPECT_EQ(find(items, name).value, value);
      EXPECT_THAT(find(items, name).meaning, HasSubstr(when));
    };
    expect_failed(deep, "penetration", 0.018);
    expect_failed(wrong, "natv", 2e-6);
    expect_failed(open, "limits", 0.002);
    expect_failed(stuck, "steps not solved", 1.0);
  }
}

TEST(RunCertificate, NotANumberFails) {
  RunCertificate certificate{SimulatorOptions()};
  StepReport report = good_step(0.01);
  report.residuals.natv_relative = report.penetration = report.violation = kNan;
  certificate.add(report);
  certificate.add(good_step(0.02));
  for (const char* name : {"natv", "penetration", "limits"}) {
    EXPECT_TRUE(std::isnan(find(certificate.items(), name).value));
    EXPECT_FALSE(find(certificate.items(), name).passed());
  }
}

TEST(RunCertificate, SoftConstraintsAreJudgedByTheirSolver) {
  SimulatorOptions options;
  options.constraints = ConstraintModel::kMujoco;
  RunCertificate certificate(options);
  StepReport report = good_step(0.01);
  report.penetration = 0.02;
  report.residuals.natv_relative = 0.1;
  certificate.add(report);
  ASSERT_EQ(certificate.items().size(), 1U);
  EXPECT_TRUE(all_passed(certificate.items()));
  report.status = StepStatus::kNotConverged;
  certificate.add(report);
  EXPECT_FALSE(all_passed(certificate.items()));
}

TEST(RunCertificate, SaysWhatARecordingDoesNotKnow) {
  RunCertificate certificate(SimulatorOptions(), StepSpan::kSomeSteps);
  certificate.add(good_step(0.01));
  EXPECT_THAT(find(certificate.items(), "penetration").name, HasSubstr("of recorded steps"));
  EXPECT_THAT(find(certificate.items(), "penetration").meaning, HasSubstr("others are not known"));
}

// A box that starts 18 mm inside the floor leaves it long before the end.
Scene sunk_box() {
  Scene scene = scene_of(load_mjcf_string(
      "<mujoco><worldbody><geom name='floor' type='plane' size='5 5 .1'/><body name='box' pos='0 0 .032'><freejoint/>"
      "<geom name='sides' type='box' size='.05 .05 .05'/></body></worldbody></mujoco>"));
  scene.name = "sunk";
  return scene;
}

TEST(RunCertificate, NamesThePlace) {
  Simulation simulation(sunk_box());
  const Replay replay = record(simulation, 1.0);
  const CertificateItem& depth = find(replay.certificate, "penetration");
  EXPECT_FALSE(depth.passed());
  EXPECT_NEAR(depth.value, 0.018, 1e-9);
  EXPECT_THAT(depth.meaning, HasSubstr("contact of"));
  EXPECT_THAT(depth.meaning, HasSubstr("'floor'"));
  EXPECT_TRUE(find(replay.frames.back().certificate, "penetration").passed()) << "the last frame knows nothing of it";
}

// What the steps of a scene were, one by one.
struct Steps {
  std::vector<double> time;
  std::vector<StepValues> values;
};

Steps walk(const std::string& scene, int count) {
  SceneRun run(make_scene(scene));
  Steps steps;
  for (int i = 0; i < count; ++i) {
    const StepReport& report = run.step();
    steps.time.push_back(report.time);
    steps.values.push_back(step_values(report, report.energy.kinetic, report.energy.potential));
  }
  return steps;
}

constexpr std::size_t kClocks = 8;  // the first channel that is wall time and differs from run to run

// Every frame has the extremes of the steps since the frame before.
void expect_extremes(const Replay& replay, const Steps& steps) {
  std::size_t next = 0;
  bool hidden = false;  // some peak that the values alone would not show
  for (std::size_t f = 1; f < replay.frames.size(); ++f) {
    const Frame& frame = replay.frames[f];
    for (std::size_t c = 0; c < kClocks; ++c) {
      double low = kNan, high = kNan;
      for (std::size_t i = next; i < steps.time.size() && steps.time[i] <= frame.time; ++i) {
        low = std::fmin(low, steps.values[i][c]);
        high = std::fmax(high, steps.values[i][c]);
      }
      if (std::isnan(low)) continue;
      EXPECT_NEAR(frame.low[c], low, 1e-9 * std::abs(low)) << c;
      EXPECT_NEAR(frame.high[c], high, 1e-9 * std::abs(high)) << c;
      hidden = hidden || high > 1.5 * frame.values[c];
    }
    while (next < steps.time.size() && steps.time[next] <= frame.time) ++next;
  }
  EXPECT_EQ(next, steps.time.size());
  EXPECT_TRUE(hidden);
}

TEST(ReplayFrames, KeepTheExtremesOfAllSteps) {
  const char* scene = "quadruped:drop=0.3";
  for (const double rate : {3.0, 60.0}) {
    Simulation simulation(make_scene(scene));
    const Replay replay = record(simulation, 1.0, rate);
    expect_extremes(replay, walk(scene, 500));
  }
}

TEST(ReplayFrames, ShowTheSameWhenReadTwice) {
  Simulation simulation(make_scene("quadruped:drop=0.1"));
  Frame first, second;
  simulation.read(first);
  EXPECT_EQ(first.low[0], first.values[0]);
  for (int i = 0; i < 150; ++i) simulation.step();
  simulation.read(first);
  simulation.read(second);
  EXPECT_LT(first.low[0], first.high[0]);
  EXPECT_EQ(first.low[0], second.low[0]);
  EXPECT_EQ(first.high[0], second.high[0]);
  simulation.reset();
  simulation.read(second);
  EXPECT_EQ(second.low[0], second.high[0]) << "the past is forgotten";
}

TEST(ReplayFrames, ExtremesAreInTheDocumentAndTheMessage) {
  Simulation simulation(make_scene("quadruped:drop=0.1"));
  const Replay replay = record(simulation, 0.5, 10.0);
  const nlohmann::json document = nlohmann::json::parse(replay_json(replay));
  const nlohmann::json& energy = document["channels"][0];
  ASSERT_EQ(energy["name"], "kinetic");
  ASSERT_TRUE(energy.contains("high") && energy.contains("low"));
  const auto high = test::unpack<float>(energy["high"]);
  ASSERT_EQ(high.size(), replay.frames.size());
  for (std::size_t f = 0; f < high.size(); ++f) EXPECT_EQ(high[f], static_cast<float>(replay.frames[f].high[0]));
  EXPECT_THAT(viewer::frame_message(replay.frames.back()), HasSubstr("\"high\":["));
}

class RecordedRun : public testing::TestWithParam<int> {
 protected:
  std::filesystem::path file_ =
      std::filesystem::temp_directory_path() /
      ("touchstone_certificate_" + std::to_string(getpid()) + std::to_string(GetParam()) + ".h5");
  void TearDown() override { std::filesystem::remove(file_); }
};

// The replay of a recording judges all steps of the run, whatever rows it kept.
TEST_P(RecordedRun, IsJudgedByAllItsSteps) {
  Simulation simulation(make_scene("quadruped:drop=0.3"));
  {
    RecordingWriter writer(file_, simulation.run().simulator(), {.every = GetParam()});
    for (int i = 0; i < 500; ++i) {
      simulation.step();
      writer.add(simulation.run().simulator());
    }
    writer.close();
  }
  const Replay replay = replay_of(Recording(file_), 5.0);
  const std::vector<CertificateItem> truth = simulation.run_certificate();
  ASSERT_EQ(replay.certificate.size(), truth.size());
  double deepest = 0.0;
  for (const Frame& frame : replay.frames) deepest = std::max(deepest, frame.high[6]);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    EXPECT_EQ(replay.certificate[i].name, truth[i].name);
    EXPECT_EQ(replay.certificate[i].value, truth[i].value);
  }
  EXPECT_EQ(deepest, 1e3 * find(truth, "penetration").value);
}

INSTANTIATE_TEST_SUITE_P(Every, RecordedRun, testing::Values(1, 10, 250));

}  // namespace
}  // namespace touchstone
