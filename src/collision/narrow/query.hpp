// Questions about a pair of convex shapes, and rays: the public face of the narrow phase.
//
//   const ConvexShape ball = ConvexShape::sphere(0.1), crate = ConvexShape::box({0.2, 0.2, 0.2});
//   QueryWorkspace workspace;  // one for each thread, reused: no query allocates
//   const ContactResult contact = collide(ball, X_WB, crate, X_WC, workspace);
//   if (contact.valid() && contact.distance < 0.0) ...
//
// Shapes are their cores grown by their radii (convex.hpp). Numerical trouble is a status, never an exception.
#pragma once

#include <cstdint>

#include "touchstone/collision/manifold/contact_patch.hpp"
#include "touchstone/collision/narrow/epa.hpp"
#include "touchstone/collision/narrow/gjk.hpp"
#include "touchstone/collision/narrow/query_options.hpp"

namespace touchstone {

// Memory for the queries. Not for two threads at once.
struct QueryWorkspace {
  EpaWorkspace epa;
  PatchWorkspace patch;  // for manifolds
};

// What a query of a pair leaves for the next one of the same pair; valid for slowly moving shapes.
struct QueryCache {
  Vec3 direction;   // from B to A, in the frame of A
  Simplex simplex;  // for WarmStart::kTransformed; empty after Boolean queries that need none
  bool valid = false;
  // m: the shapes were at least so far apart when a query for a manifold last found none; else -infinity.
  double apart = -kInfinity;
  int feature_count = 0;  // ids of the last manifold's points
  std::uint64_t features[4] = {};
};

enum class QueryStatus : std::uint8_t {
  kConverged,
  kLimited,    // iterations or precision ran out: an answer near the best
  kUnbounded,  // two half-spaces that are not parallel: they overlap without end
  kInvalid,    // a pose that is not finite, or numbers too large to compute with
};

struct ContactResult {
  QueryStatus status = QueryStatus::kInvalid;
  double distance = 0.0;  // signed: negative is the depth of penetration, m
  Vec3 normal;            // unit, from A to B, in the world
  Vec3 point_A, point_B;  // on the surfaces, in the world; point_B - point_A = distance * normal
  int gjk_iterations = 0, epa_iterations = 0;

  bool valid() const { return status == QueryStatus::kConverged || status == QueryStatus::kLimited; }
};

// Signed distance with normal and witness points.
ContactResult collide(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                      QueryWorkspace& workspace, const QueryOptions& options = {}, QueryCache* cache = nullptr);

// As collide, without depth: shapes whose cores overlap are at distance minus the sum of their radii (0 without radii),
// and the normal means nothing then. Needs no workspace.
ContactResult distance(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                       const QueryOptions& options = {}, QueryCache* cache = nullptr);

enum class OverlapStatus : std::uint8_t { kSeparated, kOverlapping, kUndecided, kInvalid };

// Whether the shapes are at most `margin` (m, not negative) apart; ends as soon as that is known. kUndecided: the
// iteration limit came first.
OverlapStatus overlaps(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                       double margin = 0.0, const QueryOptions& options = {}, QueryCache* cache = nullptr);

}  // namespace touchstone
