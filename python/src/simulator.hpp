// Python's Simulator.
#pragma once

#include <atomic>
#include <utility>

#include "touchstone/sim/simulator.hpp"

namespace touchstone::python {

struct PySimulator {
  PySimulator(ModelPtr model, const SimulatorOptions& options) : sim(std::move(model), options), data(sim.model()) {}

  Simulator sim;
  Data data;  // for questions about the current state; the simulator's own is that of the last step
  std::atomic<bool> busy{false};
};

}  // namespace touchstone::python
