// What the tests of all solvers share: one call to solve and certify, and the properties that every solver must have.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "touchstone/contact/certify.hpp"
#include "touchstone/contact/problem.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone::test {

struct Solved {
  SolveStatus status{};
  Solution solution;
  Residuals residuals;  // with the residual of the solver's own model
};

// Solves by name with options "key=value"; `guess` is the start of a warm start.
Solved solve(const char* solver, const ContactProblem& problem, const std::vector<std::string>& options,
             const Solution* guess = nullptr);

// A second solve of the same problem, and one of the same structure with other numbers, allocate nothing.
void expect_no_allocation(const char* solver, const ContactProblem& problem);

// Velocities do not depend on the order of blocks, the units of mass and the direction of the tangents, within
// `tolerance` relative to the free velocity. For a problem in primal view with 3-dimensional isotropic contacts and a
// solution with unique velocities.
void expect_invariances(const char* solver, const ContactProblem& problem, double tolerance);

// NaN, wrong sizes, negative friction, lo > hi, skew and indefinite G: InvalidProblem with a message that says what.
void expect_invalid_problems_are_named(const char* solver);

// The files of TOUCHSTONE_DATA/problems, sorted; none if there is no such folder.
std::vector<std::filesystem::path> recorded_problems();

// A solver's name as part of a test's name.
std::string test_name(std::string solver);

}  // namespace touchstone::test
