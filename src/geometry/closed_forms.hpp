// Pairs whose signed distance has a formula that beats GJK and EPA: a sphere with a sphere, capsule, box, cylinder or
// cone, two capsules, and a half-space with anything.
#pragma once

#include "touchstone/geometry/convex.hpp"

namespace touchstone {

struct CoreContact {
  double distance = 0.0;  // signed, of the cores
  Vec3 normal;            // unit, from A to B
  Vec3 a, b;              // on the cores; b - a = distance * normal
};

// Signed distance of the cores, in the world. False, with `contact` as it was, if the pair has no formula.
bool closed_form(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB, CoreContact& contact);

}  // namespace touchstone
