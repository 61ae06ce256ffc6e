#include "run_loop.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include <fmt/core.h>

#include "touchstone/base/clock.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/record/recording.hpp"
#include "touchstone/viewer/frame_budget.hpp"
#include "touchstone/viewer/simulation.hpp"

namespace touchstone::cli {
namespace {

// One line that is written over and over; nothing if standard error is no terminal.
class ProgressBar {
 public:
  ProgressBar(bool wanted, double duration) : shown_(wanted && isatty(STDERR_FILENO) == 1), duration_(duration) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }

  void update(double time, const RunStatistics& statistics) {
    if (!shown_ || watch_.seconds() < next_) return;
    next_ = watch_.seconds() + 0.1;
    constexpr int kWidth = 30;
    const int filled = std::min(kWidth, static_cast<int>(kWidth * time / duration_));
    std::string bar;
    for (int i = 0; i < kWidth; ++i) bar += i < filled ? "█" : "░";
    fmt::print(stderr, "\r\x1b[K{} {:.2f} of {:.4g} s, {:.1f} x real time, worst certificate {:.1e}", bar, time,
               duration_, statistics.real_time_factor(), statistics.worst_certificate());
    std::fflush(stderr);
  }

 private:
  bool shown_;
  double duration_;
  Stopwatch watch_;
  double next_ = 0.2;
};

}  // namespace

RunResult run_scene(const Scene& scene, const RunRequest& request) {
  constexpr double kTimeTolerance = 1e-9;  // s
  constexpr double kMostSteps = 2e9;       // they are counted in 32 bits
  Simulation source(scene);
  Simulator& sim = source.run().simulator();
  RunResult result;
  RunStatistics& s = result.statistics;
  Replay& replay = result.replay;
  replay.title = source.title();
  replay.model = source.model();
  replay.channels = source.channels();
  const double duration = request.duration > 0.0 ? request.duration : scene.duration;
  if (request.frames) require_frames_fit(*replay.model, duration, request.frame_rate);
  if (duration / sim.time_step() > kMostSteps) {
    throw Error("{:g} s in steps of {:g} s are more than {:g} steps; ask for less time or larger steps", duration,
                sim.time_step(), kMostSteps);
  }
  std::optional<RecordingWriter> writer;
  if (!request.record.empty()) {
    writer.emplace(request.record, sim, RecordingOptions{.every = request.every, .scene = scene.name});
  }
  s.begin(sim);
  ProgressBar bar(request.progress, duration);
  const double start = sim.state().time;
  const auto steps = static_cast<long>(std::ceil(duration / sim.time_step() - kTimeTolerance));
  std::size_t frame = 0;
  for (long step = 0; step <= steps; ++step) {
    const double time = sim.state().time - start;
    if (step == steps || time >= static_cast<double>(frame) / request.frame_rate - kTimeTolerance) {
      ++frame;
      s.add_energy(sim.kinetic_energy() + sim.potential_energy());
      if (request.frames) source.read(replay.frames.emplace_back());
    }
    if (step == steps) break;
    const Stopwatch watch;
    source.step();
    s.wall += watch.seconds();
    s.simulated = sim.state().time - start;
    s.add(sim.report(), duration);
    if (writer) writer->add(sim);
    if (sim.report().status == StepStatus::kDiverged) break;
    bar.update(time, s);
  }
  if (writer) writer->close();
  replay.subtitle =
      fmt::format("{}{}{} steps of {:.3g} ms, solver {}", scene.description, scene.description.empty() ? "" : "; ",
                  s.steps, 1e3 * sim.time_step(), sim.options().solver);
  replay.certificate = run_certificate(s);
  return result;
}

}  // namespace touchstone::cli
