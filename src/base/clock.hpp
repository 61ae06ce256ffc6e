#pragma once

#include <chrono>
#include <cstdint>

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

// The same for intervals of microseconds that are measured all the time: reading the processor's counter costs a third
// of what the system's clock costs. Its rate is measured once (0.2 ms), so that seconds are right to a thousandth.
class QuickWatch {
 public:
  // Returns the seconds up to now and starts again from zero.
  double restart() {
    const std::int64_t now = ticks();
    const double elapsed = static_cast<double>(now - start_) * seconds_per_tick();
    start_ = now;
    return elapsed;
  }

 private:
  static std::int64_t ticks();
  static double seconds_per_tick();
  std::int64_t start_ = ticks();
};

// A moment that work must not go on after. Without a limit it never passes, and asking costs nothing.
class Deadline {
 public:
  Deadline() = default;
  // `seconds` from now; infinity, or more than a clock can count: never.
  static Deadline in(double seconds) {
    constexpr double kForever = 1e9;
    Deadline deadline;
    if (!(seconds < kForever)) return deadline;
    deadline.limited_ = true;
    deadline.at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    return deadline;
  }

  bool passed() const { return limited_ && Clock::now() >= at_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point at_{};
  bool limited_ = false;
};

}  // namespace touchstone
