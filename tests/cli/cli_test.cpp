#include "command_line.hpp"

#include <cmath>

namespace {

TEST_F(CommandLine, HelpTeaches) {
  const Outcome outcome = run("--help");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.error, "");
  for (const char* part : {"info", "ik", "scenes", "demo", "decompose", "solve", "solvers", "view",
                           "Examples:", "Exit codes:", "touchstone info quadruped"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
  for (const char* command : {"info", "ik", "scenes", "demo", "decompose", "solve", "solvers", "view"}) {
    const Outcome help = run(std::string(command) + " --help");
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.out, HasSubstr("Examples:")) << command;
  }
}

TEST_F(CommandLine, VersionIsOneLine) {
  const Outcome outcome = run("--version");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(std::regex_match(outcome.out, std::regex("touchstone [0-9]+\\.[0-9]+\\.[0-9]+\n"))) << outcome.out;
}

TEST_F(CommandLine, WithoutCommandShowsHelpAndFails) {
  const Outcome outcome = run("");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.error, HasSubstr("Examples:"));
}

TEST_F(CommandLine, UsageErrorsAreOneLine) {
  expect_error(run("frobnicate"), "frobnicate");
  expect_error(run("info"), "touchstone info --help");
  expect_error(run("info quadruped --frobnicate"), "--frobnicate");
  expect_error(run("info quadruped --search-path /nonexistent-folder"), "/nonexistent-folder");
  expect_error(run("demo --time minus"), "--time");
  expect_error(run("demo --time -1"), "--time");
  expect_error(run("demo --time nan"), "--time");
  expect_error(run("demo --time 61"), "--time");
  expect_error(run("view"), "touchstone view --help");
  expect_error(run("view no-such-scene --html x.html"), "no-such-scene");
  expect_error(run("view pendulum --port 99999"), "--port");
  expect_error(run("view pendulum --time -1 --html x.html"), "--time");
}

TEST_F(CommandLine, InverseKinematicsSaysWhetherItReached) {
  write("arm.xml",
        "<mujoco><worldbody><body name='upper' pos='0 0 1'><joint name='a' axis='0 1 0'/>"
        "<geom type='capsule' fromto='0 0 0 1 0 0' size='.05'/><body name='lower' pos='1 0 0'>"
        "<joint name='b' axis='0 1 0' limited='true' range='5 140'/>"
        "<geom type='capsule' fromto='0 0 0 1 0 0' size='.05'/></body></body></worldbody></mujoco>");
  const Outcome outcome = run("ik arm.xml --body lower --point 1 0 0 --position -0.8 0 1.9 --json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.error;
  const nlohmann::json result = nlohmann::json::parse(outcome.out);
  EXPECT_TRUE(result["reached"].get<bool>());
  EXPECT_NEAR(result["q"][1].get<double>(), std::acos(0.5 * (0.8 * 0.8 + 0.9 * 0.9) - 1.0), 1e-5);
  const Outcome far = run("ik arm.xml --body lower --position 5 0 1");
  EXPECT_EQ(far.exit_code, 1);
  EXPECT_THAT(far.out, HasSubstr("not reached: error 4 m"));
  expect_error(run("ik arm.xml --body nobody --position 0 0 0"), "nobody");
  expect_error(run("ik arm.xml --body lower --position 0 0"), "--position");
  expect_error(run("ik arm.xml --position 0 0 0"), "--body");
  expect_error(run("ik arm.xml"), "nothing is wanted");
}

TEST_F(CommandLine, BadModelsAreOneLine) {
  expect_error(run("info no-such-scene"), "no-such-scene");
  expect_error(run("info no/such/file.xml"), "no/such/file.xml");
  write("broken.xml", "<mujoco><worldbody>");
  expect_error(run("info broken.xml"), "broken.xml");
  write("bytes.xml", std::string("\x7f\0ELF\xff\xfe", 7));
  expect_error(run("info bytes.xml"), "bytes.xml");
  write("empty.xml", "");
  expect_error(run("info empty.xml"), "empty.xml");
  write("limits.xml",
        "<mujoco>\n<worldbody><body><joint name='knee' range='1 -1' limited='true'/>\n"
        "<geom size='.1'/></body></worldbody></mujoco>");
  expect_error(run("info limits.xml"), "knee");
  fs::create_directory(folder_ / "folder");
  expect_error(run("info folder"), "folder");
}

TEST_F(CommandLine, VerboseExplainsErrors) {
  write("broken.xml", "<mujoco><worldbody>");
  for (const char* arguments : {"-v info broken.xml", "info broken.xml --verbose"}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.error, StartsWith("touchstone: error: "));
    EXPECT_THAT(outcome.error, HasSubstr("\n  problem: "));
  }
}

constexpr const char* kPlate = R"(<mujoco><asset><mesh name="plate" vertex="
  0 0 0  1 0 0  0 1 0  0 0 1" face="0 2 1 0 1 3 0 3 2 1 2 3"/></asset>
  <worldbody><body><freejoint/><geom type="mesh" mesh="plate"/></body></worldbody></mujoco>)";

// A stand-in for Python with coacd: it writes one piece wherever it is told to.
TEST_F(CommandLine, DecomposeKeepsPieces) {
  write("plate.xml", kPlate);
  write("python", "#!/bin/sh\nprintf 'o p\\nv 0 0 0\\nv 1 0 0\\nv 0 1 0\\nv 0 0 1\\n' > \"$4\"\n");
  fs::permissions(folder_ / "python", fs::perms::owner_all);
  const std::string command = "decompose plate.xml --folder cache --python ./python";
  EXPECT_THAT(run(command).out, HasSubstr("--all"));  // the hull fits
  const Outcome first = run(command + " --all");
  EXPECT_EQ(first.exit_code, 0) << first.error;
  EXPECT_THAT(first.out, HasSubstr("plate: 1 pieces\n"));
  EXPECT_THAT(run(command + " --all").out, HasSubstr("prepared earlier"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "cache"), fs::directory_iterator()), 1);
}

TEST_F(CommandLine, DecomposeSaysWhatIsMissing) {
  write("plate.xml", kPlate);
  expect_error(run("decompose plate.xml --all --folder cache --python ./nowhere"), "./nowhere");
  write("python", "#!/bin/sh\nexit 10\n");
  fs::permissions(folder_ / "python", fs::perms::owner_all);
  expect_error(run("decompose plate.xml --all --folder cache --python ./python"), "pip install coacd");
  EXPECT_TRUE(fs::is_empty(folder_ / "cache"));
}

TEST_F(CommandLine, ScenesAreListedAndLoad) {
  const Outcome list = run("scenes");
  EXPECT_EQ(list.exit_code, 0);
  std::istringstream lines(list.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const std::string name = line.substr(0, line.find(' '));
    EXPECT_EQ(run("info " + name).exit_code, 0) << name;
  }
  EXPECT_GE(count, 4);
}

TEST_F(CommandLine, InfoDrawsTheTree) {
  const Outcome outcome = run("info quadruped");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.error, "");
  for (const char* part : {"18 degrees of freedom", "12.1600 kg", "└─ trunk", "free root", "hinge FL_knee (dof 8, y)",
                           "[-2.6, -0.2]", "12 actuators", "position (kp 100, kv 2.5)", "keyframes", "home"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b"))) << "colours although the output is not a terminal";
  EXPECT_THAT(run("info quadruped -v").out, HasSubstr("FL_knee_position"));
}

TEST_F(CommandLine, InfoJsonIsComplete) {
  const Outcome outcome = run("info quadruped --json");
  ASSERT_EQ(outcome.exit_code, 0);
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["nq"], 19);
  EXPECT_EQ(json["nv"], 18);
  EXPECT_EQ(json["nu"], 12);
  EXPECT_NEAR(json["total_mass"].get<double>(), 12.16, 1e-12);
  EXPECT_EQ(json["bodies"].size(), 14u);
  EXPECT_EQ(json["bodies"][0]["parent"], nullptr);
  EXPECT_EQ(json["bodies"][2]["parent"], "trunk");
  EXPECT_EQ(json["joints"][0]["type"], "free");
  EXPECT_EQ(json["joints"][1]["range"], nlohmann::json({-0.9, 0.9}));
  EXPECT_EQ(json["actuators"][0]["target"], "FL_abduction");
  EXPECT_EQ(json["keyframes"][0]["name"], "home");
  EXPECT_EQ(json["keyframes"][0]["q"].size(), 19u);
  EXPECT_TRUE(json["warnings"].empty());
}

TEST_F(CommandLine, InfoReadsFilesAndUrdfOptions) {
  write("arm.urdf",
        "<robot name='arm'><link name='base'><inertial><mass value='2'/>"
        "<inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial></link>"
        "<link name='tool'><inertial><mass value='1'/>"
        "<inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial></link>"
        "<joint name='flange' type='fixed'><parent link='base'/><child link='tool'/></joint></robot>");
  const auto merged = nlohmann::json::parse(run("info arm.urdf --json --floating-base").out);
  EXPECT_EQ(merged["nv"], 6);
  EXPECT_NEAR(merged["total_mass"].get<double>(), 3.0, 1e-12);
  const auto kept = nlohmann::json::parse(run("info arm.urdf --json --floating-base --keep-fixed").out);
  EXPECT_EQ(kept["nv"], 6);
  EXPECT_EQ(kept["bodies"].size(), merged["bodies"].size() + 1);
}

TEST_F(CommandLine, InfoSurvivesALongChain) {
  std::string open, close;
  for (int i = 0; i < 2000; ++i) {
    open += "<body pos='0 0 -1'><joint/><geom size='.1' mass='1'/>";
    close += "</body>";
  }
  write("chain.xml", "<mujoco><worldbody>" + open + close + "</worldbody></mujoco>");
  const Outcome outcome = run("info chain.xml");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("2000 degrees of freedom"));
  EXPECT_LT(outcome.out.size(), 1'000'000u);
}

TEST_F(CommandLine, DemoPassesItsChecks) {
  fs::create_directory(folder_ / "drop");
  const Outcome outcome = run("demo --time 0.5 --out drop/replay.html");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("all checks passed"));
  EXPECT_THAT(outcome.out, HasSubstr("natv, relative: worst"));
  EXPECT_EQ(outcome.error, "") << "no progress bar without a terminal";
}

// Whether this build has the viewer's page; without it the program must say how to get it.
bool has_page(const Outcome& outcome) {
  if (outcome.exit_code == 0) return true;
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.error, HasSubstr("npm run build"));
  return false;
}

TEST_F(CommandLine, ViewWritesAReplay) {
  fs::create_directory(folder_ / "out");
  const Outcome outcome = run("view double-pendulum --html out/replay.html --time 0.2");
  if (!has_page(outcome)) GTEST_SKIP() << "built without web/";
  EXPECT_THAT(outcome.out, HasSubstr("out/replay.html"));
  const std::string page = read_file(folder_ / "out" / "replay.html");
  EXPECT_THAT(page, HasSubstr("touchstone-replay"));
  EXPECT_LT(page.size(), 5'000'000U);
  EXPECT_EQ(run("view pendulum --html out/replay.html/x.html").exit_code, 2);
}

TEST_F(CommandLine, DemoEndsWithAReplay) {
  if (!has_page(run("view pendulum --html probe.html --time 0.01"))) GTEST_SKIP() << "built without web/";
  fs::create_directory(folder_ / "drop");
  const Outcome outcome = run("demo --time 0.5 --out drop/replay.html");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("drop/replay.html"));
  const std::string page = read_file(folder_ / "drop" / "replay.html");
  EXPECT_THAT(page, HasSubstr("natv, relative: worst")) << "the certificate goes with it";
  EXPECT_THAT(page, HasSubstr("Time of a step"));
  EXPECT_LT(page.size(), 5'000'000U);
}

TEST_F(CommandLine, ViewSaysWhatIsMissing) {
  if (!has_page(run("view pendulum --html probe.html --time 0.01"))) GTEST_SKIP() << "built without web/";
  const Outcome elsewhere = run("view pendulum --host 192.0.2.1");  // reserved for documentation: nobody has it
  EXPECT_EQ(elsewhere.exit_code, 2);
  EXPECT_THAT(elsewhere.error, HasSubstr("192.0.2.1"));
  expect_error(run("view pendulum --png x.png", "PATH=/nonexistent"), "chromium");
  expect_error(run("view pendulum --mp4 x.mp4 --time 0.1", "PATH=/nonexistent"), "chromium");
  expect_error(run("view pendulum --mp4 x.mp4 --time 0.1", "PATH=/nonexistent TOUCHSTONE_CHROMIUM=/bin/true"),
               "ffmpeg");
  expect_error(run("view pendulum --mp4 x.mp4 --fps 0"), "--fps");
}

TEST_F(CommandLine, DemoChoosesAReport) {
  EXPECT_EQ(run("demo --time 0.01").exit_code, 0);
  EXPECT_TRUE(fs::exists(folder_ / "touchstone-demo.html"));
  fs::create_directory(folder_ / "build");
  EXPECT_EQ(run("demo --time 0.01").exit_code, 0);
  EXPECT_TRUE(fs::exists(folder_ / "build" / "demo.html"));
}

TEST_F(CommandLine, DemoSaysWhenTheReplayCannotBeWritten) {
  if (!has_page(run("view pendulum --html probe.html --time 0.01"))) GTEST_SKIP() << "built without web/";
  write("file", "");
  const Outcome outcome = run("demo --time 0.01 --out file/report.html");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.error, HasSubstr("file/report.html"));
}

TEST_F(CommandLine, FullDiskIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP();
  const Outcome outcome = run("info quadruped --json >/dev/full");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.error, StartsWith("touchstone: error: "));
}

// One contact that slides, in Siconos' text format (normal first), and one whose matrix is indefinite.
const char* const kSlidingContact = "3 1 0 3 3 3 3 2 0 0 0 2 0 0 0 2 -2 3 4 0.5";
const char* const kIndefinite = "3 1 0 3 3 3 3 -2 0 0 0 2 0 0 0 2 -2 3 4 0.5";

TEST_F(CommandLine, SolversAreListed) {
  const Outcome list = run("solvers");
  EXPECT_EQ(list.exit_code, 0);
  for (const char* part :
       {"name", "model", "algorithm", "reference", "nbgs", "ncp-pgs", "Tsounis et al. 2025, Alg. 4 and 5"}) {
    EXPECT_THAT(list.out, HasSubstr(part));
  }
  EXPECT_THAT(run("solvers -v").out, HasSubstr("relative_tolerance"));
}

TEST_F(CommandLine, SolveCertifies) {
  write("slide.dat", kSlidingContact);
  const Outcome table = run("solve slide.dat --solver nbgs,ncp-pgs");
  EXPECT_EQ(table.exit_code, 0) << table.error;
  EXPECT_THAT(table.out, HasSubstr("slide.dat"));
  EXPECT_THAT(table.out, HasSubstr("solved"));
  EXPECT_THAT(table.out, HasSubstr("ncp-pgs"));

  const Outcome json = run("solve slide.dat --solver nbgs --tol 1e-10 --history --json");
  EXPECT_EQ(json.exit_code, 0);
  const auto result = nlohmann::json::parse(json.out)["results"][0];
  EXPECT_EQ(result["status"], "Solved");
  EXPECT_EQ(result["solved"], true);
  EXPECT_LE(result["natv_relative"].get<double>(), 1e-10);
  EXPECT_EQ(result["history"].size(), result["iterations"].get<std::size_t>());

  const Outcome csv = run("solve . --csv");  // the folder
  EXPECT_EQ(csv.exit_code, 0);
  EXPECT_THAT(csv.out, StartsWith("problem,blocks,rows,solver,solved,"));
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 2);

  fs::create_directory(folder_ / "out");
  EXPECT_EQ(run("solve slide.dat --html out/report.html").exit_code, 0);
  const std::string page = read_file(folder_ / "out/report.html");
  EXPECT_THAT(page, HasSubstr("1 of 1 solved"));
  EXPECT_THAT(page, HasSubstr("slide.dat"));
}

TEST_F(CommandLine, SolveFailsHonestly) {
  write("slide.dat", kSlidingContact);
  write("broken.dat", kIndefinite);
  const Outcome given_up = run("solve slide.dat --solver nbgs --max-iterations 0");
  EXPECT_EQ(given_up.exit_code, 1);
  EXPECT_THAT(given_up.out, HasSubstr("MaxIterations"));
  const Outcome invalid = run("solve . --solver nbgs");
  EXPECT_EQ(invalid.exit_code, 1);
  EXPECT_THAT(invalid.out, HasSubstr("G is indefinite"));
  EXPECT_THAT(invalid.out, HasSubstr("solved"));  // the other one
  expect_error(run("solve slide.dat --solver nbqs"), "choose one of nbgs");
  expect_error(run("solve slide.dat --solver nbgs --option relax=1"), "this solver has max_iterations");
  expect_error(run("solve slide.dat --solver nbgs --option relaxation=3"), "[0, 2]");
  expect_error(run("solve slide.dat --tol 0"), "--tol");
  expect_error(run("solve missing.dat"), "missing.dat");
  expect_error(run("solve slide.dat --json --csv"), "--csv");
  fs::create_directory(folder_ / "empty");
  expect_error(run("solve empty"), "the folder has no problems");
  write("cut.dat", "3 1 0 3 3");
  expect_error(run("solve cut.dat"), "cut.dat");
}

}  // namespace
