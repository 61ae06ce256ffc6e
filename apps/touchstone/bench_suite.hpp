// What a benchmark suite of `touchstone bench` is: figures as JSON, a table for the terminal, a page.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "interrupt.hpp"
#include "json_text.hpp"

namespace touchstone::cli {

struct BenchRequest {
  std::vector<std::string> systems;  // only these; empty: all of the suite
  bool full = false;                 // longer runs, more samples, more work a solve
  std::filesystem::path export_to;   // a folder for the suite's problems; empty: none
  // What is measured now: the number of parts that are done, of how many, and the name of the next.
  std::function<void(int, int, std::string_view)> progress;
};

struct BenchSuite {
  std::string_view name, description;
  // Ends early, between two parts, when the user asks for it; what was measured until then is in the answer.
  Json (*measure)(const BenchRequest& request, const InterruptWatch& interrupt);
  std::string (*summary)(const Json& figures);  // for the terminal
  std::string (*page)(const Json& figures);     // HTML
};

// Closed chains (docs/benchmarks.md).
extern const BenchSuite kLoopsBench;
// Many worlds by the code of a GPU (docs/gpu.md).
extern const BenchSuite kGpuBench;

}  // namespace touchstone::cli
