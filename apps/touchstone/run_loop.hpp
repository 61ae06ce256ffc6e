// Runs a scene to its end: the loop behind run, compare and demo.
#pragma once

#include <optional>
#include <string>

#include "interrupt.hpp"
#include "run_batch.hpp"
#include "run_statistics.hpp"
#include "touchstone/viewer/replay.hpp"
#include "touchstone/viewer/run_certificate.hpp"

namespace touchstone::cli {

struct RunRequest {
  double duration = 0.0;  // s; 0: the scene's
  std::string record;     // file; empty: none
  int every = 1;          // steps between recorded rows
  bool frames = false;    // keep frames for a replay
  double frame_rate = 60.0;
  BatchRequest batch;     // worlds that are stepped beside it; the simulator follows one of them
  bool progress = false;  // a bar on standard error, if that is a terminal
};

struct RunResult {
  RunStatistics statistics;
  Replay replay;             // without frames unless they were asked for; the certificate is that of all steps
  SimulatorOptions options;  // as they were used
  double time_step = 0.0;    // s, as it was used
  double duration = 0.0;     // s, that was asked for
  State end;
  std::string batch_text;  // what --device adds; empty: nothing
  nlohmann::ordered_json batch_json;
  bool interrupted = false;

  bool passed() const { return all_passed(replay.certificate); }
};

// Ends early at a step that diverges, or when the user asks for it (between two steps; with nothing but the start if
// that was before the first).
RunResult run_scene(const Scene& scene, const RunRequest& request, const InterruptWatch& interrupt);

}  // namespace touchstone::cli
