#include "touchstone/collision/narrow/query.hpp"

#include <algorithm>
#include <limits>

#include "touchstone/collision/narrow/closed_forms.hpp"
#include "touchstone/collision/narrow/lanes3.hpp"

namespace touchstone {
namespace {

// Nearer than this fraction of the scale, EPA gives a better normal than the vector between the cores.
constexpr double kShallow = 1e-11;

// Finite, and small enough to compute with.
bool acceptable(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB) {
  const Vec3 rotations = X_WA.R.c0 + X_WA.R.c1 + X_WA.R.c2 + X_WB.R.c0 + X_WB.R.c1 + X_WB.R.c2;
  const double sizes = A.extent() + A.radius() + B.extent() + B.radius();
  return sum(absolute(rotations.lanes) + absolute(X_WA.p.lanes) + absolute(X_WB.p.lanes)) + sizes < kLargestCoordinate;
}

// From the cores to the shapes, all in the world.
[[gnu::always_inline]] inline ContactResult placed(QueryStatus status, const ConvexShape& A, const ConvexShape& B,
                                                   const CoreContact& c) {
  return {status,
          c.distance - (A.radius() + B.radius()),
          c.normal,
          c.a + A.radius() * c.normal,
          c.b - B.radius() * c.normal,
          0,
          0};
}

GjkOptions gjk_options(const QueryOptions& options, const QueryCache* cache) {
  GjkOptions gjk = options.gjk;
  gjk.boolean = false;
  if (cache == nullptr || !cache->valid || options.warm_start == WarmStart::kNone) return gjk;
  const bool simplex = options.warm_start == WarmStart::kTransformed && cache->simplex.size > 0;
  gjk.guess = simplex ? GjkGuess::kSimplex : GjkGuess::kDirection;
  gjk.direction = cache->direction;
  gjk.simplex = &cache->simplex;
  return gjk;
}

void remember(QueryCache* cache, Vec3 direction, const GjkResult& found, const QueryOptions& options) {
  if (cache == nullptr || !finite(direction)) return;
  cache->direction = direction;
  if (options.warm_start == WarmStart::kTransformed) cache->simplex = found.simplex;
  cache->valid = true;
}

QueryStatus status_of(GjkStatus status) {
  if (status == GjkStatus::kInvalid) return QueryStatus::kInvalid;
  return status == GjkStatus::kIterationLimit ? QueryStatus::kLimited : QueryStatus::kConverged;
}

// The distance of the cores by GJK and, with a workspace, their depth by EPA.
[[gnu::noinline]] ContactResult by_iteration(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B,
                                             const Pose& X_WB, QueryWorkspace* workspace, const QueryOptions& options,
                                             QueryCache* cache) {
  MinkowskiDifference D(A, B, relative(X_WA, X_WB));
  GjkOptions gjk_of = gjk_options(options, cache);
  if (workspace != nullptr) gjk_of.cutoff = std::max(0.0, options.cutoff + D.radius());
  const GjkResult found = gjk(D, gjk_of);
  QueryStatus status = status_of(found.status);
  if (status == QueryStatus::kInvalid) return {};
  if (found.beyond) {
    remember(cache, found.separation, found, options);
    return {status,
            found.lower_bound - D.radius(),
            X_WA.R * (found.separation * (-1.0 / norm(found.separation))),
            {},
            {},
            found.iterations,
            0};
  }
  const bool overlapping = found.status == GjkStatus::kOverlapping;
  const Vec3 normal = found.distance > 0.0 ? found.separation * (-1.0 / found.distance) : Vec3(0, 0, 1);
  CoreContact c{overlapping ? 0.0 : found.distance, normal, found.point_a, found.point_b};
  int epa_iterations = 0;
  if (workspace != nullptr && (overlapping || found.distance <= kShallow * D.scale())) {
    const EpaResult deep = epa(D, found.simplex, workspace->epa, options.epa);
    epa_iterations = deep.iterations;
    status = deep.status == EpaStatus::kLimited ? QueryStatus::kLimited : QueryStatus::kConverged;
    c = {-deep.depth, deep.normal, deep.point_a, deep.point_b};
  }
  if (workspace != nullptr || !overlapping) remember(cache, -c.normal, found, options);
  ContactResult result = placed(status, A, B, {c.distance, X_WA.R * c.normal, X_WA * c.a, X_WA * c.b});
  result.gjk_iterations = found.iterations;
  result.epa_iterations = epa_iterations;
  const bool is_finite = finite(result.normal + (result.point_A + result.point_B)) && !std::isnan(result.distance);
  if (!is_finite) result.status = QueryStatus::kInvalid;
  return result;
}

bool are_spheres(const ConvexShape& A, const ConvexShape& B) {
  return A.core() == CoreType::kPoint && B.core() == CoreType::kPoint;
}

ContactResult spheres(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB) {
  return placed(QueryStatus::kConverged, A, B, closed_forms::points(X_WA.p, X_WB.p));
}

// Finite for acceptable input, without looking. A function of its own: inline, it would make the query of two spheres
// save registers.
[[gnu::noinline]] ContactResult by_formula(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B,
                                           const Pose& X_WB, double least_distance) {
  CoreContact c = closed_form(A, X_WA, B, X_WB);
  const QueryStatus status = std::isinf(c.distance) ? QueryStatus::kUnbounded : QueryStatus::kConverged;
  c.distance = std::max(c.distance, least_distance);
  return placed(status, A, B, c);
}

}  // namespace

ContactResult distance(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                       const QueryOptions& options, QueryCache* cache) {
  if (!acceptable(A, X_WA, B, X_WB)) return {};
  if (are_spheres(A, B)) return spheres(A, X_WA, B, X_WB);
  if (has_closed_form(A.core(), B.core())) return by_formula(A, X_WA, B, X_WB, 0.0);
  return by_iteration(A, X_WA, B, X_WB, nullptr, options, cache);
}

ContactResult collide(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                      QueryWorkspace& workspace, const QueryOptions& options, QueryCache* cache) {
  if (!acceptable(A, X_WA, B, X_WB)) return {};
  if (are_spheres(A, B)) return spheres(A, X_WA, B, X_WB);
  if (has_closed_form(A.core(), B.core())) return by_formula(A, X_WA, B, X_WB, -kInfinity);
  return by_iteration(A, X_WA, B, X_WB, &workspace, options, cache);
}

OverlapStatus overlaps(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB, double margin,
                       const QueryOptions& options, QueryCache* cache) {
  if (!acceptable(A, X_WA, B, X_WB) || !(margin >= 0.0)) return OverlapStatus::kInvalid;
  if (has_closed_form(A.core(), B.core())) {
    const double apart = closed_form(A, X_WA, B, X_WB).distance;
    return apart <= A.radius() + B.radius() + margin ? OverlapStatus::kOverlapping : OverlapStatus::kSeparated;
  }
  MinkowskiDifference D(A, B, relative(X_WA, X_WB));
  GjkOptions gjk_of = gjk_options(options, cache);
  gjk_of.boolean = true;
  gjk_of.threshold = D.radius() + margin;
  const GjkResult found = gjk(D, gjk_of);
  if (found.status == GjkStatus::kInvalid) return OverlapStatus::kInvalid;
  if (found.status == GjkStatus::kIterationLimit) return OverlapStatus::kUndecided;
  remember(cache, found.separation, found, options);
  return found.status == GjkStatus::kOverlapping ? OverlapStatus::kOverlapping : OverlapStatus::kSeparated;
}

}  // namespace touchstone
