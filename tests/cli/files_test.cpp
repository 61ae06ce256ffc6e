// Files and names as users give them to the program: odd places, odd bytes, nothing lost.
#include <sys/stat.h>

#include <cstdint>

#include "command_line.hpp"
#include "touchstone/base/printable.hpp"

namespace {

constexpr const char* kBall = R"(<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/>
  <body name='ball' pos='0 0 0.2'><freejoint/><geom name='skin' size='0.1' mass='1'/></body></worldbody></mujoco>)";
constexpr const char* kQuick = " --time 0.02 ";

class OddFiles : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    if (!folder_.empty()) write("ball.xml", kBall);
  }
  // Everything in the working folder but what the tests made.
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name != "stderr.txt" && name != "ball.xml") list.push_back(name);
    }
    return list;
  }
};

bool is_plain(const std::string& text) { return touchstone::printable_lines(text) == text; }

TEST_F(OddFiles, DevicesAndLinksAreWrittenThrough) {
  const Outcome null = run(std::string("run ball.xml --html /dev/null") + kQuick);
  EXPECT_EQ(null.exit_code, 0) << null.error;
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(run(std::string("compare ball.xml --solvers auto,nbgs --html /dev/null") + kQuick).exit_code, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  const fs::path real = write("real.html", "old");
  fs::create_symlink("real.html", folder_ / "link.html");
  fs::permissions(real, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(run(std::string("run ball.xml -q --html link.html") + kQuick).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.html"));
  EXPECT_GT(fs::file_size(real), 1000U);
  EXPECT_EQ(fs::status(real).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const Outcome out = run(std::string("run ball.xml -q --html /dev/stdout") + kQuick);
  EXPECT_EQ(out.exit_code, 0) << out.error;
  EXPECT_THAT(out.out, StartsWith("<!"));
  const Outcome full = run(std::string("run ball.xml -q --html /dev/full") + kQuick);
  expect_error(full, "space");
}

TEST_F(OddFiles, FoldersAreNotMade) {
  for (const char* arguments :
       {"run ball.xml --html no/x.html", "run ball.xml --record no/x.h5", "run ball.xml --csv no/x",
        "view ball.xml --html no/x.html", "view ball.xml --png no/x.png", "view ball.xml --mp4 no/x.mp4",
        "compare ball.xml --solvers auto --html no/x.html", "demo --out no/x.html"}) {
    const Outcome outcome = run(arguments);
    expect_error(outcome, "there is no folder 'no'");
    EXPECT_THAT(outcome.error, HasSubstr("make it first"));
  }
  EXPECT_THAT(names(), testing::IsEmpty());
  EXPECT_EQ(run(std::string("run ball.xml -q --csv tables") + kQuick).exit_code, 0) << "the folder itself is made";
  EXPECT_TRUE(fs::exists(folder_ / "tables" / "steps.csv"));
}

// Long runs that could not write their result end before they begin.
TEST_F(OddFiles, ClashesAreRefusedBeforeTheRun) {
  fs::create_symlink("a.html", folder_ / "link");
  fs::create_symlink("ball.xml", folder_ / "same.xml");
  fs::create_directory(folder_ / "tables");
  fs::create_symlink("steps.csv", folder_ / "tables" / "contacts.csv");
  for (const char* arguments :
       {"run ball.xml --html a.html --record a.html", "run ball.xml --html a.html --record ./a.html",
        "run ball.xml --html a.html --record link", "run ball.xml --html ball.xml", "run ball.xml --record same.xml",
        "run ball.xml --csv tables --html tables/steps.csv", "run ball.xml --csv tables",
        "view ball.xml --html a.html --png tables/../a.html", "view ball.xml --html ./ball.xml",
        "compare ball.xml --solvers auto --html ball.xml", "run ball.xml --html tables"}) {
    const Outcome outcome = run(std::string(arguments) + " --time 600");
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.error, testing::AnyOf(HasSubstr("are the same file"), HasSubstr("this is a folder")))
        << arguments;
  }
  EXPECT_EQ(read_file(folder_ / "ball.xml"), kBall);
}

TEST_F(OddFiles, PipesAndDevicesAreNotRead) {
  ASSERT_EQ(mkfifo((folder_ / "pipe.xml").c_str(), 0600), 0);
  for (const char* name : {"pipe.urdf", "pipe.yaml", "pipe.h5", "pipe.stl", "pipe.obj", "pipe.png", "pipe.dae"})
    fs::create_symlink("pipe.xml", folder_ / name);
  write("include.xml", "<mujoco><include file='pipe.xml'/></mujoco>");
  write("scene.yaml", "model: pipe.xml\n");
  for (const char* mesh : {"pipe.stl", "pipe.obj", "pipe.dae"}) {
    write(std::string(mesh) + ".xml", std::string("<mujoco><asset><mesh name='m' file='") + mesh +
                                          "'/></asset><worldbody><geom type='mesh' mesh='m'/></worldbody></mujoco>");
    write(std::string(mesh) + ".urdf",
          std::string("<robot name='r'><link name='l'><collision><geometry><mesh filename='") + mesh +
              "'/></geometry></collision></link></robot>");
  }
  write("field.xml",
        "<mujoco><asset><hfield name='f' file='pipe.png' size='1 1 1 1'/></asset><worldbody><geom "
        "type='hfield' hfield='f'/></worldbody></mujoco>");
  for (const char* arguments :
       {"info pipe.xml", "info pipe.urdf", "run pipe.yaml", "view pipe.h5 --html x.html", "export pipe.h5 --csv t",
        "solve pipe.h5", "info include.xml", "run scene.yaml", "info pipe.stl.xml", "info pipe.obj.xml",
        "info pipe.dae.xml", "info pipe.stl.urdf", "info pipe.obj.urdf", "info pipe.dae.urdf", "info field.xml",
        "info /dev/zero", "solve /dev/zero", "export /dev/zero --csv t", "run /dev/random"}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.error, HasSubstr("not a regular file")) << arguments;
  }
}

TEST_F(OddFiles, FilesThatAreTooLargeAreNotRead) {
  for (const char* name : {"huge.xml", "huge.urdf", "huge.yaml", "huge.h5", "huge.dat"}) {
    write(name, "");
    fs::resize_file(folder_ / name, std::uintmax_t{1} << 40U);
  }
  for (const char* arguments :
       {"info huge.xml", "info huge.urdf", "run huge.yaml", "export huge.h5 --csv t", "solve huge.dat"})
    EXPECT_THAT(run(arguments).error, HasSubstr("may have")) << arguments;
}

TEST_F(OddFiles, RecordingsPointToTheirCommands) {
  ASSERT_EQ(run(std::string("run ball.xml -q --record run.h5") + kQuick).exit_code, 0);
  fs::copy_file(folder_ / "run.h5", folder_ / "run.xml");
  for (const char* arguments : {"info run.h5", "run run.h5", "info run.xml"}) {
    const Outcome outcome = run(arguments);
    expect_error(outcome, "touchstone view ");
    EXPECT_THAT(outcome.error, HasSubstr("touchstone export "));
  }
  EXPECT_EQ(run("view run.xml --html x.html").exit_code, 0) << "known by its content";
}

TEST_F(OddFiles, DamagedRecordingsSaySoAndExitNonZero) {
  ASSERT_EQ(run("run ball.xml -q --time 1 --record run.h5").exit_code, 0);
  const std::string bytes = read_file(folder_ / "run.h5");
  write("cut.h5", bytes.substr(0, bytes.size() * 8 / 10));
  for (const char* arguments : {"export cut.h5 --csv t", "view cut.h5 --html x.html"}) {
    const Outcome outcome = run(arguments);
    EXPECT_NE(outcome.exit_code, 0) << arguments;
    EXPECT_THAT(outcome.error, testing::AllOf(HasSubstr("cut.h5"), HasSubstr("damaged"))) << arguments;
  }
}

// A name that is not UTF-8 and tries to change the terminal: bodies, joints, files and words of the command line.
TEST_F(OddFiles, NamesAreSafeToPrint) {
  const std::string evil = "\x1b[2J\x1b]0;t\a\xff\xc2\x9b";
  write("evil.xml", "<mujoco model='" + evil + "'><worldbody><body name='b" + evil + "'><joint name='j" + evil +
                        "'/><geom name='g" + evil + "' size='0.1'/></body></worldbody><actuator><motor name='a" + evil +
                        "' joint='j" + evil + "'/></actuator></mujoco>");
  write("bad.xml",
        "<mujoco><worldbody><body name='" + evil + "'><joint type='" + evil + "'/></body></worldbody></mujoco>");
  fs::copy_file(folder_ / "evil.xml", folder_ / (evil.substr(0, 3) + "\xff.xml"));
  for (const char* arguments :
       {"info evil.xml", "info -v evil.xml", "run evil.xml --time 0.01", "compare evil.xml --solvers auto --time 0.01",
        "info bad.xml", "info -v bad.xml", "info \"$(printf '\\033[2\\377.xml')\"", "run \"$(printf 'x\\033[2J')\"",
        "run evil.xml --solver \"$(printf '\\033[2J')\"", "run evil.xml \"$(printf -- '--\\033[2J\\377')\"",
        "run evil.xml -q --time 0.01 --html \"$(printf 'no\\033/x')\"", "view evil.xml --html x.html --time 0.01",
        "run evil.xml --time 0.01 --record \"$(printf 'r\\033.h5')\""}) {
    const Outcome outcome = run(arguments);
    EXPECT_LE(outcome.exit_code, 2) << arguments;
    EXPECT_TRUE(is_plain(outcome.out)) << arguments << "\n" << outcome.out;
    EXPECT_TRUE(is_plain(outcome.error)) << arguments << "\n" << outcome.error;
  }
  for (const char* arguments :
       {"info evil.xml --json", "run evil.xml --json --time 0.01", "compare evil.xml --solvers auto --time 0.01 --json",
        "run \"$(printf '\\033[2\\377.xml')\" --json --time 0.01"}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos) << arguments;
    EXPECT_TRUE(nlohmann::json::accept(outcome.out)) << arguments << outcome.error;
  }
  ASSERT_EQ(run("compare evil.xml --solvers auto --time 0.01 --html page.html").exit_code, 0);
  EXPECT_EQ(read_file(folder_ / "page.html").find('\x1b'), std::string::npos);
  EXPECT_EQ(read_file(folder_ / "page.html").find('\xff'), std::string::npos);
}

// A token is in no word of the browser's command, which every user of the machine can read. The pretended browser ends
// the viewer when it has seen enough.
TEST_F(OddFiles, TheTokenIsNotOnACommandLine) {
  write("xdg-open", "#!/bin/sh\necho \"$@\" > \"$SEEN\"\ncat \"$1\" >> \"$SEEN\" 2>&1\nkill -TERM \"$PPID\"\n");
  fs::permissions(folder_ / "xdg-open", fs::perms::owner_all);
  const std::string environment =
      "PATH='" + folder_.string() + "':\"$PATH\" DISPLAY=:0 SEEN='" + folder_.string() + "/seen' timeout 120 ";
  const Outcome outcome = run("view ball.xml --token", environment);
  if (outcome.error.find("no viewer page") != std::string::npos) GTEST_SKIP() << "web/ was not built before";
  const std::string seen = read_file(folder_ / "seen");
  const std::string command = seen.substr(0, seen.find('\n'));
  EXPECT_THAT(command, HasSubstr("open.html"));
  EXPECT_THAT(command, Not(HasSubstr("token")));
  EXPECT_THAT(seen, HasSubstr("?token=")) << "the file leads there";
  EXPECT_FALSE(fs::exists(command)) << "and is gone in the end";
  EXPECT_EQ(run("view ball.xml", environment).error, "");
  EXPECT_THAT(read_file(folder_ / "seen"), StartsWith("http://127.0.0.1:")) << "without a token there is no secret";
}

TEST_F(OddFiles, NumbersThatCannotFitAreRefused) {
  for (const char* arguments :
       {"run ball.xml --time 1000000 --step 0.000001", "run pile:200 --time 1000000 --html x.html",
        "run ball.xml --option threads=1000000", "run ball.xml --every 0", "run ball.xml --every 99999999999",
        "run ball.xml --time nan", "run ball.xml --time 1e400", "view ball.xml --html x.html --time 1e9",
        "view ball.xml --port 70000", "run pile:99999999"}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.error, StartsWith("touchstone: error: ")) << arguments;
  }
  EXPECT_THAT(names(), testing::IsEmpty());
}

TEST_F(OddFiles, ASecondRecorderIsRefused) {
  const std::string program = "'" + binary_.string() + "' run ball.xml -q --record run.h5 ";
  const Outcome outcome =
      run("--version; " + program + "--time 1000000 & first=$!; for i in $(seq 100); do [ -s run.h5 ] " +
          "&& break; sleep 0.1; done; sleep 0.3; " + program + "--time 0.01 2>second.txt; code=$?; " +
          "kill -9 $first; exit $code");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(read_file(folder_ / "second.txt"), HasSubstr("is writing this recording"));
  EXPECT_EQ(run("run ball.xml -q --time 0.01 --record run.h5").exit_code, 0) << "the lock ended with its process";
}

}  // namespace
