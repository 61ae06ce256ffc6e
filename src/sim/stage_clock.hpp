// How long the stages of a step take. Within a step one ends where the next begins, so that a moment is read once for
// both: on small robots reading the clock is a part of the time.
#pragma once

#include "touchstone/base/clock.hpp"

namespace touchstone {

class StageClock {
 public:
  // As long as it lives, stages follow each other.
  class Chain {
   public:
    explicit Chain(StageClock& clock) : clock_(clock) {
      clock_.watch_.restart();
      clock_.is_chained_ = true;
    }
    ~Chain() { clock_.is_chained_ = false; }
    Chain(const Chain&) = delete;
    Chain& operator=(const Chain&) = delete;

   private:
    StageClock& clock_;
  };

  // At the start of a stage.
  void start() {
    if (!is_chained_) watch_.restart();
  }
  // Seconds since the start or the last lap.
  double lap() { return watch_.restart(); }

 private:
  QuickWatch watch_;
  bool is_chained_ = false;
};

}  // namespace touchstone
