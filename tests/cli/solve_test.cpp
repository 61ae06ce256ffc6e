// `touchstone solve`: what a user sees of problems that are invalid, unreadable, slow, infeasible or a little wrong.
#include <sys/stat.h>

#include <chrono>

#include "command_line.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/io/fclib.hpp"

namespace {

using nlohmann::json;
using touchstone::ContactProblem;
using touchstone::FclibForm;

// One contact that slides, in Siconos' text format (normal first), and one whose matrix is indefinite.
const char* const kSliding = "3 1 0 3 3 3 3 2 0 0 0 2 0 0 0 2 -2 3 4 0.5";
const char* const kIndefinite = "3 1 0 3 3 3 3 -2 0 0 0 2 0 0 0 2 -2 3 4 0.5";
// Two contacts that push one body in opposite ways, both approaching: there is no solution.
const char* const kSqueezed =
    "3 2 0 6 6 6 6 "
    "1 0 0 -1 0 0  0 1 0 0 1 0  0 0 1 0 0 1  -1 0 0 1 0 0  0 1 0 0 1 0  0 0 1 0 0 1 "
    "-1 0 0 -1 0 0 0.5 0.5";

json results_of(const Outcome& outcome) { return json::parse(outcome.out)["results"]; }

TEST_F(CommandLine, SolveReferencesNameAuthorsYearAndTitle) {
  const std::string list = run("solvers").out;
  for (const char* part : {"Le Lidec et al. 2024, Alg. 1", "Contact Models in Robotics: a Comparative Analysis",
                           "V. Tsounis, R. Grandia", "(2018): Per-Contact Iteration Method"})
    EXPECT_THAT(list, HasSubstr(part));
  EXPECT_FALSE(std::regex_search(list, std::regex(R"((^|[^0-9,.])00[0-9]\b)"))) << "a number of a document";
}

TEST_F(CommandLine, SolveGivesAnInvalidProblemNoNatv) {
  write("broken.dat", kIndefinite);
  const Outcome outcome = run("solve broken.dat --json");
  EXPECT_EQ(outcome.exit_code, 1);
  const json result = results_of(outcome)[0];
  EXPECT_EQ(result["status"], "InvalidProblem");
  for (const char* figure : {"natv", "natv_relative", "model_natv_relative", "primal_cone", "max_dissipation"}) {
    ASSERT_TRUE(result.contains(figure)) << figure;
    EXPECT_TRUE(result[figure].is_null()) << figure;
  }
  const Outcome table = run("solve broken.dat");
  EXPECT_THAT(table.out, Not(HasSubstr("0.0e+00")));
  const std::string csv = run("solve broken.dat --csv").out;
  EXPECT_THAT(csv, HasSubstr(",,,,,,,,,,,"));
}

TEST_F(CommandLine, SolveGoesOnPastAnUnreadableFile) {
  write("a_slide.dat", kSliding);
  write("b_cut.dat", "3 1 0 3 3");
  write("c_text.hdf5", "no HDF5");
  write("d_empty.h5", "");
  fs::create_symlink("nowhere", folder_ / "e_link.dat");
  ASSERT_EQ(mkfifo((folder_ / "f_pipe.dat").c_str(), 0600), 0);
  fs::create_directory(folder_ / "g_folder.dat");
  write("h_slide.dat", kSliding);
  const Outcome outcome = run("solve . --json");
  EXPECT_EQ(outcome.exit_code, 2);
  const json all = json::parse(outcome.out);
  EXPECT_EQ(all["results"].size(), 2U);
  for (const json& result : all["results"]) EXPECT_EQ(result["solved"], true);
  ASSERT_EQ(all["unreadable"].size(), 5U);
  for (const json& item : all["unreadable"]) EXPECT_FALSE(item["message"].get<std::string>().empty());
  const Outcome table = run("solve .");
  EXPECT_EQ(table.exit_code, 2);
  EXPECT_THAT(table.out, HasSubstr("unreadable"));
  EXPECT_THAT(table.out, HasSubstr("h_slide.dat"));
  const std::string csv = run("solve . --csv").out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 8);
  EXPECT_EQ(run("solve . --html report.html").exit_code, 2);
  EXPECT_THAT(read_file(folder_ / "report.html"), HasSubstr("unreadable"));
  EXPECT_EQ(outcome.error, "") << "HDF5 must not be heard";
}

TEST_F(CommandLine, SolveStopsAtTheTimeLimit) {
  const ContactProblem pile = touchstone::make_pile(2000, 3, 1e4);
  write_fclib(folder_ / "pile.hdf5", {pile, "", "", "", {}}, FclibForm::kLocal);
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome =
      run("solve pile.hdf5 --json --time-limit 0.2 --max-iterations 1000000 --tol 1e-13 --solver "
          "auto,nbgs,ncp-pgs,ncp-prox,ncp-admm,ccp-pgs,lcp-pgs,raisim,lcp-staggered");
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_LT(seconds, 60.0);
  int limited = 0;
  for (const json& result : results_of(outcome)) {
    const std::string status = result["status"];
    EXPECT_TRUE(status == "TimeLimit" || status == "Stalled" || status == "Solved") << result["solver"] << status;
    limited += status == "TimeLimit" ? 1 : 0;
    if (status == "TimeLimit") {
      EXPECT_FALSE(result["natv"].is_null());
      EXPECT_GE(result["seconds"].get<double>(), 0.2);
    }
  }
  EXPECT_GE(limited, 7);
  expect_error(run("solve pile.hdf5 --time-limit -1"), "--time-limit");
}

TEST_F(CommandLine, SolveShowsInfeasible) {
  write("squeezed.dat", kSqueezed);
  write("slide.dat", kSliding);
  const json results = results_of(run("solve . --json"));
  EXPECT_EQ(results[0]["infeasible"], false);
  EXPECT_EQ(results[1]["infeasible"], true);
  EXPECT_GT(results[1]["shift"].get<double>(), 0.0);
  EXPECT_THAT(run("solve squeezed.dat").out, HasSubstr("infeasible"));
}

TEST_F(CommandLine, SolveWritesImpulses) {
  write("slide.dat", kSliding);
  write("broken.dat", kIndefinite);
  EXPECT_EQ(run("solve . --solver auto,nbgs --impulses x.json").exit_code, 1);
  const json answers = json::parse(read_file(folder_ / "x.json"))["answers"];
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_FALSE(answers[0].contains("impulse"));  // of the invalid problem
  const json answer = answers[2];
  EXPECT_EQ(answer["solver"], "auto");
  EXPECT_EQ(answer["component"], json::parse(R"(["t1", "t2", "n"])"));
  // The normal impulse is 2 / 2, friction half of that against the sliding (3, 4).
  const double expected[] = {-0.3, -0.4, 1.0};
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(answer["impulse"][k].get<double>(), expected[k], 1e-8);
  EXPECT_NEAR(answer["velocity"][2].get<double>(), 0.0, 1e-8);
  EXPECT_EQ(run("solve slide.dat --impulses x.csv").exit_code, 0);
  const std::string csv = read_file(folder_ / "x.csv");
  EXPECT_THAT(csv, StartsWith("problem,solver,status,block,type,component,impulse,velocity\nslide.dat,auto,Solved,0,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
  expect_error(run("solve slide.dat --impulses x.txt"), ".json or .csv");
}

TEST_F(CommandLine, SolveWarnsOfAnUnsymmetricMatrix) {
  // Skew part 0.05 of 2.
  write("skew.dat", "3 1 0 3 3 3 3 2 0 0 0 2 0.05 0 -0.05 2 -2 3 4 0.5");
  const Outcome outcome = run("solve skew.dat --solver auto,nbgs --json");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.error, HasSubstr("skew.dat: G is not symmetric: its skew part is 2.5 %"));
  EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1);
  EXPECT_THAT(results_of(outcome)[0]["warning"].get<std::string>(), HasSubstr("2.5 %"));
  write("skew.dat", "3 1 0 3 3 3 3 2 0 0 0 2 0.5 0 -0.5 2 -2 3 4 0.5");
  const Outcome refused = run("solve skew.dat");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.out, HasSubstr("not symmetric"));
}

}  // namespace
