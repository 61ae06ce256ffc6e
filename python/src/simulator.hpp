// Python's Simulator.
#pragma once

#include <atomic>

#include <nanobind/nanobind.h>

#include "touchstone/dynamics/data.hpp"
#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::python {

struct PySimulator {
  // At the reference configuration.
  PySimulator(const ModelPtr& model, const SimulatorOptions& options);
  // At the start of the scene, with its controls, holds and pushes; the options are those given.
  PySimulator(Scene scene, const SimulatorOptions& options);

  const StepReport& step() { return run.step(); }
  void reset() { run.reset(); }

  SceneRun run;
  Simulator& sim;
  Data data;  // for questions about the current state; the simulator's own is that of the last step
  std::atomic<bool> busy{false};
};

// Its property `stages`.
void bind_stages_of(nanobind::class_<PySimulator>& c);
// Its derivatives.
void bind_jacobians_of(nanobind::class_<PySimulator>& c);
// Its part about loops.
void bind_mechanism_of(nanobind::class_<PySimulator>& c);
// Its loop joints.
void bind_loop_joint_of(nanobind::class_<PySimulator>& c);
// Its part about sleep.
void bind_sleep_of(nanobind::class_<PySimulator>& c);

// Options by name, as keyword arguments: those of the simulator, then those of its solver.
void set_options(SimulatorOptions& options, const nanobind::kwargs& named);

}  // namespace touchstone::python
