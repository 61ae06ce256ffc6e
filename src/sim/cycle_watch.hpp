// Finds actuators that feed a limit cycle: the rate of the transmission changes its sign in every step, for many steps,
// and the actuator's work adds up to something positive. That is a controller which is too stiff for the time step: a
// servo whose force is taken at the start of the step, at a constant control, or one of the user's that drives a motor.
#pragma once

#include <vector>

#include "touchstone/math/types.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

class CycleWatch {
 public:
  static constexpr int kSteps = 20;         // of alternating sign
  static constexpr double kSlowest = 1e-3;  // m/s or rad/s: smaller ones are rounding or rest
  // Rates at the start of a step, forces and controls in it. Returns an actuator, or -1.
  int update(const Model& model, const VectorX& rate, const VectorX& force, const VectorX& control, double h);
  void clear() { list_.clear(); }

 private:
  struct Watched {
    double rate = 0.0, force = 0.0, control = 0.0;  // of the step before
    double work = 0.0;                              // J, since the signs alternate
    int steps = 0;
  };
  std::vector<Watched> list_;
};

}  // namespace touchstone
