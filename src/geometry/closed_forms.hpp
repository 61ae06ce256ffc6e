// Pairs whose signed distance has a formula that beats GJK and EPA.
#pragma once

#include "touchstone/geometry/convex.hpp"

namespace touchstone {

struct CoreContact {
  double distance = 0.0;  // signed, of the cores
  Vec3 normal;            // unit, from A to B
  Vec3 a, b;              // on the cores; b - a = distance * normal
};

// Whether closed_form knows the pair, in either order.
bool has_closed_form(CoreType a, CoreType b);

// Signed distance of the cores, in the frame of A. The pair must have a closed form.
CoreContact closed_form(const ConvexShape& A, const ConvexShape& B, const Pose& X_AB);

}  // namespace touchstone
