// Recorded problems times solvers: the work of `touchstone solve`, apart from how it is shown.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "touchstone/contact/residuals.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone::cli {

struct SolveRequest {
  std::string path;                  // a file, or a folder of them
  std::vector<std::string> solvers;  // names
  double tolerance = 1e-8;           // natv relative to the free velocity
  int max_iterations = -1;           // -1: what the solver thinks right
  std::vector<std::string> options;  // key=value, for every solver
  bool history = false;
};

struct SolveResult {
  std::string problem;  // name of the file
  int blocks = 0, rows = 0;
  std::string solver;
  SolveStatus status{};
  std::string message;
  int iterations = 0;
  double seconds = 0.0;  // the best of a few, see kRepeatSeconds
  Residuals residuals;   // with the residual of the solver's own model
  std::string worst_block;
  std::vector<double> history;
  bool solved = false;  // the solver says so, and the certificate agrees

  bool own_model = false;  // the solver's model is not the NCP: its own residual decides
};

// Throws Error for files that cannot be read, unknown solvers and options.
std::vector<SolveResult> run_solvers(const SolveRequest& request);

}  // namespace touchstone::cli
