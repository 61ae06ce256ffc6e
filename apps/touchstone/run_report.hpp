// The checks of a run and the whole of it for programs.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "run_loop.hpp"

namespace touchstone::cli {

// The checks with value, limit and verdict; below them what failed, by how much, when and where.
std::string checks_table(const std::vector<CertificateItem>& checks);

// The names of those that failed, for one cell of a table; "none" if all passed.
std::string failed_checks(const std::vector<CertificateItem>& checks);

nlohmann::ordered_json checks_json(const std::vector<CertificateItem>& checks);
std::string run_json(const Scene& scene, const RunResult& result);

// Success, a failed check (unless the run is lenient, which excuses all but divergence), or the user's interruption.
int exit_code(const RunResult& result, bool lenient);

}  // namespace touchstone::cli
