// NESMINO, a slow reference of the study (Qin, An, "Smoothing algorithms for computing the projection onto a Minkowski
// sum of convex sets", 2019; the paper's Tab. III).
//
// Problem: min |x|^2 / 2 over x in D = A - B. Its dual is max over u of -|u|^2 / 2 - h_A(-u) - h_B(u), with the support
// functions h. They are smoothed: h(v) becomes max { v.y - mu |y|^2 / 2 } over the set, attained at the projection of
// v / mu onto it. Nesterov's accelerated gradient method minimises the negative dual, which is strongly convex with
// constant 1 and smooth with constant 1 + 2 / mu; when the gradient is small, mu shrinks. One iteration is a projection
// onto each set. It ends when |x| is as near to the known distance as asked for.
#pragma once

#include "touchstone/collision/narrow/convex.hpp"

namespace bench {

struct NesminoResult {
  int iterations = 0;
  double distance = 0.0;
  bool converged = false;
};

// For boxes and ellipsoids.
NesminoResult nesmino(const touchstone::ConvexShape& A, const touchstone::ConvexShape& B, const touchstone::Pose& X_AB,
                      double known_distance, double tolerance, int max_iterations);

}  // namespace bench
