// Python's Simulator.
#pragma once

#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::python {

struct PySimulator {
  PySimulator(ModelPtr model, const SimulatorOptions& options) : sim(std::move(model), options), data(sim.model()) {}
  // At the start of the scene, with its controls, holds and pushes.
  PySimulator(const Scene& scene, const SimulatorOptions& options);

  const StepReport& step() {
    if (!pushes.empty()) apply_pushes();
    return sim.step();
  }
  void reset();  // to the start of the scene, else to the reference configuration

  Simulator sim;
  Data data;  // for questions about the current state; the simulator's own is that of the last step
  std::vector<Push> pushes;
  std::optional<std::pair<State, VectorX>> start;  // of the scene, with controls
  std::atomic<bool> busy{false};

 private:
  void apply_pushes();
};

// Options by name, as keyword arguments: those of the simulator, then those of its solver.
void set_options(SimulatorOptions& options, const nanobind::kwargs& named);

}  // namespace touchstone::python
