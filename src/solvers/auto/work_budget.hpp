// Counted work that several solves share, so that all of them together end.
//
// Why counted: the same problem takes the same way on every machine and with any number of threads, which a clock would
// not promise. One for each thread; who shares one among islands divides it before they begin (sim/island_solver.hpp).
#pragma once

#include <limits>

namespace touchstone {

class WorkBudget {
 public:
  // Nanoseconds of one core, about, as auto/moves.cpp counts sweeps and Newton steps.
  explicit WorkBudget(double limit = std::numeric_limits<double>::infinity()) : limit_(limit) {}

  void spend(double work) { spent_ += work; }
  double spent() const { return spent_; }
  double left() const { return limit_ - spent_; }
  bool ended() const { return spent_ >= limit_; }

 private:
  double limit_, spent_ = 0.0;
};

}  // namespace touchstone
