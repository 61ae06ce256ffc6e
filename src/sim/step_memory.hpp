// Everything that the next step depends on, apart from options, parameters and input: with it a step can be made again.
#pragma once

#include <vector>

#include "touchstone/sim/step_context.hpp"

namespace touchstone {

struct StepMemory {
  explicit StepMemory(const StepContext& s);

  // Without new memory, unless contacts have become more.
  void keep(const StepContext& s);
  void restore(StepContext& s) const;

  State state;
  ContactCache cache;
  CollisionDetector detector;
  LateContacts late;
  CycleWatch cycles;
  std::vector<Transform> mocap;  // of the step before; none if there was no step
  double since_pass, recovery_reach, next_part;
  Sleep sleep;
  VectorX actuator_force;  // that of what sleeps is not computed again
  VectorX left_velocity;
};

}  // namespace touchstone
