#include "touchstone/record/recording.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/scenes/scenes.hpp"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Recordings : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("touchstone_record_" + std::string(test->name()) + std::to_string(getpid()));
    fs::create_directories(folder_);
    file_ = folder_ / "run.h5";
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_, file_;
};

// What a run really was, step by step.
struct Witness {
  std::vector<State> states;
  std::vector<VectorX> controls;
  std::vector<std::size_t> contacts;
  std::vector<double> natv;
  std::vector<Vec3> forces;

  double worst_natv = 0.0;  // since the row before

  void see(const Simulator& sim) { worst_natv = std::max(worst_natv, sim.report().residuals.natv); }
  void add(const Simulator& sim) {
    states.push_back(sim.state());
    controls.push_back(sim.input().control);
    contacts.push_back(sim.contacts().size());
    see(sim);
    natv.push_back(std::exchange(worst_natv, 0.0));
    for (const ContactForce& f : sim.contacts()) forces.push_back(f.force);
  }
};

Witness record_run(const std::string& scene, const fs::path& file, int steps, RecordingOptions options = {}) {
  SceneRun run(make_scene(scene));
  options.scene = scene;
  Witness witness;
  witness.add(run.simulator());
  RecordingWriter writer(file, run.simulator(), options);
  for (int i = 1; i <= steps; ++i) {
    run.step();
    writer.add(run.simulator());
    witness.see(run.simulator());
    if (i % options.every == 0) witness.add(run.simulator());
  }
  writer.close();
  return witness;
}

// The worst of the steps since the row before.
void keep_row(const StepReport& report, StepReport& worst) {
  worst.status = std::max(worst.status, report.status);
  keep_worst(report.residuals, worst.residuals);
  worst.penetration = std::max(worst.penetration, report.penetration);
  worst.violation = std::max(worst.violation, report.violation);
}

void expect_same(const Recording& recording, const Witness& witness, std::size_t rows) {
  ASSERT_EQ(recording.rows(), rows);
  std::size_t point = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    ASSERT_TRUE(recording.state(row) == witness.states[row]) << row;
    ASSERT_EQ(recording.control(row), witness.controls[row]);
    ASSERT_EQ(recording.report(row).residuals.natv, witness.natv[row]);
    ASSERT_EQ(recording.contact_start(row), point);
    for (std::size_t k = 0; k < witness.contacts[row]; ++k, ++point) {
      for (std::size_t axis = 0; axis < 3; ++axis)
        ASSERT_EQ(recording.contacts().force[3 * point + axis], witness.forces[point][static_cast<int>(axis)]);
    }
  }
  EXPECT_EQ(recording.contact_start(rows), point);
}

// Events, impacts, rejected steps and Newton iterations are the sums of the steps since the row before.
TEST_F(Recordings, CountEventsBetweenRows) {
  Scene scene = make_scene("woodpecker");
  scene.options.events.rule = SmoothRule::kVariational;
  SceneRun run(std::move(scene));
  RecordingWriter writer(file_, run.simulator(), {.every = 10});
  std::vector<int> events{0}, impacts{0}, newton{0};
  std::vector<double> last{0.0};
  for (int i = 0; i < 200; ++i) {
    run.step();
    writer.add(run.simulator());
    if (i % 10 == 0) {
      events.push_back(0);
      impacts.push_back(0);
      newton.push_back(0);
      last.push_back(last.back());
    }
    const StepReport& report = run.simulator().report();
    events.back() += report.events.events;
    impacts.back() += report.events.impacts;
    newton.back() += report.newton;
    if (report.events.events > 0) last.back() = report.events.last;
  }
  writer.close();
  const Recording recording(file_);
  EXPECT_EQ(recording.steps().events, std::vector<std::int32_t>(events.begin(), events.end()));
  EXPECT_EQ(recording.steps().impacts, std::vector<std::int32_t>(impacts.begin(), impacts.end()));
  EXPECT_EQ(recording.steps().newton, std::vector<std::int32_t>(newton.begin(), newton.end()));
  EXPECT_EQ(recording.steps().last_event, last);
  EXPECT_GT(last.back(), 0.0);
  EXPECT_GT(newton.back(), 0);
  write_csv(recording, folder_ / "csv");
  std::ifstream csv(folder_ / "csv" / "steps.csv");
  std::string titles;
  std::getline(csv, titles);
  EXPECT_THAT(titles, HasSubstr(",events,impacts,rejected,fallbacks,newton,last_event,"));
}

TEST_F(Recordings, AreTheRunBitForBit) {
  const Witness witness = record_run("quadruped:flat,drop=0.02", file_, 100);
  const Recording recording(file_);
  EXPECT_TRUE(recording.complete());
  EXPECT_EQ(recording.scene(), "quadruped:flat,drop=0.02");
  EXPECT_EQ(recording.time_step(), 0.002);
  EXPECT_EQ(recording.options().solver, "auto");
  EXPECT_GT(recording.contacts().rows(), 50U);
  expect_same(recording, witness, 101);
}

// The file alone is enough to run again, with the same bits.
TEST_F(Recordings, CanBeRunAgain) {
  const Witness witness = record_run("arch:7", file_, 60);
  const Recording recording(file_);
  Simulator sim(recording.model(), recording.options());
  sim.reset(recording.state(0));
  sim.input().control = recording.control(0);
  for (std::size_t i = 1; i < recording.rows(); ++i) {
    sim.step();
    ASSERT_TRUE(sim.state() == witness.states[i]) << i;
  }
}

TEST_F(Recordings, KeepEveryNthStep) {
  const Witness witness = record_run("stack:3", file_, 100, {.every = 7, .chunk = 4});
  const Recording recording(file_);
  EXPECT_EQ(recording.every(), 7);
  EXPECT_EQ(recording.steps().step.back(), 98);
  expect_same(recording, witness, 15);
}

// A peak between two rows is in the second of them.
TEST_F(Recordings, KeepTheWorstOfTheStepsBetweenRows) {
  SceneRun run(make_scene("quadruped:drop=0.3"));
  std::vector<StepReport> rows(1);
  StepReport worst;
  double sampled = 0.0, deepest = 0.0;
  RecordingWriter writer(file_, run.simulator(), {.every = 50});
  for (int i = 1; i <= 500; ++i) {
    const StepReport& report = run.step();
    writer.add(run.simulator());
    keep_row(report, worst);
    deepest = std::max(deepest, report.penetration);
    if (i % 50 != 0) continue;
    sampled = std::max(sampled, report.penetration);
    rows.push_back(std::exchange(worst, StepReport()));
  }
  writer.close();
  ASSERT_LT(sampled, deepest) << "the deepest step has no row of its own";
  const Recording recording(file_);
  EXPECT_TRUE(recording.covers_all_steps());
  ASSERT_EQ(recording.rows(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(recording.report(i).penetration, rows[i].penetration);
    EXPECT_EQ(recording.report(i).violation, rows[i].violation);
    EXPECT_EQ(recording.report(i).residuals.natv_relative, rows[i].residuals.natv_relative);
    EXPECT_EQ(recording.report(i).status, rows[i].status);
  }
}

TEST_F(Recordings, KeepTheResidualOfCompliantLaws) {
  Scene scene = make_scene("stack:2");
  scene.options.solver = "lagged";
  SceneRun run(scene);
  RecordingWriter writer(file_, run.simulator());
  std::vector<double> law(1), relative(1);
  for (int i = 0; i < 50; ++i) {
    const StepReport& report = run.step();
    writer.add(run.simulator());
    law.push_back(report.residuals.law_natv);
    relative.push_back(report.residuals.law_natv_relative);
  }
  writer.close();
  const Recording recording(file_);
  EXPECT_GT(*std::max_element(relative.begin(), relative.end()), 0.0);
  EXPECT_EQ(recording.steps().law_natv, law);
  EXPECT_EQ(recording.steps().law_natv_relative, relative);
  EXPECT_EQ(recording.report(50).residuals.law_natv_relative, relative.back());
}

TEST_F(Recordings, KeepAStepThatDivergedWhateverItsTurn) {
  SceneRun run(make_scene("stack:2"));
  RecordingWriter writer(file_, run.simulator(), {.every = 50});
  run.step();
  writer.add(run.simulator());
  run.simulator().input().applied_force[0] = std::numeric_limits<double>::quiet_NaN();
  run.step();
  writer.add(run.simulator());
  writer.close();
  const Recording recording(file_);
  ASSERT_EQ(recording.rows(), 2U);
  EXPECT_EQ(recording.report(1).status, StepStatus::kDiverged);
  EXPECT_EQ(recording.steps().step.back(), 2);
}

TEST_F(Recordings, HoldTheParametersOfTheRun) {
  SceneRun run(make_scene("cube-slide"));
  run.simulator().parameters().shape_material[0].friction.x() = 0.125;
  run.simulator().parameters().gravity = {0, 0, -1.5};
  RecordingWriter(file_, run.simulator()).close();
  const Recording recording(file_);
  EXPECT_EQ(recording.model()->defaults.shape_material[0].friction.x(), 0.125);
  EXPECT_EQ(recording.model()->defaults.gravity.z(), -1.5);
  EXPECT_EQ(recording.rows(), 1U);
}

TEST_F(Recordings, MayBeReadWhileTheyAreWritten) {
  SceneRun run(make_scene("stack:2"));
  RecordingWriter writer(file_, run.simulator(), {.chunk = 10});
  for (int i = 0; i < 25; ++i) {
    run.step();
    writer.add(run.simulator());
  }
  const Recording recording(file_);
  EXPECT_EQ(recording.rows(), 20U);
  EXPECT_FALSE(recording.complete());
  EXPECT_EQ(recording.steps().step.back(), 19);
}

TEST_F(Recordings, SurviveAKilledWriter) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    SceneRun run(make_scene("stack:2"));
    RecordingWriter writer(file_, run.simulator(), {.chunk = 16});
    for (int i = 0; i < 100; ++i) {
      run.step();
      writer.add(run.simulator());
    }
    kill(getpid(), SIGKILL);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const Witness witness = record_run("stack:2", folder_ / "whole.h5", 100);
  const Recording recording(file_);
  EXPECT_FALSE(recording.complete());
  expect_same(recording, witness, 96);  // six chunks of 16
}

// Wherever a file is cut, what can be read is right, and if nothing can the error says so.
TEST_F(Recordings, CutFilesGiveAPrefixOrAClearError) {
  const Witness witness = record_run("stack:3", file_, 200, {.chunk = 16});
  std::ifstream stream(file_, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const fs::path cut = folder_ / "cut.h5";
  int readable = 0;
  for (int tenths = 0; tenths < 10; ++tenths) {
    std::ofstream(cut, std::ios::binary) << bytes.substr(0, bytes.size() * static_cast<std::size_t>(tenths) / 10);
    try {
      const Recording recording(cut);
      EXPECT_LE(recording.rows(), 201U);
      EXPECT_FALSE(recording.complete() && recording.rows() < 201U);
      expect_same(recording, witness, recording.rows());
      readable += recording.rows() > 16 ? 1 : 0;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("cut.h5"));
    }
  }
  EXPECT_GE(readable, 3) << "of ten prefixes";
}

TEST_F(Recordings, OtherFilesAreRefused) {
  std::ofstream(file_) << "no recording at all";
  EXPECT_THROW(Recording{file_}, InputError);
  std::ofstream(file_, std::ios::trunc) << "";
  EXPECT_THROW(Recording{file_}, InputError);
  EXPECT_THROW(Recording{folder_}, InputError);
  EXPECT_THROW(Recording{folder_ / "nothing.h5"}, InputError);
}

TEST_F(Recordings, BadRequestsAreRefused) {
  SceneRun run(make_scene("stack:2"));
  EXPECT_THROW(RecordingWriter(folder_ / "no" / "folder.h5", run.simulator()), InputError);
  EXPECT_THROW(RecordingWriter(file_, run.simulator(), {.every = 0}), Error);
  EXPECT_THROW(RecordingWriter(file_, run.simulator(), {.compression = 11}), Error);
}

// A limit of the file's size acts as a full disk. In a process of its own, which must end in good order.
TEST_F(Recordings, AFullDiskLeavesAReadableFile) {
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    std::string message = "no error";
    try {
      SceneRun run(make_scene("pile:8"));
      RecordingWriter writer(file_, run.simulator(), {.chunk = 8, .compression = 0});
      const rlimit limit{300'000, 300'000};
      setrlimit(RLIMIT_FSIZE, &limit);
      for (int i = 0; i < 2000; ++i) {
        run.step();
        writer.add(run.simulator());
      }
    } catch (const Error& error) {
      message = error.what();
    }
    const bool written = write(channel[1], message.data(), message.size()) == static_cast<ssize_t>(message.size());
    std::exit(written ? 0 : 1);
  }
  close(channel[1]);
  char buffer[1024];
  const ssize_t size = read(channel[0], buffer, sizeof buffer);
  close(channel[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  ASSERT_GT(size, 0);
  const std::string message(buffer, static_cast<std::size_t>(size));
  EXPECT_THAT(message, HasSubstr("cannot be written"));
  EXPECT_THAT(message, HasSubstr("disk may be full"));
  const Recording recording(file_);
  EXPECT_FALSE(recording.complete());
  EXPECT_GE(recording.rows(), 8U);
  EXPECT_EQ(recording.rows() % 8, 0U);
  EXPECT_THAT(message, HasSubstr("first " + std::to_string(recording.rows()) + " moments"));
  const Witness witness = record_run("pile:8", folder_ / "whole.h5", static_cast<int>(recording.rows()));
  expect_same(recording, witness, recording.rows());
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST_F(Recordings, BecomeTables) {
  const Witness witness = record_run("quadruped:flat,drop=0", file_, 20);
  write_csv(Recording(file_), folder_ / "tables");
  const std::vector<std::string> steps = lines_of(folder_ / "tables" / "steps.csv");
  ASSERT_EQ(steps.size(), 22U);
  EXPECT_THAT(steps[0], HasSubstr("row,time,q:"));
  EXPECT_THAT(steps[0], HasSubstr("control:FL_knee"));
  // Numbers come back with the same bits.
  std::istringstream last(steps.back());
  std::vector<std::string> cells;
  for (std::string cell; std::getline(last, cell, ',');) cells.push_back(cell);
  for (int k = 0; k < 19; ++k) EXPECT_EQ(std::stod(cells[static_cast<std::size_t>(2 + k)]), witness.states.back().q[k]);
  std::size_t points = 0;
  for (const std::size_t count : witness.contacts) points += count;
  const std::vector<std::string> contacts = lines_of(folder_ / "tables" / "contacts.csv");
  EXPECT_EQ(contacts.size(), points + 1);
  EXPECT_THAT(contacts.back(), HasSubstr("foot"));
  std::ofstream(folder_ / "file") << "";
  EXPECT_THROW(write_csv(Recording(file_), folder_ / "file" / "tables"), InputError);
}

ModelPtr named_model(const std::string& second) {
  return load_mjcf_string(R"(<mujoco><worldbody>
    <body name="target" mocap="true"><geom size=".1" contype="0" conaffinity="0"/></body>
    <body name="b"><freejoint name="base"/><geom size=".1"/>
      <body pos="1 0 0"><joint name="hip" type="ball"/><geom size=".1"/>
        <body pos="1 0 0"><joint name=")" +
                          second + R"(" axis="1 0 0"/><geom size=".1"/></body>
        <body pos="0 1 0"><joint type="slide"/><geom size=".1"/></body></body></body></worldbody>
    <actuator><motor name="plain" joint=")" +
                          second + R"("/><general name="slow" joint=")" + second +
                          R"(" dyntype="filter" dynprm="1"/></actuator></mujoco>)");
}

TEST_F(Recordings, ColumnsCarryJointNames) {
  Simulator sim(named_model("knee, &quot;left&quot;"));
  RecordingWriter(file_, sim).close();
  write_csv(Recording(file_), folder_);
  const std::string header = lines_of(folder_ / "steps.csv").front();
  for (const char* part :
       {"row,time,q:base.x,q:base.y,q:base.z,q:base.qw,q:base.qx,q:base.qy,q:base.qz,q:hip.qw,q:hip.qx,q:hip.qy,q:hip."
        "qz,"
        "\"q:knee, \"\"left\"\"\",q:",
        ",v:base.x,v:base.y,v:base.z,v:base.wx,v:base.wy,v:base.wz,v:hip.wx,v:hip.wy,v:hip.wz,\"v:knee",
        ",activation:slow,control:plain,control:slow,",
        ",mocap:target.x,mocap:target.y,mocap:target.z,mocap:target.qw,mocap:target.qx,mocap:target.qy,mocap:target."
        "qz,",
        ",time_certify"})
    EXPECT_THAT(header, HasSubstr(part));
  EXPECT_EQ(header.find('['), std::string::npos) << header;
}

TEST_F(Recordings, ColumnsHaveNamesOfTheirOwn) {
  Simulator sim(named_model("base.x"));
  RecordingWriter(file_, sim).close();
  write_csv(Recording(file_), folder_);
  std::istringstream header(lines_of(folder_ / "steps.csv").front());
  std::vector<std::string> names;
  for (std::string name; std::getline(header, name, ',');) names.push_back(name);
  EXPECT_THAT(names, testing::Contains("q:base.x"));
  EXPECT_THAT(names, testing::Contains("q:base.x#2"));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST_F(Recordings, KeepWhoSleeps) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body name='rests' pos='0 0 .1'><freejoint/><geom "
      "size='.1'/></body><body name='swings' pos='1 0 2'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 1 0 "
      "0' "
      "size='.05'/></body></worldbody></mujoco>");
  SimulatorOptions options;
  options.sleep.mode = SleepMode::kOn;
  Simulator sim(model, options);
  RecordingWriter writer(file_, sim);
  int asleep = 0;
  for (int i = 0; i < 500; ++i) {
    asleep += sim.step().sleep.bodies;
    writer.add(sim);
  }
  writer.close();
  const Recording recording(file_);
  ASSERT_GT(asleep, 0);
  int recorded = 0;
  for (std::size_t row = 0; row < recording.rows(); ++row) {
    recorded += recording.is_asleep(row, model->body("rests")) ? 1 : 0;
    EXPECT_FALSE(recording.is_asleep(row, model->body("swings")));
  }
  EXPECT_EQ(recorded, asleep);
  EXPECT_EQ(recording.report(recording.rows() - 1).sleep.bodies, 1);
  write_csv(recording, folder_);
  std::ifstream table(folder_ / "steps.csv");
  std::string titles;
  std::getline(table, titles);
  EXPECT_THAT(titles, HasSubstr("asleep:rests,asleep:swings"));
}

}  // namespace
}  // namespace touchstone
