// What the variational midpoint rule does to momenta and forces of a body that turns (dynamics/variational.hpp): z is
// the cross product with x, half of the rotation vector of a step.
#pragma once

#include <cmath>

#include "touchstone/math/types.hpp"

namespace touchstone {

// (z/sinh z) p: 1 along the rotation vector x, angle/sin(angle) across it.
inline Vector3 stretched(const Vector3& x, const Vector3& p) {
  const double squared = x.squaredNorm(), angle = std::sqrt(squared);
  // (angle/sin(angle) - 1)/angle^2, by its series near zero.
  const double c = angle < 1e-2 ? (1.0 + squared * (7.0 / 60.0)) / 6.0 : (angle / std::sin(angle) - 1.0) / squared;
  return p + c * (squared * p - x * x.dot(p));
}

// (1 - tanh(z/2))/2 f = (1 + exp(z))^-1 f: half of it, carried along by half of the rotation.
inline Vector3 half_carried(const Vector3& x, const Vector3& f) {
  const double angle = x.norm();
  const double c = angle < 1e-4 ? 0.5 : std::tan(0.5 * angle) / angle;
  return 0.5 * (f - c * x.cross(f));
}

}  // namespace touchstone
