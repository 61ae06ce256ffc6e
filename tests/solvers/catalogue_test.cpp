#include "touchstone/solvers/catalogue.hpp"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/base/check.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/solvers/gauss_seidel/nbgs.hpp"
#include "touchstone/solvers/gauss_seidel/ncp_pgs.hpp"

namespace touchstone {
namespace {

using ::testing::HasSubstr;

template <typename Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Compliant models need velocities, and Lagged the physics of contacts.
bool is_usable(const CatalogueEntry& entry, const ContactProblem& problem) {
  if (!entry.law) return true;
  return problem.has_primal() && (entry.law != CompliantModel::kLagged || !problem.physics.empty());
}

TEST(Catalogue, NamesAreUniqueAndComplete) {
  std::set<std::string_view> names;
  for (const CatalogueEntry& entry : solver_catalogue()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.model.empty() || entry.algorithm.empty() || entry.blocks.empty() || entry.reference.empty());
    EXPECT_NE(make_solver(entry.name), nullptr);
  }
}

TEST(Catalogue, UnknownNamesListTheNearestFirst) {
  EXPECT_THAT(message_of([] { make_solver("ncp-psg"); }),
              HasSubstr("there is no solver 'ncp-psg'; choose one of ncp-pgs, "));
}

// Every option of every solver can be read, set to what it is, and is documented.
TEST(Catalogue, OptionsGoThroughText) {
  for (const CatalogueEntry& entry : solver_catalogue()) {
    const auto options = entry.make()->make_options();
    std::set<std::string> names;
    for (const OptionField& field : list_options(*options)) {
      EXPECT_TRUE(names.insert(field.name).second) << entry.name << " " << field.name;
      EXPECT_FALSE(field.help.empty()) << field.name;
      const std::string before = field.get();
      set_option(*options, field.name, before);
      EXPECT_EQ(field.get(), before) << field.name;
    }
  }
}

TEST(Options, AreTypedAndChecked) {
  NcpPgsOptions options;
  set_option(options, "max_iterations=12");
  set_option(options, "relative_tolerance", "1e-5");
  set_option(options, "paper_step=on");
  set_option(options, "validation=data");
  EXPECT_EQ(options.max_iterations, 12);
  EXPECT_EQ(options.relative_tolerance, 1e-5);
  EXPECT_TRUE(options.paper_step);
  EXPECT_EQ(options.validation, Validation::kData);
  EXPECT_THAT(message_of([&] { set_option(options, "paper_step=perhaps"); }),
              HasSubstr("cannot be 'perhaps'; give a flag"));
  EXPECT_THAT(message_of([&] { set_option(options, "max_iterations=1.5"); }),
              HasSubstr("give an integer (at least 0)"));
  EXPECT_THAT(message_of([&] { set_option(options, "max_iterations=-1"); }), HasSubstr("at least 0"));
  EXPECT_THAT(message_of([&] { set_option(options, "relaxation=nan"); }), HasSubstr("[0, 2]"));
  EXPECT_THAT(message_of([&] { set_option(options, "validation=none"); }), HasSubstr("data|full"));
  EXPECT_THAT(message_of([&] { set_option(options, "speed=1"); }), HasSubstr("this solver has max_iterations, "));
  EXPECT_THAT(message_of([&] { set_option(options, "relaxation"); }), HasSubstr("write key=value"));
  EXPECT_EQ(options.max_iterations, 12);
}

TEST(TypedSolver, RefusesTheOptionsOfAnother) {
  const NbgsSolver solver;
  const auto workspace = solver.make_workspace();
  Solution solution;
  const NcpPgsOptions wrong;
  EXPECT_THROW(solver.solve(make_cube({1, 0, 0}), wrong, *workspace, solution), InternalError);
}

TEST(Solve, ProblemsWithoutRowsAreSolved) {
  for (const CatalogueEntry& entry : solver_catalogue()) {
    const auto solver = entry.make();
    const auto options = solver->make_options();
    const auto workspace = solver->make_workspace();
    Solution solution;
    EXPECT_EQ(solver->solve(ContactProblem(), *options, *workspace, solution), SolveStatus::kSolved) << entry.name;
    EXPECT_EQ(solution.lambda.size(), 0);
    // A free body that nothing touches: the next velocity is the free one.
    SceneBuilder scene;
    scene.add_sphere(1.0, {0, 0, 1}, 0.5, {1, 2, 3});
    const ContactProblem free = scene.finish();
    EXPECT_EQ(solver->solve(free, *options, *workspace, solution), SolveStatus::kSolved) << entry.name;
    EXPECT_EQ(solution.v, free.primal.v_free) << entry.name;
    // And again nothing, in memory that has seen a problem.
    const ContactProblem cube = make_cube({1, 0, 0});
    const SolveStatus expected = is_usable(entry, cube) ? SolveStatus::kSolved : SolveStatus::kUnsupported;
    EXPECT_EQ(solver->solve(cube, *options, *workspace, solution), expected) << entry.name;
    EXPECT_EQ(solver->solve(ContactProblem(), *options, *workspace, solution), SolveStatus::kSolved) << entry.name;
    EXPECT_EQ(solution.lambda.size(), 0);
  }
}

// A compliance is part of the problem from both sides: the primal view with R and the dual view whose G holds it have
// the same answer, whether or not it is said how much of G it is.
TEST(Solve, EverySolverHonoursCompliance) {
  ContactProblem primal = make_cube({0.4, 0.1, -0.2});
  primal.R = VectorX::LinSpaced(primal.nrow(), 1e-2, 3e-2);
  ContactProblem dual = primal;
  DualProblem prepared;
  ASSERT_TRUE(prepare_dual(primal, {.scaling = DualScaling::kUnits}, prepared).usable());
  const VectorX unit = prepared.lambda_scale.cwiseInverse();
  dual.dual.set(MatrixX(prepared.u_scale.asDiagonal() * prepared.G.dense() * unit.asDiagonal()),
                prepared.u_scale.cwiseProduct(prepared.g));
  dual.primal = {};
  ContactProblem hard = primal;
  hard.R.resize(0);
  for (const CatalogueEntry& entry : solver_catalogue()) {
    const auto solver = entry.make();
    const auto options = solver->make_options();
    options->relative_tolerance = 1e-9;
    options->max_iterations = 1000;
    const auto workspace = solver->make_workspace();
    Solution a, b, c;
    const SolveStatus status = solver->solve(primal, *options, *workspace, a);
    ASSERT_NE(status, SolveStatus::kInvalidProblem) << entry.name << ": " << a.message;
    if (!is_usable(entry, primal)) continue;
    if (is_usable(entry, dual)) {
      EXPECT_EQ(solver->solve(dual, *options, *workspace, b), status) << entry.name;
      EXPECT_LE((a.lambda - b.lambda).norm(), 1e-6 * a.lambda.norm()) << entry.name;
    }
    EXPECT_EQ(a.shift, 0.0) << entry.name;
    solver->solve(hard, *options, *workspace, c);
    EXPECT_GE((a.u - c.u).norm(), 1e-3 * a.u.norm()) << entry.name << " ignores it";
  }
}

}  // namespace
}  // namespace touchstone
