// Runs a scene to its end: the loop behind run, compare and demo.
#pragma once

#include <optional>
#include <string>

#include "run_statistics.hpp"
#include "touchstone/viewer/replay.hpp"

namespace touchstone::cli {

struct RunRequest {
  double duration = 0.0;  // s; 0: the scene's
  std::string record;     // file; empty: none
  int every = 1;          // steps between recorded rows
  bool frames = false;    // keep frames for a replay
  double frame_rate = 60.0;
  bool progress = false;  // a bar on standard error, if that is a terminal
};

struct RunResult {
  RunStatistics statistics;
  Replay replay;  // without frames unless they were asked for
};

// Ends early at a step that diverges.
RunResult run_scene(const Scene& scene, const RunRequest& request);

}  // namespace touchstone::cli
