// The distance of two convex cores by the algorithm of Gilbert, Johnson and Keerthi and its accelerations.
//
// Problem: min |x|^2 over x in D = A - B, the Minkowski difference, given by its support function.
// Method: Montaut, Le Lidec, Petrik, Sivic, Carpentier, "GJK++: Leveraging Acceleration Methods for Faster
//   Collision Detection": GJK is the fully corrective Frank-Wolfe algorithm (Alg. 4); a momentum on the direction of
//   support gives its Polyak and Nesterov versions (Alg. 6), normalised for shapes that are not strictly convex
//   (Alg. 7, Eq. 33).
// Stopping: for s the support point along -x, x.(x - s) bounds the error (the duality gap, Eq. 16-18): |x| is an upper
//   and x.s/|x| a lower bound of the distance. An accelerated version that meets the criterion with a direction other
//   than x drops its momentum for good (Alg. 6, line 5-7).
// Deviations: tolerances are relative to the distance by default, because shapes come in all sizes; a support point
//   that is in the simplex already, or a projection that comes no nearer, ends the search, as these mean that only
//   rounding errors are left. Polyhedral pairs run to that end whatever the relative tolerance.
#pragma once

#include <cstdint>

#include "touchstone/collision/narrow/minkowski.hpp"
#include "touchstone/collision/narrow/query_options.hpp"

namespace touchstone {

enum class GjkStatus : std::uint8_t {
  kSeparated,       // the distance is positive (Boolean: greater than the threshold)
  kOverlapping,     // the cores share a point (Boolean: the distance is at most the threshold)
  kIterationLimit,  // not converged; the bounds hold all the same
  kInvalid,         // a pose that is not finite, an unbounded shape, or numbers too large to square
};

struct GjkResult {
  GjkStatus status = GjkStatus::kInvalid;
  double distance = 0.0;     // |separation|: an upper bound of the distance of the cores, m
  double lower_bound = 0.0;  // a lower bound of it
  Vec3 separation;           // a - b of the nearest points found, in the frame of A
  Vec3 point_a, point_b;     // witness points on the cores, both in the frame of A
  bool beyond = false;  // GjkOptions::cutoff ended it: `distance` is the lower bound, `separation` a direction only
  Simplex simplex;      // the active vertices with weights, for EPA and for warm starts
  int iterations = 0;
  int support_calls = 0;
};

GjkResult gjk(MinkowskiDifference& D, const GjkOptions& options = {});

}  // namespace touchstone
