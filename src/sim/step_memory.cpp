#include "touchstone/sim/step_memory.hpp"

namespace touchstone {

StepMemory::StepMemory(const StepContext& s)
    : state(s.state),
      cache(s.cache),
      detector(s.detector),
      late(s.late),
      cycles(s.cycles),
      mocap(s.has_before ? s.before.mocap : std::vector<Transform>()),
      since_pass(s.since_pass),
      recovery_reach(s.recovery_reach),
      next_part(s.next_part),
      sleep(s.sleep),
      actuator_force(s.actuator_force),
      left_velocity(s.left_velocity) {}

void StepMemory::keep(const StepContext& s) {
  state = s.state;
  cache = s.cache;
  detector = s.detector;
  late = s.late;
  cycles = s.cycles;
  mocap.clear();
  if (s.has_before) mocap.assign(s.before.mocap.begin(), s.before.mocap.end());
  since_pass = s.since_pass;
  recovery_reach = s.recovery_reach;
  next_part = s.next_part;
  if (s.sleep.is_enabled()) sleep = s.sleep;
  actuator_force = s.actuator_force;
  left_velocity = s.left_velocity;
}

void StepMemory::restore(StepContext& s) const {
  s.state = state;
  s.cache = cache;
  s.detector = detector;
  s.late = late;
  s.cycles = cycles;
  s.has_before = !mocap.empty();
  s.before.mocap.assign(mocap.begin(), mocap.end());
  s.since_pass = since_pass;
  s.recovery_reach = recovery_reach;
  s.next_part = next_part;
  s.sleep.take(sleep);
  s.actuator_force = s.data.actuator_force = actuator_force;
  s.left_velocity = left_velocity;
  s.copies_whole = true;
  s.is_resting = false;
}

}  // namespace touchstone
