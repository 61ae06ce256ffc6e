// Samples of the benchmark `loops`: contact problems of steps along the motion of a system of the suite.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "touchstone/contact/problem.hpp"
#include "touchstone/scenes/sample_category.hpp"
#include "touchstone/scenes/scene.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {

// Processor time of this thread.
double thread_seconds();

enum class SuiteCoordinates : std::uint8_t { kReduced, kMaximal };

// A system ready to run: model and start in these coordinates. In reduced ones fixed joints are no joints.
Scene load_suite_system(const std::string& scene, SuiteCoordinates coordinates);

// The scene's control, as a wave from zero to it and back, and its pushes.
void drive_scene(const Scene& scene, Simulator& simulator);

struct LoopSample {
  int step = 0;
  ContactProblem problem;  // both views; all islands together
  ContactProblem next;     // of the step after it; empty if it has other rows
  VectorX warm;            // impulses of the step before
  State state;             // at the start of the step
  SampleFigures figures;
};

struct SampledRun {
  std::vector<LoopSample> samples;
  int steps = 0, unsolved = 0, contacts = 0;
  double seconds = 0.0;  // processor time of a step, mean
  double median = 0.0;
  double loop_error = 0.0;  // m: largest after a step
  double worst_natv = 0.0;
};

// Runs with `auto` and takes `count` samples, evenly spread. Nothing is sampled without rows.
SampledRun take_samples(const Scene& scene, double seconds, int count);

// A run with `auto`, driven as above, for the errors of loops and the time of a step.
struct SuiteRun {
  int steps = 0, unsolved = 0, contacts = 0;
  double error = 0.0;    // m: largest of loops after a step; infinite if the run diverged
  double settled = 0.0;  // m: the same over the last tenth of the run; it exceeds `error` nowhere, and shows a drift
  double natv = 0.0;     // largest, relative
  double seconds = 0.0, median = 0.0;  // processor time of a step
};
// What keeps loops closed.
enum class LoopUpkeep : std::uint8_t {
  kClosed,  // LoopClosing::kClosed
  kPass,    // one position pass a step
  kNone,    // nothing: the rows of velocities alone (loop_erp=0), without projection or Baumgarte's term
};
SuiteRun run_suite_system(Scene scene, double seconds, double step, LoopUpkeep upkeep);

// r_pen (173): how far loops, limits and contacts are violated after the step, if the configuration moves by `v` alone.
class PenetrationProbe {
 public:
  explicit PenetrationProbe(const Scene& scene);
  double operator()(const LoopSample& sample, const VectorX& v);

 private:
  Simulator simulator_;
};

}  // namespace touchstone
