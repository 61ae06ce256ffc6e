// Who looks on while a step goes from event to event, to differentiate it (diff/event_derivatives.hpp).
#pragma once

#include <span>

#include "touchstone/sim/events/smooth_motion.hpp"

namespace touchstone {

class EventWatcher {
 public:
  virtual ~EventWatcher() = default;

  // Smooth motion begins: after its rate at the start.
  virtual void begin_motion(const SmoothMotion& motion) = 0;
  // It has lasted `size` seconds: after its rate at the end, which has become `end`.
  virtual void end_motion(double size, const State& end) = 0;
  // What ended it, if it was an event, before others do anything about it.
  virtual void event(const SmoothMotion& motion, const SmoothMotion::Guard& guard) = 0;
  // Of what touches, whose state is that before it.
  virtual void impact(const Survey& touching, const VectorX& v) = 0;
  virtual void impact_without_collision() = 0;
  // The velocities of these rows were taken away.
  virtual void rest(const Survey& touching, std::span<const int> rows, const VectorX& v) = 0;
};

}  // namespace touchstone
