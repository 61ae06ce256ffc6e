// touchstone bench: the list of suites, a small run as table, JSON, page and FCLIB files, and what it refuses.
#include <filesystem>

#include "command_line.hpp"

namespace {

TEST_F(CommandLine, BenchListsItsSuites) {
  const Outcome outcome = run("bench");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("loops"));
  EXPECT_THAT(run("bench --help").out, HasSubstr("Examples:"));
}

TEST_F(CommandLine, BenchRefusesWhatItDoesNotKnow) {
  expect_error(run("bench frobnicate"), "loops");
  expect_error(run("bench loops --system loops/frobnicate"), "loops/walker");
  expect_error(run("bench loops --system loops/table --export /proc/nowhere/problems"), "--export");
  expect_error(run("bench loops --system loops/table --html /nonexistent/page.html"), "/nonexistent");
  write("other.json", "{\"suite\": \"other\"}");
  expect_error(run("bench loops --from other.json"), "other.json");
  write("broken.json", "{\"suite\": \"loops\", \"systems\": [{}]}");
  expect_error(run("bench loops --from broken.json"), "broken.json");
}

TEST_F(CommandLine, BenchOfManyWorldsRunsWithoutAGpu) {
  unsetenv("TOUCHSTONE_CUDA_LIBRARY");
  const Outcome outcome = run("bench gpu --system stack:2 --system loops/walker --system woodpecker --json --quiet");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
  const nlohmann::json figures = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(figures["device"], "lanes");
  EXPECT_LT(figures["systems"][0]["natv_p99"].get<double>(), 1e-3);
  EXPECT_EQ(figures["systems"][0]["lost"], 0.0);
  EXPECT_THAT(figures["systems"][1]["refused"].dump(), HasSubstr("a mesh that collides as triangles"));
  EXPECT_THAT(figures["systems"][2]["refused"].dump(), HasSubstr("integrators"));
  write("figures.json", outcome.out);
  const Outcome drawn = run("bench gpu --from figures.json --html page.html");
  EXPECT_EQ(drawn.exit_code, 0) << drawn.error;
  EXPECT_THAT(drawn.out, HasSubstr("TOUCHSTONE_CUDA_LIBRARY"));
  EXPECT_THAT(read_file(folder_ / "page.html"), HasSubstr("not supported"));
  expect_error(run("bench gpu --system frobnicate"), "frobnicate");
}

TEST_F(CommandLine, BenchMeasuresASystemAndDrawsIt) {
  const Outcome outcome = run("bench loops --system loops/table --json --export problems");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr("4 of 4"));
  const nlohmann::json figures = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(figures["systems"].size(), 1U);
  const nlohmann::json& system = figures["systems"][0];
  EXPECT_EQ(system["redundancy"], 3);
  std::size_t written = 0;
  for (const char* coordinates : {"reduced", "maximal"}) {
    const nlohmann::json& runs = system["runs"][coordinates];
    for (const char* key : {"fine", "coarse"}) {
      EXPECT_LT(runs[key]["error"].get<double>(), 2e-9) << coordinates << key;
      EXPECT_EQ(runs[key]["unsolved"], 0) << coordinates << key;
    }
    for (const char* key : {"pass", "none"}) EXPECT_EQ(runs[key]["unsolved"], 0) << coordinates << key;
    const nlohmann::json& measured = system["measured"][coordinates];
    EXPECT_EQ(measured["outcomes"].size(), 17U);
    for (const nlohmann::json& solve : measured["outcomes"]["auto"]) EXPECT_EQ(solve["cold"][2][0], 1);
    written += measured["export"]["written"].get<std::size_t>();
  }
  EXPECT_GT(written, 0U);
  const std::filesystem::directory_iterator files(folder_ / "problems"), end;
  EXPECT_EQ(static_cast<std::size_t>(std::distance(files, end)), written);

  write("figures.json", outcome.out);
  const Outcome drawn = run("bench loops --from figures.json --html page.html");
  EXPECT_EQ(drawn.exit_code, 0) << drawn.error;
  EXPECT_THAT(drawn.out, HasSubstr("Samples solved to 1e-6"));
  const std::string page = read_file(folder_ / "page.html");
  for (const char* part : {"<svg", "Performance profiles", "Which solver, when", "ADMM-NCP-SA", "not projected"})
    EXPECT_THAT(page, HasSubstr(part));
}

}  // namespace
