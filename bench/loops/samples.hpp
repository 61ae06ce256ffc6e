// Samples of the benchmark `loops`: contact problems of steps along the motion of a system of the suite.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "touchstone/contact/problem.hpp"
#include "touchstone/scenes/sample_category.hpp"
#include "touchstone/scenes/scene.hpp"
#include "touchstone/sim/simulator.hpp"

namespace bench {

using namespace touchstone;

// Processor time of this thread.
double thread_seconds();

enum class Coordinates : std::uint8_t { kReduced, kMaximal };

// A system ready to run: model and start in these coordinates. In reduced ones fixed joints are no joints.
Scene load_system(const std::string& scene, Coordinates coordinates);

// The scene's control, as a wave from zero to it and back, and its pushes.
void drive(const Scene& scene, Simulator& simulator);

struct Sample {
  int step = 0;
  ContactProblem problem;  // both views; all islands together
  ContactProblem next;     // of the step after it; empty if it has other rows
  VectorX warm;            // impulses of the step before
  State state;             // at the start of the step
  SampleFigures figures;
};

struct Recording {
  std::vector<Sample> samples;
  int steps = 0, unsolved = 0, contacts = 0;
  double seconds = 0.0;  // processor time of a step, mean
  double median = 0.0;
  double loop_error = 0.0;  // m: largest after a step
  double worst_natv = 0.0;
};

// Runs with `auto` and takes `count` samples, evenly spread. Nothing is sampled without rows.
Recording record(const Scene& scene, double seconds, int count);

// r_pen (173): how far loops, limits and contacts are violated after the step, if the configuration moves by `v` alone.
class PenetrationProbe {
 public:
  explicit PenetrationProbe(const Scene& scene);
  double operator()(const Sample& sample, const VectorX& v);

 private:
  Simulator simulator_;
};

}  // namespace bench
