// A scene that runs: its simulator, and what acts on it from outside.
//
//   SceneRun run(make_scene("arch:21"));
//   while (run.simulator().state().time < run.scene().duration) run.step();
#pragma once

#include "touchstone/scenes/scene.hpp"

namespace touchstone {

class SceneRun {
 public:
  // Throws Error when options, start, controls or pushes do not fit the model.
  explicit SceneRun(Scene scene);

  const Scene& scene() const { return scene_; }
  Simulator& simulator() { return simulator_; }
  const Simulator& simulator() const { return simulator_; }

  // Sets the wrenches of the pushes for the coming step; step() does it itself.
  void apply_pushes();
  const StepReport& step();
  // Back to the start; controls too.
  void reset();
  // Other options (solver, time step, ...) from here on; state, inputs and parameters stay, contacts are found anew.
  void set_options(const SimulatorOptions& options);

 private:
  Scene scene_;
  Simulator simulator_;
};

// Stiffness and damping of a hold, written into the parameters: joint springs at rest at q.
void apply_hold(const Model& model, const Hold& hold, const VectorX& q, Parameters& parameters);

}  // namespace touchstone
