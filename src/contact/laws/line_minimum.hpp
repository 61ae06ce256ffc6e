// The minimum of a convex function on a line, by the zero of its slope: Newton's method within a bracket.
#pragma once

#include <cmath>

#include "touchstone/math/types.hpp"

namespace touchstone {

struct LineMinimum {
  double length = 0.0;
  bool converged = false;  // else `length` is the best that was found, where the function is still smaller than at 0
};

// slope(t, second) is the first derivative at t >= 0, which rises, and the second; `start` is -slope at 0. Stops when
// the slope is `accuracy` of that, or at rounding.
template <typename Slope>
LineMinimum minimise_on_line(double start, Slope&& slope, double accuracy = 1e-10) {
  constexpr int kMaxTrials = 100;
  constexpr int kBisectEvery = 3;  // a flat start with a steep end makes Newton creep
  double low = 0.0, high = kInfinity, t = 1.0;
  for (int trial = 1; trial <= kMaxTrials; ++trial) {
    double second = 0.0;
    const double first = slope(t, second);
    if (std::abs(first) <= accuracy * start) return {t, true};
    (first < 0.0 ? low : high) = t;
    double next = second > 0.0 ? t - first / second : kInfinity;
    const bool outside = !(next > low && next < high);
    if (outside || (trial % kBisectEvery == 0 && high < kInfinity))
      next = high < kInfinity ? 0.5 * (low + high) : 2.0 * t;
    if (!(next > low && next < high)) return {low > 0.0 ? low : t, true};  // neighbours in double precision
    t = next;
  }
  return {low > 0.0 ? low : t, false};
}

}  // namespace touchstone
