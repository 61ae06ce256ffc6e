#pragma once

#include <chrono>

namespace touchstone {

// Wall time since construction or the last restart, from a clock that never jumps.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  // Returns the seconds up to now and starts again from zero.
  double restart() {
    const Clock::time_point now = Clock::now();
    const double elapsed = std::chrono::duration<double>(now - start_).count();
    start_ = now;
    return elapsed;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace touchstone
