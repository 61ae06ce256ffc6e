// Many worlds of one model, stepped by several threads.
//
//   Batch batch(load_model("robot.xml"), 1000);
//   batch.parameters(7).gravity.z() = -1.62;      // each world may have its own masses, frictions, gravity ...
//   batch.control(7)[0] = 0.5;
//   batch.step(100);
//   if (batch.status(7) != StepStatus::kOk) ...
//
// Configurations, velocities, activations and controls of all worlds lie in contiguous arrays, one world after another:
// they are the state of the batch, may be written between steps, and can be lent to others without copying.
// A world is a simulator of its own and touches nothing of the others, so results do not depend on the number of
// threads, and trouble in one world does not stop the rest. Nothing is allocated once all worlds are warm.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "touchstone/base/thread_pool.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {

class Batch {
 public:
  // All worlds at the reference configuration. `threads`: 0 for one a processor. Throws Error for bad numbers, and for
  // more worlds than fit into the memory that is free.
  // SimulatorOptions::threads is ignored: a world is stepped by one thread.
  Batch(ModelPtr model, int worlds, const SimulatorOptions& options = {}, int threads = 0);

  int worlds() const { return static_cast<int>(simulators_.size()); }
  int threads() const { return pool_.threads(); }
  const Model& model() const { return *model_; }

  // All worlds: worlds x nq, nv, na, nu numbers.
  std::span<double> q() { return q_; }
  std::span<double> v() { return v_; }
  std::span<double> activation() { return activation_; }
  std::span<double> control() { return control_; }
  std::span<const double> times() const { return time_; }           // worlds, s
  std::span<const StepStatus> statuses() const { return status_; }  // worlds, of the last step
  // One world.
  std::span<double> q(int world) { return row(q_, model_->nq, world); }
  std::span<double> v(int world) { return row(v_, model_->nv, world); }
  std::span<double> activation(int world) { return row(activation_, model_->na, world); }
  std::span<double> control(int world) { return row(control_, model_->nu, world); }
  double time(int world) const { return time_[checked(world)]; }
  StepStatus status(int world) const { return status_[checked(world)]; }
  // What an exception in the world's last step said; empty if there was none. The status is then kDiverged.
  const std::string& error(int world) const { return error_[checked(world)]; }
  Parameters& parameters(int world) { return simulators_[checked(world)]->parameters(); }
  // Applied forces and wrenches. The controls in it are overwritten by those of the batch.
  Input& input(int world) { return simulators_[checked(world)]->input(); }
  // Report, contacts and more of the last step.
  const Simulator& simulator(int world) const { return *simulators_[checked(world)]; }

  // `count` steps in every world. A world that diverges stays where it was, and tries again at the next call.
  void step(int count = 1);

  // To the reference configuration or a keyframe, with the keyframe's controls; contacts are forgotten.
  void reset();
  void reset(int world);
  void reset(int world, int keyframe);
  // To the configuration and velocity that the arrays hold, as after writing them by hand: contacts are forgotten.
  void forget(int world);

 private:
  std::size_t checked(int world) const;
  std::span<double> row(std::vector<double>& values, int width, int world) {
    return {values.data() + checked(world) * static_cast<std::size_t>(width), static_cast<std::size_t>(width)};
  }
  void step_world(int world, int count) noexcept;
  void copy_in(int world);
  void copy_out(int world);

  ModelPtr model_;
  std::vector<std::unique_ptr<Simulator>> simulators_;
  std::vector<double> q_, v_, activation_, control_, time_;
  std::vector<StepStatus> status_;
  std::vector<std::string> error_;
  ThreadPool pool_;
};

}  // namespace touchstone
