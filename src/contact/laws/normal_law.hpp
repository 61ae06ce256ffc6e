// The normal impulse of a compliant contact as a function of the normal velocity v at the end of the step.
//
// With x_0 = -phi_0, the deformation s = x_0 - (h + tau) v, and the exponent p (1 linear, 3/2 Hertz):
//
//     n(v) = h k s_+^p (1 - d v)_+                     Castro et al. 2025, (7) and (22)
//
// tau = 0: Hunt and Crossley's dissipation d. d = 0, p = 1: a linear damper with relaxation time tau (Kelvin and
// Voigt), which does not pull. n falls with v, so the potential l(v), the integral of n from v to infinity, is convex,
// and l' = -n. It is zero where the contact is open: N of (23) but for a constant, and positive.
#pragma once

#include <cmath>

#include "touchstone/contact/blocks.hpp"

namespace touchstone {

struct NormalLaw {
  double h = 0.0;  // s
  double stiffness = 0.0;
  double deformation = 0.0;  // x_0
  double dissipation = 0.0;
  double relaxation = 0.0;  // less what of the step has elapsed
  Elasticity elasticity = Elasticity::kLinear;

  // Deformation s and 1 - d v at a velocity.
  struct Point {
    double s = 0.0, damping = 1.0;
    bool pushes() const { return s > 0.0 && damping > 0.0; }
  };
  // At v + dv, with the rounding of v counted once: stiff laws would multiply that of the sum.
  Point at(double v, double dv = 0.0) const {
    return {(deformation - reach() * v) - reach() * dv, (1.0 - dissipation * v) - dissipation * dv};
  }
  double impulse(const Point& at) const { return at.pushes() ? h * stiffness * power(at.s) * at.damping : 0.0; }
  double slope(const Point& at) const {
    if (!at.pushes()) return 0.0;
    const double rate = elasticity == Elasticity::kHertz ? 1.5 * std::sqrt(at.s) : 1.0;
    return -h * stiffness * (rate * reach() * at.damping + power(at.s) * dissipation);
  }

  double impulse(double v) const { return impulse(at(v)); }  // n
  double slope(double v) const { return slope(at(v)); }      // n', at most zero
  double cost(double v) const;                               // l

 private:
  double reach() const { return h + relaxation; }
  double power(double s) const { return elasticity == Elasticity::kHertz ? s * std::sqrt(s) : s; }  // s^p
};

}  // namespace touchstone
