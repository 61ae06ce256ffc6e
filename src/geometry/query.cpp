#include "touchstone/geometry/query.hpp"

#include <algorithm>
#include <limits>

#include "touchstone/geometry/closed_forms.hpp"

namespace touchstone {
namespace {

// Nearer than this fraction of the scale, EPA gives a better normal than the vector between the cores.
constexpr double kShallow = 1e-11;
// As in GJK: beyond this, products of four coordinates may overflow.
constexpr double kLargest = 1e70;

Lanes absolute(Vec3 v) { return v.lanes < 0.0 ? -v.lanes : v.lanes; }
Lanes absolute(const Pose& X) { return absolute(X.R.c0) + absolute(X.R.c1) + absolute(X.R.c2) + absolute(X.p); }

// Finite, and small enough to compute with.
bool acceptable(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB) {
  return sum(absolute(X_WA) + absolute(X_WB)) + A.extent() + B.extent() < kLargest;
}

Pose relative(const Pose& X_WA, const Pose& X_WB) {
  const Mat3 R_AW = transpose(X_WA.R);
  return {R_AW * X_WB.R, R_AW * (X_WB.p - X_WA.p)};
}

// From the cores to the shapes, all in the world.
void place(ContactResult& result, const ConvexShape& A, const ConvexShape& B, const CoreContact& c) {
  result.distance = c.distance - (A.radius() + B.radius());
  result.normal = c.normal;
  result.point_A = c.a + A.radius() * c.normal;
  result.point_B = c.b - B.radius() * c.normal;
  if (!finite(result.normal + (result.point_A + result.point_B)) || std::isnan(result.distance)) {
    result.status = QueryStatus::kInvalid;
  }
}

GjkOptions gjk_options(const QueryOptions& options, const QueryCache* cache) {
  GjkOptions gjk = options.gjk;
  gjk.boolean = false;
  if (cache != nullptr && cache->valid) {
    gjk.guess = GjkGuess::kDirection;
    gjk.direction = cache->direction;
  }
  return gjk;
}

void remember(QueryCache* cache, Vec3 direction) {
  if (cache == nullptr || !finite(direction)) return;
  cache->direction = direction;
  cache->valid = true;
}

QueryStatus status_of(GjkStatus status) {
  if (status == GjkStatus::kInvalid) return QueryStatus::kInvalid;
  return status == GjkStatus::kIterationLimit ? QueryStatus::kLimited : QueryStatus::kConverged;
}

// What distance and collide share: a formula, or the distance of the cores by GJK and, with a workspace, their depth by
// EPA.
void solve(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB, QueryWorkspace* workspace,
           const QueryOptions& options, QueryCache* cache, ContactResult& result) {
  if (!acceptable(A, X_WA, B, X_WB)) return;
  CoreContact c;
  if (closed_form(A, X_WA, B, X_WB, c)) {
    result.status = std::isinf(c.distance) ? QueryStatus::kUnbounded : QueryStatus::kConverged;
    place(result, A, B, c);
    return;
  }
  MinkowskiDifference D(A, B, relative(X_WA, X_WB));
  const GjkResult found = gjk(D, gjk_options(options, cache));
  result.gjk_iterations = found.iterations;
  result.status = status_of(found.status);
  if (result.status == QueryStatus::kInvalid) return;
  const bool overlapping = found.status == GjkStatus::kOverlapping;
  if (workspace != nullptr && (overlapping || found.distance <= kShallow * D.scale())) {
    const EpaResult deep = epa(D, found.simplex, workspace->epa, options.epa);
    result.epa_iterations = deep.iterations;
    result.status = deep.status == EpaStatus::kLimited ? QueryStatus::kLimited : QueryStatus::kConverged;
    c = {-deep.depth, deep.normal, deep.point_a, deep.point_b};
  } else {
    const Vec3 normal = found.distance > 0.0 ? found.separation * (-1.0 / found.distance) : Vec3(0, 0, 1);
    c = {overlapping ? 0.0 : found.distance, normal, found.point_a, found.point_b};
  }
  if (workspace != nullptr || !overlapping) remember(cache, -c.normal);
  place(result, A, B, {c.distance, X_WA.R * c.normal, X_WA * c.a, X_WA * c.b});
}

}  // namespace

ContactResult distance(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                       const QueryOptions& options, QueryCache* cache) {
  ContactResult result;
  solve(A, X_WA, B, X_WB, nullptr, options, cache, result);
  // Formulas know the depth; it is not asked for.
  if (result.valid()) result.distance = std::max(result.distance, -(A.radius() + B.radius()));
  return result;
}

ContactResult collide(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                      QueryWorkspace& workspace, const QueryOptions& options, QueryCache* cache) {
  ContactResult result;
  solve(A, X_WA, B, X_WB, &workspace, options, cache, result);
  return result;
}

OverlapStatus overlaps(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB, double margin,
                       const QueryOptions& options, QueryCache* cache) {
  if (!acceptable(A, X_WA, B, X_WB) || !(margin >= 0.0)) return OverlapStatus::kInvalid;
  CoreContact contact;
  if (closed_form(A, X_WA, B, X_WB, contact)) {
    if (std::isnan(contact.distance)) return OverlapStatus::kInvalid;
    const bool near = contact.distance <= A.radius() + B.radius() + margin;
    return near ? OverlapStatus::kOverlapping : OverlapStatus::kSeparated;
  }
  MinkowskiDifference D(A, B, relative(X_WA, X_WB));
  GjkOptions gjk_of = gjk_options(options, cache);
  gjk_of.boolean = true;
  gjk_of.threshold = D.radius() + margin;
  const GjkResult found = gjk(D, gjk_of);
  if (found.status == GjkStatus::kInvalid) return OverlapStatus::kInvalid;
  if (found.status == GjkStatus::kIterationLimit) return OverlapStatus::kUndecided;
  remember(cache, found.separation);
  return found.status == GjkStatus::kOverlapping ? OverlapStatus::kOverlapping : OverlapStatus::kSeparated;
}

}  // namespace touchstone
