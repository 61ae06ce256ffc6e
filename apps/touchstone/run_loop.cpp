#include "run_loop.hpp"

#include <unistd.h>

#include <algorithm>
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

RunResult prepare(const Simulation& source, double duration) {
  const Simulator& sim = source.run().simulator();
  RunResult result;
  result.replay.title = source.title();
  result.replay.model = source.model();
  result.replay.channels = source.channels();
  result.options = sim.options();
  result.time_step = sim.time_step();
  result.duration = duration;
  return result;
}

std::string subtitle(const Scene& scene, const RunResult& result) {
  std::string text = scene.description.empty() ? std::string() : scene.description + "; ";
  text += fmt::format("{} steps of {:.3g} ms, solver {}", result.statistics.steps, 1e3 * result.time_step,
                      result.options.solver);
  if (result.interrupted) {
    text += fmt::format("; interrupted at {:.4g} of {:.4g} s", result.statistics.simulated, result.duration);
  }
  if (result.statistics.diverged()) text += fmt::format("; diverged at {:.4g} s", result.statistics.simulated);
  return text;
}

}  // namespace

RunResult run_scene(const Scene& scene, const RunRequest& request, const InterruptWatch& interrupt) {
  constexpr double kTimeTolerance = 1e-9;  // s
  constexpr double kMostSteps = 2e9;       // they are counted in 32 bits
  Simulation source(scene);
  Simulator& sim = source.run().simulator();
  RunResult result = prepare(source, request.duration > 0.0 ? request.duration : scene.duration);
  RunStatistics& s = result.statistics;
  if (request.frames) require_frames_fit(*result.replay.model, result.duration, request.frame_rate);
  if (result.duration / sim.time_step() > kMostSteps) {
    throw Error("{:g} s in steps of {:g} s are more than {:g} steps; ask for less time or larger steps",
                result.duration, sim.time_step(), kMostSteps);
  }
  std::optional<BatchRun> batch;
  if (!request.batch.device.empty()) batch.emplace(scene, request.batch);
  if (batch) batch->lead(sim);
  std::optional<RecordingWriter> writer;
  if (!request.record.empty()) {
    writer.emplace(request.record, sim, RecordingOptions{.every = request.every, .scene = scene.name});
  }
  s.begin(sim);
  ProgressBar bar(request.progress, result.duration);
  const double start = sim.state().time;
  const auto steps = static_cast<long>(std::ceil(result.duration / sim.time_step() - kTimeTolerance));
  std::size_t frame = 0;
  bool end = false;
  for (long step = 0; step <= steps; ++step) {
    const double time = sim.state().time - start;
    result.interrupted = interrupt.requested() && step < steps && !end;
    end = end || result.interrupted || step == steps;
    if (end || time >= static_cast<double>(frame) / request.frame_rate - kTimeTolerance) {
      ++frame;
      s.add_energy(sim.kinetic_energy() + sim.potential_energy());
      if (request.frames) source.read(result.replay.frames.emplace_back());
    }
    if (end) break;
    if (batch) batch->lead(sim);
    const Stopwatch watch;
    source.step();
    s.wall += watch.seconds();
    if (batch) batch->follow(sim);
    s.simulated = sim.state().time - start;
    s.add(sim, result.duration);
    if (writer) writer->add(sim);
    end = sim.report().status == StepStatus::kDiverged;
    bar.update(time, s);
  }
  if (writer) writer->close();
  result.replay.certificate = source.run_certificate();
  if (batch) {
    batch->lead(sim);
    for (CertificateItem& check : batch->checks()) result.replay.certificate.push_back(check);
    result.batch_text = batch->text();
    result.batch_json = batch->json();
  }
  result.end = sim.state();
  result.replay.subtitle = subtitle(scene, result);
  return result;
}

}  // namespace touchstone::cli
