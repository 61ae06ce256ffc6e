// 6x6 inertias of articulated bodies in world axes about the reference point of their tree (Featherstone, ch. 7).
#pragma once

#include "touchstone/math/spatial.hpp"

namespace touchstone {

// Symmetric: [angular; linear] blocks by columns.
struct ArticulatedInertia {
  Mat3 angular;   // torque due to angular acceleration
  Mat3 coupling;  // force due to angular acceleration (its transpose: torque due to linear acceleration)
  Mat3 linear;    // force due to linear acceleration

  ArticulatedInertia& operator+=(const ArticulatedInertia& b) {
    angular += b.angular;
    coupling += b.coupling;
    linear += b.linear;
    return *this;
  }
};

inline ArticulatedInertia articulated(const SpatialInertia& I) {
  const Vec3 h = I.first;
  const Lanes m = broadcast(I.mass);
  // force = m l - h x w: the coupling is -[h]x.
  return {I.moment,
          {Vec3(0, -h[2], h[1]), Vec3(h[2], 0, -h[0]), Vec3(-h[1], h[0], 0)},
          {Vec3(m * Lanes{1, 0, 0, 0}), Vec3(m * Lanes{0, 1, 0, 0}), Vec3(m * Lanes{0, 0, 1, 0})}};
}

inline Force times(const ArticulatedInertia& I, const Motion& m) {
  return {I.angular * m.angular + transpose_times(I.coupling, m.linear), I.coupling * m.angular + I.linear * m.linear};
}

// I <- I - share U U'
inline void remove_product(ArticulatedInertia& I, const Force& U, double share) {
  const Vec3 t = U.torque * share;
  const Vec3 f = U.force * share;
  I.angular.c0 -= U.torque * t[0];
  I.angular.c1 -= U.torque * t[1];
  I.angular.c2 -= U.torque * t[2];
  I.coupling.c0 -= U.force * t[0];
  I.coupling.c1 -= U.force * t[1];
  I.coupling.c2 -= U.force * t[2];
  I.linear.c0 -= U.force * f[0];
  I.linear.c1 -= U.force * f[1];
  I.linear.c2 -= U.force * f[2];
}

}  // namespace touchstone
