// The variational midpoint rule between events: Boussema's "EB-midpoint" (docs/references.md, III-B2b).
//
// The paper keeps two knots and finds the third from the discrete Euler-Lagrange equation; where an impact divides a
// step it rolls the knots and makes the steps on both sides of it unequal, with the momentum on the left taken from the
// velocity after the impact. Written as a balance of momenta at the ends of one step (dynamics/variational.hpp) that
// needs nothing of its own: a step of any size begins at a knot with p0 = M v, v being the velocity after the impact,
// and an event ends it at another.
//   (z/sinh z) M(q_m) w = exp(-z) p0 + (h/2) (1 - tanh(z/2)) F(q_m, w),   p1 = exp(-z) (exp(-z) p0 + h F(q_m, w)).
// F has all forces at the middle, those of closed contacts among them, with the modes of the smooth step. Solved by
// Newton's method with M in place of its derivative. Of second order; energy sways and does not drift while nothing
// touches.
#pragma once

#include <vector>

#include "touchstone/math/types.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

class SmoothMotion;

class KnotStep {
 public:
  explicit KnotStep(const Model& model);

  // From motion.start(), with the size h; the unknowns of the motion at the end. False: no solution near by.
  bool make(SmoothMotion& motion, double h, VectorX& end);
  int iterations() const { return iterations_; }

 private:
  bool find_velocity(SmoothMotion& motion, double h);
  // All forces at the middle, with the gradient of the kinetic energy.
  void find_force(SmoothMotion& motion);

  int nv_;
  std::vector<int> rotations_;  // the first of three dofs of each
  VectorX w_, p0_, momentum_, force_, gravity_, correction_, y_, rate_;
  int iterations_ = 0;
};

}  // namespace touchstone
