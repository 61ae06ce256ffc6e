#include "solver_support.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/contact/laws/certify_law.hpp"

namespace touchstone::test {

Solved solve(const char* name, const ContactProblem& problem, const std::vector<std::string>& settings,
             const Solution* guess) {
  const CatalogueEntry& entry = find_solver(name);
  const auto solver = entry.make();
  const auto options = solver->make_options();
  for (const std::string& setting : settings) set_option(*options, setting);
  const auto workspace = solver->make_workspace();
  Solved result;
  if (guess != nullptr) result.solution.lambda = guess->lambda;
  result.status = solver->solve(problem, *options, *workspace, result.solution);
  if (result.status != SolveStatus::kInvalidProblem) {
    result.residuals = certify(problem, result.solution.lambda, entry.certificate);
    LawCertificateWorkspace laws;
    if (entry.law) certify_law(problem, result.solution.lambda, *entry.law, laws, result.residuals);
  }
  return result;
}

void expect_no_allocation(const char* name, const ContactProblem& problem) {
  if (!AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  const auto solver = make_solver(name);
  const auto options = solver->make_options();
  const auto workspace = solver->make_workspace();
  ContactProblem other = problem;
  other.primal.v_free *= 1.5;
  Solution solution;
  SolveStatus status = solver->solve(problem, *options, *workspace, solution);
  ASSERT_EQ(status, SolveStatus::kSolved) << solution.message;
  const AllocationGuard guard;
  status = solver->solve(problem, *options, *workspace, solution);
  EXPECT_EQ(guard.allocations(), 0u);
  EXPECT_EQ(status, SolveStatus::kSolved);
  status = solver->solve(other, *options, *workspace, solution);
  EXPECT_EQ(guard.allocations(), 0u);
  EXPECT_EQ(status, SolveStatus::kSolved);
}

namespace {

// The blocks of a primal problem in reverse order.
ContactProblem reversed(const ContactProblem& problem) {
  ContactProblem result = problem;
  result.blocks.clear();
  std::vector<JacobianBlock> jacobian;
  const BlockSparseMatrix& J = problem.primal.J;
  for (int i = problem.nblock() - 1; i >= 0; --i) {
    const int block = result.blocks.add_coulomb(problem.blocks.mu[problem.blocks.row[i]]);
    for (int k = J.start[i]; k < J.start[i + 1]; ++k) jacobian.push_back({block, J.col[k], J.block(i, k)});
  }
  result.set_jacobian(jacobian);
  return result;
}

ContactProblem with_rotated_tangents(const ContactProblem& problem) {
  ContactProblem result = problem;
  BlockSparseMatrix& J = result.primal.J;
  for (int i = 0; i < problem.nblock(); ++i) {
    const Eigen::Matrix3d rotation = Eigen::AngleAxisd(0.7 + i, Vector3::UnitZ()).toRotationMatrix();
    for (int k = J.start[i]; k < J.start[i + 1]; ++k) J.block(i, k) = (rotation * J.block(i, k)).eval();
  }
  return result;
}

ContactProblem in_grams(const ContactProblem& problem) {
  ContactProblem result = problem;
  result.primal.A = problem.primal.A->scaled(1000.0);
  return result;
}

}  // namespace

void expect_invariances(const char* name, const ContactProblem& problem, double tolerance) {
  const std::vector<std::string> settings = {"relative_tolerance=1e-11", "max_iterations=100000"};
  const Solved reference = solve(name, problem, settings);
  ASSERT_EQ(reference.status, SolveStatus::kSolved) << reference.solution.message;
  const double scale = reference.residuals.natv / reference.residuals.natv_relative;
  const auto expect_same = [&](const char* what, const ContactProblem& changed, double impulse_unit) {
    const Solved s = solve(name, changed, settings);
    EXPECT_EQ(s.status, SolveStatus::kSolved) << what;
    EXPECT_LE((s.solution.v - reference.solution.v).lpNorm<Eigen::Infinity>(), tolerance * scale) << what;
    if (impulse_unit > 0.0) {
      EXPECT_LE((s.solution.lambda / impulse_unit - reference.solution.lambda).lpNorm<Eigen::Infinity>(),
                tolerance * reference.solution.lambda.lpNorm<Eigen::Infinity>())
          << what;
    }
  };
  expect_same("order of blocks", reversed(problem), 0.0);
  expect_same("tangents", with_rotated_tangents(problem), 0.0);
  expect_same("unit of mass", in_grams(problem), 1000.0);
  ContactProblem forces = problem;
  scale_impulses(forces, problem.time_step);
  expect_same("forces", forces, 1.0 / problem.time_step);
}

void expect_invalid_problems_are_named(const char* name) {
  const auto expect_message = [&](const char* part, const std::function<void(ContactProblem&)>& spoil) {
    ContactProblem problem = make_random_problem({.contacts = 3, .boxes = 1}, 1);
    problem.block_names = {"motor", "heel", "toe", "hand"};
    spoil(problem);
    const Solved s = solve(name, problem, {});
    EXPECT_EQ(s.status, SolveStatus::kInvalidProblem) << part;
    EXPECT_THAT(s.solution.message, testing::HasSubstr(part));
    EXPECT_TRUE(s.solution.lambda.isZero());
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  expect_message("block 1 'heel' (coulomb): g is nan", [](ContactProblem& p) { p.dual.g[2] = kNan; });
  expect_message("block 2 'toe' (coulomb): G is inf",
                 [](ContactProblem& p) { p.dual.G_dense(5, 1) = std::numeric_limits<double>::infinity(); });
  expect_message("'heel' (coulomb): the friction coefficient is -0.1",
                 [](ContactProblem& p) { p.blocks.mu[1] = -0.1; });
  expect_message("'motor' (box): the bounds are [2, -1]", [](ContactProblem& p) {
    p.blocks.lo[0] = 2.0;
    p.blocks.hi[0] = -1.0;
  });
  expect_message("g has 9 entries, expected 10", [](ContactProblem& p) { p.dual.g.conservativeResize(9); });
  expect_message("G is 9 x 10, expected 10 x 10", [](ContactProblem& p) { p.dual.G_dense.conservativeResize(9, 10); });
  expect_message("not symmetric", [](ContactProblem& p) { p.dual.G_dense(4, 8) += 2.0; });
  expect_message("indefinite", [](ContactProblem& p) { p.dual.G_dense *= -1.0; });
  expect_message("neither", [](ContactProblem& p) { p.dual.form = DualData::Form::kNone; });
}

std::vector<std::filesystem::path> recorded_problems() {
  namespace fs = std::filesystem;
  const char* data = std::getenv("TOUCHSTONE_DATA");
  std::vector<fs::path> files;
  if (data == nullptr || !fs::is_directory(fs::path(data) / "problems")) return files;
  for (const auto& entry : fs::directory_iterator(fs::path(data) / "problems")) {
    if (entry.path().extension() == ".dat" || entry.path().extension() == ".hdf5") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string test_name(std::string solver) {
  std::replace(solver.begin(), solver.end(), '-', '_');
  return solver;
}

}  // namespace touchstone::test
