// Spatial algebra (Featherstone, "Rigid Body Dynamics Algorithms", ch. 2) on the four-lane vectors.
//
// All quantities of a kinematic tree are expressed in world axes about one reference point O (the origin
// of the tree's root body). Then a motion of the parent is a motion of the child, inertias of a subtree
// add up, and no transform is needed between bodies: the recursions become sums.
#pragma once

#include "touchstone/math/vec3.hpp"

namespace touchstone {

struct Motion {
  Vec3 angular;
  Vec3 linear;  // of the body-fixed point that coincides with O

  Motion& operator+=(const Motion& b) {
    angular += b.angular;
    linear += b.linear;
    return *this;
  }
};

struct Force {
  Vec3 torque;  // about O
  Vec3 force;

  Force& operator+=(const Force& b) {
    torque += b.torque;
    force += b.force;
    return *this;
  }
};

inline Motion operator+(const Motion& a, const Motion& b) { return {a.angular + b.angular, a.linear + b.linear}; }
inline Motion operator*(const Motion& a, double s) { return {a.angular * s, a.linear * s}; }
inline Force operator+(const Force& a, const Force& b) { return {a.torque + b.torque, a.force + b.force}; }
inline Force operator-(const Force& a, const Force& b) { return {a.torque - b.torque, a.force - b.force}; }
inline Force operator*(const Force& a, double s) { return {a.torque * s, a.force * s}; }

// Power of a force along a motion.
inline double dot(const Motion& m, const Force& f) {
  return sum(m.angular.lanes * f.torque.lanes + m.linear.lanes * f.force.lanes);
}

// v x m: rate of change of a motion vector m that moves with velocity v.
inline Motion cross(const Motion& v, const Motion& m) {
  return {cross(v.angular, m.angular), cross(v.angular, m.linear) + cross(v.linear, m.angular)};
}

// v x* f: rate of change of a force vector f that moves with velocity v.
inline Force cross(const Motion& v, const Force& f) {
  return {cross(v.angular, f.torque) + cross(v.linear, f.force), cross(v.angular, f.force)};
}

// Mass, centre of mass and inertia of one body, in its own frame.
struct BodyInertia {
  Vec3 com;      // metres, body frame
  Mat3 inertia;  // kg m^2, about the centre of mass, body axes
  double mass = 0.0;
};

// Inertia in world axes about O: mass, first moment h = m c, second moment about O.
struct SpatialInertia {
  Mat3 moment;
  Vec3 first;
  double mass = 0.0;

  SpatialInertia& operator+=(const SpatialInertia& b) {
    moment += b.moment;
    first += b.first;
    mass += b.mass;
    return *this;
  }
};

inline Force operator*(const SpatialInertia& I, const Motion& m) {
  return {I.moment * m.angular + cross(I.first, m.linear), I.mass * m.linear - cross(I.first, m.angular)};
}

// The inertia of a body with rotation R whose centre of mass lies at c from O (world axes).
inline SpatialInertia world_inertia(const BodyInertia& body, const Mat3& R, Vec3 c) {
  const Mat3 RI = R * body.inertia;
  const Mat3 Rt = transpose(R);
  const Vec3 h = c * body.mass;
  const Lanes hc = broadcast(dot(h, c));
  SpatialInertia I;
  I.mass = body.mass;
  I.first = h;
  I.moment.c0 = Vec3((RI * Rt.c0).lanes + hc * Lanes{1, 0, 0, 0} - h.lanes * broadcast(c[0]));
  I.moment.c1 = Vec3((RI * Rt.c1).lanes + hc * Lanes{0, 1, 0, 0} - h.lanes * broadcast(c[1]));
  I.moment.c2 = Vec3((RI * Rt.c2).lanes + hc * Lanes{0, 0, 1, 0} - h.lanes * broadcast(c[2]));
  return I;
}

}  // namespace touchstone
