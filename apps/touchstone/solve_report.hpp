// The results of `touchstone solve` as a table, JSON, CSV and HTML.
#pragma once

#include <string>
#include <vector>

#include "solve_run.hpp"

namespace touchstone::cli {

// "PROBLEM: what is unusual about it", each problem once.
std::vector<std::string> problem_warnings(const SolveResults& results);

std::string results_table(const SolveResults& results, bool history);
std::string results_json(const SolveRequest& request, const SolveResults& results);
std::string results_csv(const SolveResults& results);
std::string results_html(const SolveRequest& request, const SolveResults& results);

}  // namespace touchstone::cli
