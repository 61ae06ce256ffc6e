// The commands that simulate: run, compare, export, view.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <thread>

#include "command_line.hpp"
#include "touchstone/record/recording.hpp"

namespace {

using nlohmann::json;

TEST_F(CommandLine, RunPrintsTheClosingTable) {
  const Outcome outcome = run("run stack:3 --time 0.2");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.error;
  for (const char* part : {"stack:3", "steps", "100", "certificate, worst", "certificate, median", "contacts", "energy",
                           "penetration", "time: solve", "100 ok"})
    EXPECT_THAT(outcome.out, HasSubstr(part));
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(run("run stack:3 --time 0.1 --quiet").out, "");
}

TEST_F(CommandLine, RunJsonHasTheFigures) {
  const Outcome outcome = run("run cube-slide:2 --time 0.2 --step 0.001 --solver nbgs --option erp=0.1 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
  const json figures = json::parse(outcome.out);
  EXPECT_EQ(figures["steps"], 200);
  EXPECT_NEAR(figures["simulated"].get<double>(), 0.2, 1e-12);
  EXPECT_EQ(figures["status"]["ok"], 200);
  EXPECT_EQ(figures["options"]["solver"], "nbgs");
  EXPECT_EQ(figures["options"]["erp"], "0.1");
  EXPECT_EQ(figures["contacts"]["most"], 4);
  EXPECT_LE(figures["natv_relative"]["worst"].get<double>(), 1e-6);
  EXPECT_TRUE(figures["solver_stages"].empty());
  EXPECT_LT(figures["energy"]["last"].get<double>(), figures["energy"]["first"].get<double>());
}

TEST_F(CommandLine, RunShowsTheStagesOfAuto) {
  const Outcome outcome = run("run stack:3 --time 0.2 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
  const json figures = json::parse(outcome.out);
  int steps = 0;
  for (const auto& count : figures["solver_stages"]) steps += count.get<int>();
  EXPECT_EQ(steps, figures["contacts"]["steps_with"]);
  EXPECT_NE(run("run stack:3 --time 0.1").out.find("by the dearest stage"), std::string::npos);
}

TEST_F(CommandLine, RunRecordsWhatItSimulates) {
  ASSERT_EQ(run("run stack:2 --time 0.2 --record run.h5 --every 10 --csv tables -q").exit_code, 0);
  const touchstone::Recording recording(folder_ / "run.h5");
  EXPECT_EQ(recording.rows(), 11U);
  EXPECT_EQ(recording.scene(), "stack:2");
  EXPECT_TRUE(fs::exists(folder_ / "tables" / "contacts.csv"));
  const Outcome exported = run("export run.h5 --csv again");
  EXPECT_EQ(exported.exit_code, 0);
  EXPECT_THAT(exported.out, HasSubstr("11 moments"));
  EXPECT_EQ(read_file(folder_ / "again" / "steps.csv"), read_file(folder_ / "tables" / "steps.csv"));
  ASSERT_EQ(run("run stack:2 --time 0.1 --csv alone -q").exit_code, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "alone"), {}), 2) << "tables and nothing else";
}

TEST_F(CommandLine, RunReadsSceneFiles) {
  write("box.xml",
        "<mujoco><worldbody><body name='b' pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
        "</worldbody></mujoco>");
  write("push.yaml", "model: box.xml\nground: true\nduration: 0.1\npushes:\n  - {body: b, force: [50, 0, 0]}\n");
  const Outcome outcome = run("run push.yaml --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
  EXPECT_EQ(json::parse(outcome.out)["contacts"]["most"], 4);
  write("wrong.yaml", "model: box.xml\ntimestep: 0.1\n");
  expect_error(run("run wrong.yaml"), "wrong.yaml:2: timestep: there is no such key; did you mean 'time_step'");
  write("gone.yaml", "model: gone.xml\n");
  expect_error(run("run gone.yaml"), "gone.xml");
}

TEST_F(CommandLine, RunStandsAUrdfOnTheGround) {
  write("arm.urdf", R"(<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01"
    ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><box size=".4 .4 .1"/></geometry></collision></link>
    <link name="b"><inertial><origin xyz="0 0 .2"/><mass value=".2"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0"
    iyz="0"/></inertial></link><joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
    <origin xyz="0 0 .05" rpy="0 .3 0"/></joint></robot>)");
  const Outcome held = run("run arm.urdf --floating --ground --hold --time 1 --record held.h5 --json");
  ASSERT_EQ(held.exit_code, 0) << held.error;
  EXPECT_EQ(json::parse(held.out)["contacts"]["most"], 4);
  ASSERT_EQ(run("run arm.urdf --floating --ground --time 1 --record limp.h5 -q").exit_code, 0);
  const auto joint_moved = [this](const char* file) {
    const touchstone::Recording recording(folder_ / file);
    return std::abs(recording.state(recording.rows() - 1).q[7]);
  };
  EXPECT_LT(joint_moved("held.h5"), 0.05);
  EXPECT_GT(joint_moved("limp.h5"), 0.5);
}

TEST_F(CommandLine, RunRefusesBadInput) {
  expect_error(run("run quadrupet"), "did you mean 'quadruped'");
  expect_error(run("run pile:x"), "n is 'x'");
  expect_error(run("run stack --solver autp"), "auto");
  expect_error(run("run stack --step 0"), "--step");
  expect_error(run("run stack --step -0.1"), "--step");
  expect_error(run("run stack --step nan"), "--step");
  expect_error(run("run stack --time -1"), "--time");
  expect_error(run("run stack --option erpp=1"), "did you mean 'erp'");
  expect_error(run("run stack --option erp=7"), "[0, 1]");
  expect_error(run("run stack --integrator rk4"), "euler|midpoint|variational");
  expect_error(run("run quadruped --keyframe hom"), "'home'");
  expect_error(run("run stack --record no/such/folder/run.h5"), "no/such/folder/run.h5");
  expect_error(run("run stack --record x.h5 --every 0"), "--every");
  write("file", "");
  expect_error(run("run stack --time 0.01 --html file/x.html"), "file/x.html");
  expect_error(run("run stack --time 0.01 --csv file/tables"), "file/tables");
  expect_error(run("export missing.h5 --csv ."), "missing.h5");
  write("text.h5", "text");
  expect_error(run("export text.h5 --csv ."), "text.h5");
  expect_error(run("view text.h5 --html x.html"), "text.h5");
  expect_error(run("export stack"), "--arrays FILE");
  expect_error(run("export stack --csv t --arrays a"), "--arrays FILE");
  expect_error(run("export convex/conveyor --arrays a"), "compliant contact");
  expect_error(run("export stack --arrays no/such/folder/a"), "no/such/folder/a");
  expect_error(run("export stack --arrays a --states a"), "--states");
}

// A header of four int32, then q, v and controls of each state.
TEST_F(CommandLine, ExportWritesArraysAndStates) {
  const Outcome outcome = run("export stack:3 --arrays stack.arrays --states stack.states --count 5");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("18 dofs"));
  const std::string states = read_file(folder_ / "stack.states");
  ASSERT_EQ(states.size(), 16u + 5u * (21u + 18u) * 8u);
  std::int32_t header[4] = {};
  std::memcpy(header, states.data(), sizeof header);
  EXPECT_THAT(header, testing::ElementsAre(5, 21, 18, 0));
  double height = 0.0;
  std::memcpy(&height, states.data() + 16 + 2 * 8, sizeof height);
  EXPECT_GT(height, 0.0) << "the lowest box lies on the floor";
}

TEST_F(CommandLine, RunSurvivesAFullDisk) {
  const Outcome outcome = run("run pile:20 --time 2 --record run.h5", "ulimit -f 1000; trap '' XFSZ; ");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.error, HasSubstr("run.h5"));
  EXPECT_THAT(outcome.error, HasSubstr("disk may be full"));
  const touchstone::Recording recording(folder_ / "run.h5");
  EXPECT_GT(recording.rows(), 10U);
  EXPECT_FALSE(recording.complete());
}

TEST_F(CommandLine, RunKilledLeavesARecording) {
  const std::string file = (folder_ / "run.h5").string();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    execl(binary_.c_str(), "touchstone", "run", "stack:5", "--time", "1000", "--record", file.c_str(), "-q", nullptr);
    _exit(127);
  }
  // Until there is something to lose: the model and room for the first rows are there before they are.
  for (int i = 0; i < 1200 && (!fs::exists(file) || fs::file_size(file) < 1'000'000); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const touchstone::Recording recording(file);
  EXPECT_FALSE(recording.complete());
  EXPECT_GT(recording.rows(), 15U);
  const Outcome replay = run("view run.h5 --html run.html");
  if (replay.exit_code == 0) {
    EXPECT_THAT(replay.out, HasSubstr("ends early"));
  }
}

TEST_F(CommandLine, CompareShowsSolversSideBySide) {
  fs::create_directory(folder_ / "c");
  const Outcome outcome =
      run("compare cube-slide --solvers auto,ccp-admm --steps 0.002,0.004 --time 0.2 --html c/c.html");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 6);
  EXPECT_THAT(outcome.out, HasSubstr("ccp-admm"));
  const std::string page = read_file(folder_ / "c" / "c.html");
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("Deviation from the first run"));
  EXPECT_THAT(page, Not(HasSubstr("http"))) << "the report must need nothing from elsewhere";
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  const json runs = json::parse(run("compare cube-slide --solvers auto,ccp-admm --time 0.1 --json").out)["runs"];
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0]["deviation"], 0.0);
  EXPECT_LE(runs[0]["natv_relative_worst"].get<double>(), 1e-6);
  // The convex relaxation lifts a sliding cube off: the certificate of the NCP sees it.
  EXPECT_GT(runs[1]["natv_relative_worst"].get<double>(), 1e-3);
  expect_error(run("compare cube-slide --solvers auto,nosuch"), "nosuch");
  expect_error(run("compare cube-slide --steps 0"), "--steps");
}

TEST_F(CommandLine, ViewShowsARecording) {
  ASSERT_EQ(run("run quadruped:flat,drop=0 --time 0.3 --record run.h5 -q").exit_code, 0);
  const Outcome outcome = run("view run.h5 --html run.html");
  if (outcome.exit_code != 0 && outcome.error.find("npm run build") != std::string::npos) GTEST_SKIP() << "no page";
  ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
  const std::string page = read_file(folder_ / "run.html");
  EXPECT_THAT(page, HasSubstr("quadruped:flat,drop=0"));
  EXPECT_THAT(page, HasSubstr("\"contacts\":{\"starts\""));
  EXPECT_LT(page.size(), 5'000'000U);
}

}  // namespace
