// The zero of a function between two points at which it has different signs.
#pragma once

#include <cmath>
#include <limits>
#include <utility>

#include "touchstone/sim/options.hpp"

namespace touchstone {

// A point and the function there.
struct RootPoint {
  double x, f;
};

// By bisection, or by Brent's method (1973, ch. 4): inverse quadratic or linear interpolation where it converges,
// bisection where it does not. `a` has f >= 0, `b` has f < 0. Ends with a bracket of the size of the tolerance, after
// at most 200 calls of f. Returns its end at which f is negative: what was crossed is crossed there.
template <typename Function>
double find_root(RootMethod method, RootPoint a, RootPoint b, double tolerance, const Function& f) {
  constexpr int kMost = 200;
  RootPoint c = a;              // b is the best point, c the other end of the bracket, a the best one before
  double d = b.x - a.x, e = d;  // the last step and the one before it
  for (int i = 0; i < kMost; ++i) {
    if ((b.f < 0.0) == (c.f < 0.0)) {
      c = a;
      d = e = b.x - a.x;
    }
    if (std::abs(c.f) < std::abs(b.f)) {
      a = b;
      std::swap(b, c);
      a = c;
    }
    const double least = 2.0 * std::numeric_limits<double>::epsilon() * std::abs(b.x) + 0.5 * tolerance;
    const double half = 0.5 * (c.x - b.x);
    if (std::abs(half) <= least) break;
    const bool may_interpolate = method == RootMethod::kBrent && std::abs(e) >= least && std::abs(a.f) > std::abs(b.f);
    if (may_interpolate) {
      const double s = b.f / a.f;
      double p = 2.0 * half * s, q = 1.0 - s;
      if (a.x != c.x) {
        const double r = b.f / c.f, t = a.f / c.f;
        p = s * (2.0 * half * t * (t - r) - (b.x - a.x) * (r - 1.0));
        q = (t - 1.0) * (r - 1.0) * (s - 1.0);
      }
      if (p > 0.0) q = -q;
      p = std::abs(p);
      const bool converges = 2.0 * p < 3.0 * half * q - std::abs(least * q) && p < std::abs(0.5 * e * q);
      e = converges ? d : half;
      d = converges ? p / q : half;
    } else {
      d = e = half;
    }
    a = b;
    b.x += std::abs(d) > least ? d : std::copysign(least, half);
    b.f = f(b.x);
  }
  return b.f < 0.0 ? b.x : c.x;
}

}  // namespace touchstone
