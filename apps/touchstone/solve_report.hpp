// The results of `touchstone solve` as a table, JSON, CSV and HTML.
#pragma once

#include <string>
#include <vector>

#include "solve_run.hpp"

namespace touchstone::cli {

std::string results_table(const std::vector<SolveResult>& results, bool history);
std::string results_json(const SolveRequest& request, const std::vector<SolveResult>& results);
std::string results_csv(const std::vector<SolveResult>& results);
std::string results_html(const SolveRequest& request, const std::vector<SolveResult>& results);

}  // namespace touchstone::cli
