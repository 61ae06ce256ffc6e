// Many worlds of a scene by the batched backend beside a run: what --device of touchstone run adds to it.
//
// The run's simulator follows one of the worlds: each of its steps starts where that world is. So everything that a run
// shows and keeps (contacts, forces, energy, certificate, replay, recording) is of that world, by the simulator, and
// the difference between both after each step is known.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "touchstone/gpu/batch.hpp"
#include "touchstone/scenes/scene.hpp"
#include "touchstone/sim/simulator.hpp"
#include "touchstone/viewer/frame.hpp"

namespace touchstone::cli {

struct BatchRequest {
  std::string device;  // lanes or cuda; empty: no batch
  int worlds = 0;      // 0: 16 on lanes, 1024 with cuda
  int world = 0;       // that is shown
  double noise = 0.0;  // m/s or rad/s: velocities of each world up to so far from the scene's
  int seed = 1;
};

class BatchRun {
 public:
  // Throws Error: no such device, no library, no such world, what the backend does not support.
  BatchRun(const Scene& scene, const BatchRequest& request);

  // Puts the simulator where the world is.
  void lead(Simulator& sim) const;
  // A step of all worlds with the input of the simulator's last step.
  void follow(const Simulator& sim);

  std::vector<CertificateItem> checks() const;
  std::string text() const;  // a line about the batch
  nlohmann::ordered_json json() const;

 private:
  void read_world();
  // Of steps that were made; infinite where all were lost.
  double quantile(double share) const;
  double worst() const;
  double without_certificates() const;

  BatchRequest request_;
  double tolerance_ = 0.0;
  int nq_, nv_, na_, bodies_;
  std::unique_ptr<gpu::WorldBatch> batch_;
  std::vector<double> q_, v_, activation_, loop_q_, time_, natv_, control_, wrench_, all_control_, all_wrench_;
  std::vector<int> status_;
  std::vector<double> certificates_;  // of all worlds and steps, at most so many; the worst is kept apart
  double worst_ = 0.0, seconds_ = 0.0, difference_ = 0.0;
  long steps_ = 0, above_ = 0, lost_ = 0;  // world-steps
};

}  // namespace touchstone::cli
