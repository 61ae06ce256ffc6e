// Every recorded problem with every solver: what must be solved is solved, and whoever says "solved" is right. The
// problems are too large for the repository; without them the tests skip themselves.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "solver_support.hpp"
#include "touchstone/io/fclib.hpp"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

struct Expectation {
  const char* solver;
  std::vector<std::string> options;
  std::set<std::string> unsolved;  // beginnings of file names that this solver need not solve
};

const std::vector<Expectation>& expectations() {
  static const std::vector<Expectation> table = {
      {"nbgs", {"max_iterations=20000"}, {"BoxesStack1", "Capsules-i100"}},
      {"ncp-pgs", {"max_iterations=20000"}, {"BoxesStack1", "Capsules-i100"}},
      {"ncp-newton", {}, {}},
      {"ncp-ipm", {}, {}},
      {"auto", {}, {}},
  };
  return table;
}

class RecordedProblems : public ::testing::TestWithParam<Expectation> {};
INSTANTIATE_TEST_SUITE_P(All, RecordedProblems, ::testing::ValuesIn(expectations()),
                         [](const auto& test) { return test::test_name(test.param.solver); });

TEST_P(RecordedProblems, AreSolved) {
  const std::vector<fs::path> files = test::recorded_problems();
  if (files.empty()) GTEST_SKIP() << "no recorded problems; set TOUCHSTONE_DATA to the folder that holds problems/";
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    const test::Solved s = test::solve(GetParam().solver, load_problem(file).problem, GetParam().options);
    const bool excused = std::any_of(GetParam().unsolved.begin(), GetParam().unsolved.end(),
                                     [&](const std::string& prefix) { return name.starts_with(prefix); });
    if (s.status == SolveStatus::kSolved) {
      EXPECT_LE(s.residuals.model_natv_relative, 1.001e-8) << name;
    } else {
      EXPECT_TRUE(excused) << name << ": " << status_name(s.status) << ", " << s.solution.message;
    }
  }
}

TEST(RecordedFiles, AreValid) {
  const std::vector<fs::path> files = test::recorded_problems();
  if (files.empty()) GTEST_SKIP() << "no recorded problems; set TOUCHSTONE_DATA to the folder that holds problems/";
  for (const fs::path& file : files) {
    ContactProblem problem = load_problem(file).problem;
    const Verdict verdict = validate(problem);
    EXPECT_TRUE(verdict.usable()) << file.filename() << ": " << verdict.message;
    // Read by rows instead of columns every block is transposed. That keeps the symmetry of most files, but makes G
    // indefinite, which validate sees unless the blocks are symmetric themselves.
    if (problem.dual.form != DualData::Form::kSparse || problem.nblock() < 20) continue;
    BlockSparseMatrix& G = problem.dual.G_sparse;
    for (int i = 0; i < G.block_rows(); ++i) {
      for (int k = G.start[i]; k < G.start[i + 1]; ++k) G.block(i, k) = G.block(i, k).transpose().eval();
    }
    EXPECT_FALSE(validate(problem).usable()) << file.filename();
  }
}

}  // namespace
}  // namespace touchstone
