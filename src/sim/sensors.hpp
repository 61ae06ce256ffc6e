// Values of the model's sensors, as MuJoCo defines them.
//
// Sensors are read at the start of the last step, with the accelerations and forces of that step: what MuJoCo's
// sensordata holds after mj_step. Without noise. Differences: a rangefinder sees colliding shapes alone, and actuator
// forces are those that the step applied (ConstraintModel::kRigid takes servos at its end).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "touchstone/collision/collision_shape.hpp"
#include "touchstone/dynamics/data.hpp"
#include "touchstone/sim/constraints.hpp"
#include "touchstone/sim/detection/detector.hpp"
#include "touchstone/sim/models/rules.hpp"
#include "touchstone/sim/sleep.hpp"

namespace touchstone {

// What sensors see of a step.
struct SensorView {
  const Model& model;
  const Parameters& parameters;
  const State& state;  // where the step evaluated its forces
  const Input& input;
  const VectorX& acceleration;    // nv
  const VectorX& actuator_force;  // nu
  const Constraints& constraints;
  const VectorX& lambda;  // at least nrow
  const CollisionDetector& detector;
  const ConstraintRules& rules;
  double h;
  std::span<const SleepingIsland> asleep;  // whose constraints are not among the others
};

class Sensors {
 public:
  explicit Sensors(const Model& model);

  int size() const { return static_cast<int>(values_.size()); }
  // Where a sensor's numbers begin; it has sensor_dimension(type) of them.
  int start(int sensor) const { return start_[static_cast<std::size_t>(sensor)]; }
  const VectorX& values() const { return values_; }
  // Fills values(). Computes kinematics in a workspace of its own.
  void read(const SensorView& view);
  void clear() { values_.setZero(); }

 private:
  std::vector<int> start_;
  VectorX values_;
  Data data_;
  VectorX scratch_;
  std::vector<Force> external_;  // nbody: forces on the subtree that do not come from its parent
  std::vector<std::unique_ptr<CollisionShape>> volume_;  // by sensor: where a touch sensor feels
};

}  // namespace touchstone
