// Recorded problems times solvers: the work of `touchstone solve`, apart from how it is shown.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "touchstone/contact/certify.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone::cli {

struct SolveRequest {
  std::string path;                  // a file, or a folder of them
  std::vector<std::string> solvers;  // names
  double tolerance = 1e-8;           // natv relative to the free velocity
  int max_iterations = -1;           // -1: what the solver thinks right
  double time_limit = -1.0;          // s, for each problem and solver; -1: what the options say
  std::vector<std::string> options;  // key=value, for every solver
  bool history = false;
  bool impulses = false;  // keep them in the results
};

struct SolveResult {
  std::string problem;  // name of the file
  int blocks = 0, rows = 0;
  std::string solver;
  SolveStatus status{};
  std::string message;
  std::string warning;  // about the problem
  bool infeasible = false;
  double shift = 0.0;  // compliance that was added where there is no solution
  int iterations = 0;
  double seconds = 0.0;    // the best of a few, see kRepeatSeconds
  bool certified = false;  // the problem is valid and has an answer; else the residuals say nothing
  Residuals residuals;     // with the residual of the solver's own model
  std::string worst_block;
  std::vector<double> history;
  bool solved = false;     // the solver says so, and the certificate agrees
  bool own_model = false;  // the solver's model is not the NCP: its own residual decides
  bool own_law = false;    // that of a compliant law

  // If they were asked for and there are any.
  Blocks layout;
  VectorX impulses, velocities, next_velocity;
};

// A file of the folder that is no problem.
struct UnreadableProblem {
  std::string problem;  // name of the file
  std::string message;
};

struct SolveResults {
  std::vector<SolveResult> solved;  // by problem, then in the order of the solvers
  std::vector<UnreadableProblem> unreadable;
};

// Throws Error for unknown solvers and options, and if the one file that was named cannot be read. Files of a folder
// that cannot be read are listed.
SolveResults run_solvers(const SolveRequest& request);

}  // namespace touchstone::cli
