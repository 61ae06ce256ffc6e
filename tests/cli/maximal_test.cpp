// --maximal: scenes and models in maximal coordinates from the command line.
#include <cmath>

#include "command_line.hpp"

namespace {

using nlohmann::json;

TEST_F(CommandLine, MaximalRunsInfosAndViews) {
  for (const char* command : {"run", "view", "info"}) {
    EXPECT_THAT(run(std::string(command) + " --help").out, HasSubstr("--maximal")) << command;
  }
  const Outcome info = run("info loops/four-bar --maximal --json");
  ASSERT_EQ(info.exit_code, 0) << info.error;
  const json reduced = json::parse(run("info loops/four-bar --json").out), maximal = json::parse(info.out);
  EXPECT_EQ(reduced["nv"], 3);
  EXPECT_EQ(maximal["nv"], 18);
  EXPECT_EQ(maximal["loop_joints"].size(), reduced["loop_joints"].size() + 3);

  const std::string arguments = "run loops/four-bar --step 0.001 --time 0.2 --option loops=closed --json ";
  const Outcome a = run(arguments), b = run(arguments + "--maximal");
  ASSERT_EQ(a.exit_code, 0) << a.error;
  ASSERT_EQ(b.exit_code, 0) << b.error;
  const json one = json::parse(a.out), other = json::parse(b.out);
  EXPECT_EQ(other["status"]["ok"], 200);
  EXPECT_LT(one["final"]["v"].size(), other["final"]["v"].size());
  EXPECT_NEAR(one["energy"]["last"].get<double>(), other["energy"]["last"].get<double>(),
              2e-3 * std::abs(one["energy"]["last"].get<double>()));
  EXPECT_THAT(run("run loops/four-bar --time 0.02 --maximal").out, HasSubstr("maximal coordinates"));

  const Outcome view = run("view loops/four-bar --maximal --html page.html --time 0.05");
  if (view.exit_code == 0) {
    EXPECT_TRUE(fs::exists(folder_ / "page.html"));
  } else {
    EXPECT_THAT(view.error, HasSubstr("npm run build")) << "built without web/";
  }
  EXPECT_EQ(run("run quadruped --maximal --hold --time 0.05 -q").exit_code, 0) << "servos, contacts and a hold";
}

TEST_F(CommandLine, MaximalSaysWhatItCannotDo) {
  write("tendon.xml",
        "<mujoco><worldbody><body name='b'><joint name='j'/><geom size='.1'/></body></worldbody>"
        "<tendon><fixed name='rope'><joint joint='j' coef='1'/></fixed></tendon></mujoco>");
  for (const char* command : {"run", "info", "view --html page.html"})
    expect_error(run(std::string(command) + " tendon.xml --maximal"), "tendons act on joints of trees");
  write("skew.xml",
        "<mujoco><worldbody><body name='arm'><joint name='a' axis='1 0 0'/><joint name='b' axis='1 1 0'/>"
        "<geom size='.1'/></body></worldbody></mujoco>");
  expect_error(run("run skew.xml --maximal"), "'arm'");
  ASSERT_EQ(run("run stack:2 --time 0.02 --record run.h5 -q").exit_code, 0);
  expect_error(run("view run.h5 --maximal --html page.html"), "--maximal");
}

}  // namespace
