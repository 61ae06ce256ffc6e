// Every recorded problem with every solver of the papers, with the outcome expected of each: solved to 1e-8, or the
// residual of its own model that it reaches within few iterations. A regression shows as a problem that is no longer
// solved or a residual beyond the bound (three times what was measured). The problems are too large for the repository;
// without them the test skips itself.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "solver_support.hpp"
#include "support/effort.hpp"
#include "touchstone/io/fclib.hpp"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

constexpr double kUnsupported = -1.0;
constexpr std::uintmax_t kSmallFile = 60'000;  // bytes: all that builds with sanitizers try

struct Expectation {
  const char* solver;
  std::vector<std::string> options;
  // Beginnings of the names of the problems that are not solved, and the relative residual that is reached.
  std::vector<std::pair<std::string, double>> unsolved;
};

const std::vector<Expectation>& expectations() {
  static const std::vector<Expectation> table = {
      {"lcp-pgs",
       {"max_iterations=5000"},
       {{"BoxesStack1-i100000-32", 7e-05},
        {"Capsules-i100-1090", 7e-07},
        {"Capsules-i101-404", 1e-07},
        {"Capsules-i103-990", 1e-07}}},
      {"lcp-lemke",
       {},
       {{"Capsules-i100-1090", kUnsupported},
        {"Capsules-i101-404", kUnsupported},
        {"Capsules-i103-990", kUnsupported},
        {"KaplasTower-i1061-4", kUnsupported},
        {"Spheres-i099-356-679", kUnsupported}}},
      {"lcp-dantzig",
       {"max_iterations=200"},
       {{"Capsules-i100-1090", kUnsupported},
        {"Capsules-i101-404", kUnsupported},
        {"Capsules-i103-990", kUnsupported},
        {"KaplasTower-i1061-4", kUnsupported},
        {"Spheres-i099-356-679", kUnsupported}}},
      {"lcp-staggered",
       {"max_iterations=100"},
       {{"BoxesStack1-i100000-32", 6e-05},
        {"Capsules-i100-1090", 5e-03},
        {"Capsules-i101-404", 1e-05},
        {"Capsules-i103-990", 2e-06},
        {"KaplasTower-i1061-4", 2e-06},
        {"OneObject-i1028-138", 2e-04}}},
      {"ccp-pgs",
       {"max_iterations=5000"},
       {{"BoxesStack1-i100000-32", 6e-05},
        {"Capsules-i100-1090", 8e-06},
        {"Capsules-i101-404", 3e-05},
        {"Capsules-i103-990", 2e-05},
        {"OneObject-i1028-138", 2e-03}}},
      {"ccp-admm", {"max_iterations=3000"}, {{"Capsules-i103-990", 4e-08}}},
      {"ccp-newton",
       {"max_iterations=200"},
       {{"Capsules-i100-1090", kUnsupported},
        {"Capsules-i101-404", kUnsupported},
        {"Capsules-i103-990", kUnsupported},
        {"OneObject-i1028-138", kUnsupported},
        {"Rover1039", kUnsupported},
        {"Rover1040", kUnsupported},
        {"Rover4144", kUnsupported},
        {"Rover4396", kUnsupported}}},
      {"raisim",
       {"max_iterations=200"},
       {{"BoxesStack1-i100000-32", 2e-02},
        {"Capsules-i100-1090", 4e-03},
        {"Capsules-i101-404", 2e-03},
        {"Capsules-i103-990", 4e-03},
        {"Confeti-ex03-Fc3D-SBM", 9e-07},
        {"KaplasTower-i1061-4", 3e-03},
        {"OneObject-i1028-138", 1e-03},
        {"Spheres-i099-356-679", 3e-03}}},
      {"raisim-ds",
       {"max_iterations=200"},
       {{"BoxesStack1-i100000-32", 2e-02},
        {"Capsules-i100-1090", 2e-05},
        {"Capsules-i101-404", 2e-05},
        {"Capsules-i103-990", 4e-03},
        {"Confeti-ex03-Fc3D-SBM", 1e-05},
        {"KaplasTower-i1061-4", 4e-03},
        {"OneObject-i1028-138", 1e-03},
        {"Spheres-i099-356-679", 8e-03}}},
      {"raisim-ds-es",
       {"max_iterations=200"},
       {{"BoxesStack1-i100000-32", 2e-02},
        {"Capsules-i100-1090", 2e-05},
        {"Capsules-i101-404", 2e-05},
        {"Capsules-i103-990", 4e-03},
        {"Confeti-ex03-Fc3D-SBM", 1e-05},
        {"KaplasTower-i1061-4", 4e-03},
        {"OneObject-i1028-138", 1e-03},
        {"Spheres-i099-356-679", 8e-03}}},
      {"nbgs",
       {"max_iterations=5000"},
       {{"BoxesStack1-i100000-32", 9e-05}, {"Capsules-i100-1090", 8e-07}, {"Capsules-i101-404", 4e-08}}},
      {"ncp-pgs",
       {"max_iterations=5000"},
       {{"BoxesStack1-i100000-32", 9e-05}, {"Capsules-i100-1090", 8e-07}, {"Capsules-i101-404", 4e-08}}},
      {"ncp-staggered",
       {"max_iterations=100"},
       {{"BoxesStack1-i100000-32", 6e-05},
        {"Capsules-i100-1090", 2e-07},
        {"Capsules-i101-404", 9e-07},
        {"Capsules-i103-990", 2e-06},
        {"KaplasTower-i1061-4", 2e-06},
        {"OneObject-i1028-138", 1e-04}}},
      {"ncp-admm", {"max_iterations=3000"}, {{"Capsules-i103-990", 9e-08}}},
      {"ncp-prox",
       {"max_iterations=5000"},
       {{"BoxesStack1-i100000-32", 1e-04},
        {"Capsules-i100-1090", 6e-07},
        {"Capsules-i101-404", 2e-06},
        {"Capsules-i103-990", 1e-07},
        {"OneObject-i1028-138", 1e-04}}},
  };
  return table;
}

class RecordedMatrix : public ::testing::TestWithParam<Expectation> {};
INSTANTIATE_TEST_SUITE_P(Family, RecordedMatrix, ::testing::ValuesIn(expectations()),
                         [](const auto& test) { return test::test_name(test.param.solver); });

TEST_P(RecordedMatrix, HasTheExpectedOutcome) {
  const std::vector<fs::path> files = test::recorded_problems();
  if (files.empty()) GTEST_SKIP() << "no recorded problems; set TOUCHSTONE_DATA to the folder that holds problems/";
  const std::string solver = GetParam().solver;
  // RaiSim's model has no residual of its own, an early stop none that it promises, and Newton's is that of its
  // regularised model.
  const bool promises = solver != "raisim" && solver != "raisim-ds-es" && solver != "ccp-newton";
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    if (!test::whole_family() && fs::file_size(file) > kSmallFile) continue;
    const test::Solved s = test::solve(GetParam().solver, load_problem(file).problem, GetParam().options);
    if (s.status == SolveStatus::kSolved) {
      if (promises) {
        EXPECT_LE(s.residuals.model_natv_relative, 1.001e-8) << name;
      }
      continue;
    }
    double bound = 0.0;
    for (const auto& [prefix, reached] : GetParam().unsolved) {
      if (name.starts_with(prefix)) bound = reached;
    }
    if (s.status == SolveStatus::kUnsupported) {
      EXPECT_EQ(bound, kUnsupported) << name << ": " << s.solution.message;
    } else {
      EXPECT_LE(s.residuals.model_natv_relative, bound) << name << ": " << s.solution.message;
    }
  }
}

}  // namespace
}  // namespace touchstone
