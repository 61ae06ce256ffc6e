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

#include <limits>

#include "touchstone/geometry/minkowski.hpp"

namespace touchstone {

enum class GjkVariant : std::uint8_t {
  kFrankWolfe,          // Alg. 1, with line search; slow, for comparisons
  kVanilla,             // Alg. 4
  kPolyak,              // Alg. 6
  kNesterov,            // Alg. 6
  kNesterovNormalized,  // Alg. 6 with Alg. 7
  kAutomatic,           // as the first support point suggests: kNesterov for close cores, kVanilla for others
};

// Where the search starts: the four strategies of the paper's Fig. 12.
enum class GjkGuess : std::uint8_t {
  kFixedDirection,  // none: x0 = (1, 0, 0)
  kCentres,         // x0 = the vector between the centres of the bounding boxes
  kDirection,       // previous: x0 = GjkOptions::direction, such as the last separation vector in the frame of A
  kSimplex,         // transformed previous: GjkOptions::simplex of an earlier result, its points moved with the shapes
};

struct GjkOptions {
  GjkVariant variant = GjkVariant::kAutomatic;
  double relative_tolerance = 1e-10;  // stop when upper - lower bound <= this times the upper bound
  double absolute_tolerance = 0.0;    // m; stop also when upper - lower bound <= this, polyhedral pairs too
  double gap_tolerance = 0.0;         // m^2; stop also when 2 x.(x - s) <= this (the paper's epsilon)
  int max_iterations = 256;
  GjkGuess guess = GjkGuess::kCentres;
  Vec3 direction;                    // from B to A in the frame of A, any length; for kDirection
  const Simplex* simplex = nullptr;  // for kSimplex; must outlive the call
  // Boolean query: end as soon as the cores are known to be farther apart than `threshold` (m), or not.
  bool boolean = false;
  double threshold = 0.0;
  // End as soon as the cores are known to be farther apart than this (m): GjkResult::beyond.
  double cutoff = std::numeric_limits<double>::infinity();
};

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
