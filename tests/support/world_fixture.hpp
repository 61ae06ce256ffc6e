// One world of a model in both engines: the simulator, stage by stage, and the batched backend with a team of one lane.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "touchstone/gpu/batch.hpp"
#include "touchstone/gpu/batch_view.hpp"
#include "touchstone/sim/model_arrays.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {

// What the backend does: Euler's rule, hard contact, Baumgarte's stabilisation, everything in one island.
SimulatorOptions backend_options();

class WorldFixture {
 public:
  explicit WorldFixture(ModelPtr model, int contacts = 128);

  Simulator& simulator() { return *simulator_; }
  const gpu::ModelView& model() const { return view_; }
  gpu::Scratch<double>& scratch() { return scratch_; }
  gpu::WorldState world();

  // The state and controls of the simulator in the backend's arrays; without impulses of earlier steps.
  void copy_state();

  // Free motion and contacts of the current state by both. False if either has no factor, or too little room.
  bool prepare();
  // Both assemble and solve. Returns the relative natv that the backend says.
  double solve(double tolerance, int most_sweeps);
  // The relative natv of the backend's impulses in the simulator's own problem, by contact/certify.
  double certified() const;
  // The same for impulses that a batch has found for the current state. After prepare().
  double certified(const gpu::WorldImpulses& impulses);
  // Contacts by both: the largest difference of places, normals and distances; infinite if they cannot be matched.
  double contact_difference() const;
  double free_velocity_difference() const;  // relative to the largest entry
  double velocity_difference() const;       // m/s or rad/s, after the solve

 private:
  ModelPtr shared_;
  std::unique_ptr<Simulator> simulator_;
  gpu::ModelArrays arrays_;
  gpu::ModelView view_;
  std::vector<double> q_, v_, activation_, control_, force_, impulse_, loop_q_, mocap_before_, memory_;
  std::vector<std::int64_t> key_;
  double natv_ = 0.0, time_ = 0.0, since_pass_ = 0.0, reach_ = 0.0;
  int status_ = 0, contacts_ = 0, sweeps_ = 0, warm_count_ = 0;
  gpu::Scratch<double> scratch_;
};

// Controls within the actuators' ranges.
void randomize_controls(Simulator& simulator, std::mt19937_64& random);

}  // namespace touchstone::test
