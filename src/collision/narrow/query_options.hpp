// What one may choose about collision queries and the broad phase.
#pragma once

#include <cstdint>
#include <limits>

#include "touchstone/math/vec3.hpp"

namespace touchstone {

struct Simplex;

// --- GJK ---

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

// --- EPA ---

struct EpaOptions {
  double relative_tolerance = 1e-9;  // stop when upper - lower bound of the depth <= this times the scale of D
  double absolute_tolerance = 0.0;   // m; stop also when upper - lower bound <= this
  int max_iterations = 255;
};

// --- queries ---

// How a query with a QueryCache starts from what the last one of the pair has left. Without a cache, or for the first
// query, GjkOptions::guess decides.
enum class WarmStart : std::uint8_t {
  kNone,         // as without a cache
  kPrevious,     // GjkGuess::kDirection: the last separation, or the last normal of shapes that overlapped
  kTransformed,  // GjkGuess::kSimplex: the last simplex, its points moved along with the shapes
};

struct QueryOptions {
  GjkOptions gjk;  // threshold, boolean and cutoff are set by the query
  EpaOptions epa;
  // collide(): shapes farther apart than this (m) need not be measured; the answer is a lower bound of their distance,
  // a normal that separates them so far, and no points.
  double cutoff = std::numeric_limits<double>::infinity();
  WarmStart warm_start = WarmStart::kPrevious;
};

// --- the broad phase ---

struct BroadPhaseOptions {
  double fat_fraction = 0.1;  // how far a fat box reaches beyond the box, as a fraction of its largest side
  double fat_margin = 1e-3;   // m, added to that
  double prediction = 4.0;    // fat boxes reach so many displacements ahead
};

}  // namespace touchstone
