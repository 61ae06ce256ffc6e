// The curvature that a core would have if its corners were smoothed: the Hessian of its support function, convolved
// with noise (004, "Differentiable collision detection", IV, eq. 26 to 28).
//
// Deviations: noise is added to the unit normal, not to the separation, so that the smoothing does not depend on the
// distance; Gaussian noise in the plane across it, for along it the support point does not change.
#pragma once

#include <vector>

#include "touchstone/collision/derivatives/gaussian_samples.hpp"
#include "touchstone/collision/narrow/convex.hpp"

namespace touchstone {

// Monte-Carlo, eq. 26: E[p(n + noise z) z'] / noise, symmetric, across n. `noise` is about an angle (rad).
Matrix3 gaussian_curvature(const ConvexShape& shape, Vec3 n, double noise, const GaussianSamples& samples);

// Scratch of the neighbourhood of a vertex.
struct Neighbourhood {
  std::vector<int> vertices;
  std::vector<int> seen;  // by vertex: the call that saw it
  int call = 0;
};

// Vertices that a neighbourhood holds at most; what lies farther is left out.
inline constexpr int kMostNeighbours = 512;

// Gumbel noise on n.v_i (m) in closed form, eq. 27 and 28: a soft-max over the corners within `depth` edges of the
// support point. False for cores without corners, or without edges (polytopes of points in a plane count all of them).
bool gumbel_curvature(const ConvexShape& shape, Vec3 n, double noise, int depth, Neighbourhood& scratch, Matrix3& out);

}  // namespace touchstone
