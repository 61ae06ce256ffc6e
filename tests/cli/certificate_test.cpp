// What run, compare and demo say about the truth of a run: checks over all steps, exit codes, the final state, and what
// is left when the user ends them early.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <map>
#include <thread>
#include <vector>

#include "command_line.hpp"
#include "touchstone/record/recording.hpp"

namespace {

using nlohmann::json;

// A box that starts `depth` metres inside the floor. It is out of it long before half of a run is over.
std::string sunk_box(double depth, const std::string& attributes = "") {
  return "<mujoco><worldbody><geom name='floor' type='plane' size='5 5 .1'/><body name='b' pos='0 0 " +
         std::to_string(0.05 - depth) + "'><freejoint name='free'/><geom name='box' type='box' size='.05 .05 .05' " +
         attributes + "/></body></worldbody></mujoco>";
}

const json* check_of(const json& figures, const std::string& start) {
  for (const json& check : figures["checks"]) {
    if (check["name"].get<std::string>().rfind(start, 0) == 0) return &check;
  }
  return nullptr;
}

class Certificate : public CommandLine {
 protected:
  // Starts the program with its output in files.
  pid_t start(std::vector<std::string> arguments) const {
    const pid_t child = fork();
    if (child != 0) return child;
    if (chdir(folder_.c_str()) != 0) _exit(126);
    dup2(open("out.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644), STDOUT_FILENO);
    dup2(open("err.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644), STDERR_FILENO);
    arguments.insert(arguments.begin(), "touchstone");
    std::vector<char*> words;
    words.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    execv(binary_.c_str(), words.data());
    _exit(127);
  }
  // Until the file has so many bytes.
  void wait_for(const std::string& file, std::size_t size) const {
    std::error_code none;
    for (int i = 0; i < 1200 && !(fs::exists(folder_ / file) && fs::file_size(folder_ / file, none) >= size); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::string out() const { return read_file(folder_ / "out.txt"); }
};

int wait_status(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(Certificate, RunFailsWhenAnyStepIsTooDeep) {
  write("sunk.xml", sunk_box(0.018));
  const Outcome outcome = run("run sunk.xml --time 1");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("FAILED: penetration: deepest of all steps, 18 times the limit"));
  EXPECT_THAT(outcome.out, HasSubstr("'floor'"));
  EXPECT_THAT(outcome.out, HasSubstr("0.018 m"));
  EXPECT_EQ(run("run sunk.xml --time 1 --lenient").exit_code, 0);
  EXPECT_THAT(run("run sunk.xml --time 1 --lenient").out, HasSubstr("FAILED: penetration"));
  EXPECT_EQ(run("run sunk.xml --time 1 --quiet").exit_code, 1);
  write("shallow.xml", sunk_box(0.0005));
  const Outcome good = run("run shallow.xml --time 1");
  EXPECT_EQ(good.exit_code, 0) << good.out;
  EXPECT_THAT(good.out, Not(HasSubstr("FAILED")));
}

TEST_F(Certificate, RunJsonHasTheChecks) {
  write("sunk.xml", sunk_box(0.018));
  const Outcome outcome = run("run sunk.xml --time 1 --json");
  EXPECT_EQ(outcome.exit_code, 1);
  const json figures = json::parse(outcome.out);
  EXPECT_EQ(figures["passed"], false);
  EXPECT_EQ(figures["interrupted"], false);
  const json* depth = check_of(figures, "penetration");
  ASSERT_NE(depth, nullptr);
  EXPECT_NEAR((*depth)["value"].get<double>(), 0.018, 1e-9);
  EXPECT_EQ((*depth)["passed"], false);
  EXPECT_LT((*depth)["limit"].get<double>(), 0.01);
  EXPECT_LT(figures["penetration_second_half"].get<double>(), 0.001);
  for (const char* other : {"natv", "steps not solved", "limits"}) {
    ASSERT_NE(check_of(figures, other), nullptr) << other;
    EXPECT_EQ((*check_of(figures, other))["passed"], true) << other;
  }
}

TEST_F(Certificate, EveryCheckCanFailTheRun) {
  write("loop.xml",
        "<mujoco><worldbody><body name='b' pos='0 0 1'><freejoint/><geom size='.1'/></body></worldbody>"
        "<equality><connect body1='b' anchor='0 0 0'/></equality><keyframe>"
        "<key name='open' qpos='.5 0 1 1 0 0 0'/></keyframe></mujoco>");
  const json open = json::parse(run("run loop.xml --time 0.5 --keyframe open --json").out);
  EXPECT_EQ((*check_of(open, "limits"))["passed"], false);
  // Convex cones lift a sliding cube off; one iteration solves nothing.
  EXPECT_EQ(run("run cube-slide --time 0.2 --solver ccp-admm -q").exit_code, 1);
  EXPECT_EQ(run("run cube-slide --time 0.2 --solver ccp-admm --lenient -q").exit_code, 0);
  const json lazy = json::parse(run("run stack:5 --time 0.1 --solver ncp-pgs --option max_iterations=1 --json").out);
  EXPECT_EQ((*check_of(lazy, "steps not solved"))["passed"], false);
}

TEST_F(Certificate, DivergedRunSaysWhen) {
  write("push.yaml", "model: box.xml\nduration: 1\npushes:\n  - {body: b, force: [1.0e+308, 0, 0], from: 0.1}\n");
  write("box.xml", sunk_box(0.0, "density='1'"));
  const Outcome outcome = run("run push.yaml --json --lenient");
  EXPECT_EQ(outcome.exit_code, 1) << "a run that diverged is no matter of leniency";
  const json figures = json::parse(outcome.out);
  EXPECT_EQ(figures["diverged"], true);
  const double time = figures["final"]["time"].get<double>();
  EXPECT_GE(time, 0.09);
  EXPECT_LT(time, 0.2);
  char when[32];
  std::snprintf(when, sizeof when, "(%.4g s)", time);
  EXPECT_THAT(figures["first_trouble"].get<std::string>(), HasSubstr(when));
}

TEST_F(Certificate, RunJsonHasTheFinalStateAndTheStepThatWasUsed) {
  write("box.xml", sunk_box(0.0));
  for (const std::string& options : {std::string(), std::string("--step 0.004"), std::string("--option substeps=2")}) {
    const Outcome outcome = run("run box.xml --time 0.2 --record run.h5 --json " + options);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
    const json figures = json::parse(outcome.out);
    const touchstone::Recording recording(folder_ / "run.h5");
    const touchstone::State end = recording.state(recording.rows() - 1);
    EXPECT_EQ(figures["time_step"].get<double>(), recording.time_step());
    EXPECT_GT(figures["time_step"].get<double>(), 0.0);
    EXPECT_EQ(std::stod(figures["options"]["time_step"].get<std::string>()), recording.time_step());
    EXPECT_EQ(figures["solver"], "auto");
    EXPECT_EQ(figures["integrator"], "euler");
    EXPECT_EQ(figures["final"]["time"].get<double>(), end.time);
    const auto q = figures["final"]["q"].get<std::vector<double>>(),
               v = figures["final"]["v"].get<std::vector<double>>();
    ASSERT_EQ(q.size(), 7U);
    ASSERT_EQ(v.size(), 6U);
    for (int i = 0; i < 7; ++i) EXPECT_EQ(q[static_cast<std::size_t>(i)], end.q[i]);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(v[static_cast<std::size_t>(i)], end.v[i]);
  }
}

TEST_F(Certificate, RunShowsLoadingWarnings) {
  write("typo.xml", sunk_box(0.0, "mas='7' frictoin='0.1'"));
  for (const char* command :
       {"run typo.xml --time 0.01", "run typo.xml --time 0.01 -q", "run typo.xml --time 0.01 --json",
        "compare typo.xml --solvers auto --time 0.01", "run typo.xml --ground --time 0.01"}) {
    const Outcome outcome = run(command);
    EXPECT_THAT(outcome.error, HasSubstr("touchstone: warning: ")) << command;
    EXPECT_THAT(outcome.error, HasSubstr("'mas'")) << command;
    EXPECT_THAT(outcome.error, HasSubstr("'frictoin'")) << command;
    EXPECT_THAT(outcome.out, Not(HasSubstr("frictoin"))) << command;
  }
  EXPECT_THAT(run("view typo.xml --html typo.html --time 0.01").error, HasSubstr("'frictoin'"));
  std::string many;
  for (int i = 0; i < 50; ++i)
    many += "<geom name='g" + std::to_string(i) + "' size='.1' mas" + std::to_string(i) + "='1' pos='9 9 9'/>";
  write("many.xml", "<mujoco><worldbody>" + many + "</worldbody></mujoco>");
  const Outcome outcome = run("run many.xml --time 0.01");
  EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 21) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr("and 30 more"));
}

TEST_F(Certificate, InterruptedRunWritesWhatWasDone) {
  const bool page = run("view pendulum --html probe.html --time 0.01").exit_code == 0;
  for (const int signal : {SIGINT, SIGTERM}) {
    fs::remove(folder_ / "run.h5");
    std::vector<std::string> words{"run", "stack:5", "--time", "1000", "--record", "run.h5", "--csv", "tables"};
    if (page) words.insert(words.end(), {"--html", "run.html"});
    const pid_t child = start(words);
    ASSERT_GT(child, 0);
    wait_for("run.h5", 300'000);
    kill(child, signal);
    const int status = wait_status(child);
    ASSERT_TRUE(WIFEXITED(status)) << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 130);
    for (const char* part : {"interrupted at ", "of 1000 s", "certificate, worst", "penetration: deepest of all steps"})
      EXPECT_THAT(out(), HasSubstr(part));
    const touchstone::Recording recording(folder_ / "run.h5");
    EXPECT_TRUE(recording.complete());
    EXPECT_GT(recording.rows(), 15U);
    const std::string table = read_file(folder_ / "tables" / "steps.csv");
    EXPECT_EQ(static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n')), recording.rows() + 1);
    if (!page) continue;
    EXPECT_THAT(read_file(folder_ / "run.html"), HasSubstr("interrupted at"));
  }
}

TEST_F(Certificate, InterruptedRunHasItsJson) {
  const pid_t child = start({"run", "stack:5", "--time", "1000", "--record", "run.h5", "--json"});
  wait_for("run.h5", 300'000);
  kill(child, SIGINT);
  EXPECT_EQ(WEXITSTATUS(wait_status(child)), 130);
  const json figures = json::parse(out());
  EXPECT_EQ(figures["interrupted"], true);
  EXPECT_GT(figures["final"]["time"].get<double>(), 0.0);
}

TEST_F(Certificate, InterruptedCompareWritesWhatWasDone) {
  const pid_t child = start({"compare", "stack:2", "--solvers", "auto,nbgs", "--time", "1000", "--html", "c.html"});
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  kill(child, SIGINT);
  const int status = wait_status(child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_THAT(out(), HasSubstr("auto"));
  EXPECT_THAT(out(), HasSubstr("interrupted: 1 of 2 runs are missing, the last one ended at "));
  EXPECT_THAT(read_file(folder_ / "c.html"), HasSubstr("</html>"));
}

// The second Ctrl-C ends a program that does not come to the end of a step.
TEST_F(Certificate, SecondInterruptEndsAtOnce) {
  // A step of a million parts takes most of a minute.
  const pid_t child = start({"run", "stack:8", "--time", "1000", "--record", "run.h5", "--option", "substeps=1000000"});
  wait_for("run.h5", 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  kill(child, SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WNOHANG), 0) << "it is still in its step";
  kill(child, SIGINT);
  status = wait_status(child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_F(Certificate, DemoJudgesItsWholeRun) {
  const Outcome outcome = run("demo");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("penetration: deepest of all steps"));
  EXPECT_THAT(outcome.out, HasSubstr("all checks passed"));
}

TEST_F(Certificate, CompareNamesFailedChecks) {
  const Outcome outcome = run("compare cube-slide --solvers auto,ccp-admm --time 0.2");
  EXPECT_EQ(outcome.exit_code, 0) << "that a simpler law fails is what a comparison shows";
  EXPECT_THAT(outcome.out, HasSubstr("failed checks"));
  EXPECT_THAT(outcome.out, HasSubstr("natv, relative"));
  EXPECT_EQ(run("compare cube-slide --solvers auto,ccp-admm --time 0.2 --strict").exit_code, 1);
  EXPECT_EQ(run("compare cube-slide --solvers auto,nbgs --time 0.2 --strict").exit_code, 0);
  const json runs = json::parse(run("compare cube-slide --solvers auto,ccp-admm --time 0.2 --json").out)["runs"];
  EXPECT_EQ(runs[0]["passed"], true);
  EXPECT_EQ(runs[1]["passed"], false);
  EXPECT_EQ((*check_of(runs[1], "natv"))["passed"], false);
}

TEST_F(Certificate, HelpNamesTheExitCodes) {
  for (const char* command : {"run --help", "compare --help"}) {
    const Outcome outcome = run(command);
    EXPECT_THAT(outcome.out, HasSubstr("Exit codes:"));
    EXPECT_THAT(outcome.out, HasSubstr("130"));
  }
  EXPECT_THAT(run("run --help").out, HasSubstr("--lenient"));
}

// --- the plots of a report ---------------------------------------------------------------------------------------

// The drawing with this title.
std::string drawing_of(const std::string& page, const std::string& title) {
  const std::size_t name = page.find("aria-label='" + title + "'");
  if (name == std::string::npos) return {};
  return page.substr(name, page.find("</svg>", name) - name);
}

// Labels of the y axis and where they are.
std::map<std::string, double> y_ticks(const std::string& drawing) {
  std::map<std::string, double> ticks;
  const std::regex tick("text-anchor='end' x='[^']*' y='([0-9.]+)'>([^<]+)<");
  for (std::sregex_iterator it(drawing.begin(), drawing.end(), tick), none; it != none; ++it)
    ticks[(*it)[2]] = std::stod((*it)[1]) - 4.0;
  return ticks;
}

// The highest point of the curve of a series: the smallest y of its path.
double highest_point(const std::string& drawing, int series) {
  const std::size_t start = drawing.rfind("<g class='series-" + std::to_string(series) + "'>");
  const std::string path = drawing.substr(start, drawing.find("</g>", start) - start);
  double highest = 1e9;
  const std::regex point("[ML]([0-9.]+) ([0-9.]+)");
  for (std::sregex_iterator it(path.begin(), path.end(), point), none; it != none; ++it)
    highest = std::min(highest, std::stod((*it)[2]));
  return highest;
}

TEST_F(Certificate, PlotsKeepThePeaks) {
  write("sunk.xml", sunk_box(0.018));
  ASSERT_EQ(run("compare sunk.xml --solvers auto,nbgs --time 20 --html c.html").exit_code, 0);
  const std::string drawing = drawing_of(read_file(folder_ / "c.html"), "Penetration");
  const std::map<std::string, double> ticks = y_ticks(drawing);
  ASSERT_TRUE(ticks.count("0") == 1 && ticks.count("20") == 1) << drawing.substr(0, 2000);
  const double slope = 20.0 / (ticks.at("20") - ticks.at("0"));
  for (const int series : {1, 2})
    EXPECT_NEAR(slope * (highest_point(drawing, series) - ticks.at("0")), 18.0, 0.1) << "mm, of 10,000 steps";
}

TEST_F(Certificate, LogAxesHaveRealNumbersAndAutoIsOnTop) {
  ASSERT_EQ(run("compare stack:3 --solvers auto,ncp-admm,nbgs,ccp-admm,raisim --time 0.5 --html c.html").exit_code, 0);
  const std::string page = read_file(folder_ / "c.html");
  EXPECT_THAT(page, Not(HasSubstr("log10")));
  const std::map<std::string, double> natv = y_ticks(drawing_of(page, "Certificate"));
  ASSERT_GE(natv.size(), 2U);
  for (const auto& [label, place] : natv) EXPECT_TRUE(label.rfind("10", 0) == 0 || label[0] == '1') << label;
  for (const auto& [label, place] : y_ticks(drawing_of(page, "Time of the solver")))
    EXPECT_GT(std::stod(label), 0.0) << "microseconds";
  for (const char* title :
       {"Total energy", "Certificate", "Penetration", "Iterations of a step", "Time of the solver"}) {
    const std::string drawing = drawing_of(page, title);
    const std::size_t first = drawing.rfind("<g class='series-1'>");
    for (int other = 2; other <= 5; ++other)
      EXPECT_LT(drawing.rfind("<g class='series-" + std::to_string(other) + "'>"), first) << title;
    // Whatever lies exactly below it is wider, and so seen.
    EXPECT_THAT(drawing.substr(first, 60), HasSubstr("stroke-width='1.6'"));
  }
}

}  // namespace
