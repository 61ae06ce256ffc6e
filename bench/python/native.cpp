// The batch of bench/python/run.py in C++: one call a step. Prints world steps a second.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "touchstone/base/clock.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/batch.hpp"

int main(int argc, char** argv) {
  using namespace touchstone;
  const int worlds = argc > 1 ? std::atoi(argv[1]) : 256;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 20;
  const Scene scene = make_scene("humanoid");
  SimulatorOptions options;
  options.time_step = scene.options.time_step;
  Batch batch(scene.model, worlds, options);
  for (int w = 0; w < worlds; ++w) {
    std::copy(scene.start.q.begin(), scene.start.q.end(), batch.q(w).begin());
    std::copy(scene.control.begin(), scene.control.end(), batch.control(w).begin());
    batch.forget(w);
  }
  batch.step(50);
  const Stopwatch watch;
  for (int i = 0; i < steps; ++i) batch.step();
  std::printf("{\"rate\": %.17g}\n", worlds * steps / watch.seconds());
}
