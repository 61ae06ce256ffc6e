// The rebound from a one-sided spring with a damper: what a solref with a damping ratio below 1 means for contacts and
// limits that are rigid.
//
// A body meets the spring at the speed v. MuJoCo's constraints prescribe the acceleration x'' = -2 z w x' - w^2 x, less
// the share 1 - d (from solimp) of the acceleration -a that the body has without them, its load, as long as they push:
// until x'' = -a, or until the body is back at x = 0. Without a load, with z = cos c and the phase p = w t sin c,
//
//   x'' = w v e^(-p cot c) sin(2 c - p) / sin c,    x' = v e^(-p cot c) sin(p - c) / sin c,
//
// so that the contact ends at p = 2 c, and the restitution is e(z) = exp(-2 c cot c): 1 for z = 0, exp(-2) for z = 1. A
// load puts the end off. Up to a = w v e(z)^(3/2), the largest -x'', the body still leaves when it would be pulled;
// beyond that it leaves at p = pi if d = 1, with exp(-pi cot c), and slower or not at all if d < 1.
#pragma once

#include "touchstone/model/elements.hpp"

namespace touchstone {

// The share of `speed` (m/s or rad/s, positive) that a body leaves with; `load` is a (m/s^2 or rad/s^2), none if
// negative. Zero for springs that are not underdamped.
double rebound(const Impedance& impedance, double speed, double load);

}  // namespace touchstone
