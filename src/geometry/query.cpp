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

bool usable(const Pose& X) {
  const bool is_finite = finite(X.p) && finite(X.R.c0) && finite(X.R.c1) && finite(X.R.c2);
  return is_finite && norm(X.p) < kLargest && norm(X.R.c0) + norm(X.R.c1) + norm(X.R.c2) < kLargest;
}

Pose relative(const Pose& X_WA, const Pose& X_WB) {
  const Mat3 R_AW = transpose(X_WA.R);
  return {R_AW * X_WB.R, R_AW * (X_WB.p - X_WA.p)};
}

// From the cores in the frame of A to the shapes in the world.
void place(ContactResult& result, const ConvexShape& A, const ConvexShape& B, const Pose& X_WA, const CoreContact& c) {
  result.distance = c.distance - (A.radius() + B.radius());
  result.normal = X_WA.R * c.normal;
  result.point_A = X_WA * (c.a + A.radius() * c.normal);
  result.point_B = X_WA * (c.b - B.radius() * c.normal);
  const bool is_finite = finite(result.normal) && finite(result.point_A) && finite(result.point_B);
  if (!is_finite || std::isnan(result.distance)) result.status = QueryStatus::kInvalid;
}

GjkOptions gjk_options(const QueryOptions& options, const QueryCache* cache) {
  GjkOptions gjk = options.gjk;
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

CoreContact core_contact(const GjkResult& found) {
  const Vec3 normal = found.distance > 0.0 ? found.separation * (-1.0 / found.distance) : Vec3(0, 0, 1);
  return {found.distance, normal, found.point_a, found.point_b};
}

ContactResult by_formula(const ConvexShape& A, const ConvexShape& B, const Pose& X_WA, const Pose& X_AB) {
  ContactResult result;
  result.status = QueryStatus::kConverged;
  const CoreContact c = closed_form(A, B, X_AB);
  place(result, A, B, X_WA, c);
  if (std::isinf(c.distance) && result.status == QueryStatus::kConverged) result.status = QueryStatus::kUnbounded;
  return result;
}

bool acceptable(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB) {
  return usable(X_WA) && usable(X_WB) && A.extent() < kLargest && B.extent() < kLargest;
}

}  // namespace

ContactResult distance(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                       const QueryOptions& options, QueryCache* cache) {
  ContactResult result;
  if (!acceptable(A, X_WA, B, X_WB)) return result;
  const Pose X_AB = relative(X_WA, X_WB);
  if (has_closed_form(A.core(), B.core())) {
    result = by_formula(A, B, X_WA, X_AB);
    if (result.valid()) result.distance = std::max(result.distance, -(A.radius() + B.radius()));
    return result;
  }
  MinkowskiDifference D(A, B, X_AB);
  GjkOptions gjk_of = gjk_options(options, cache);
  gjk_of.boolean = false;
  const GjkResult found = gjk(D, gjk_of);
  result.gjk_iterations = found.iterations;
  result.status = status_of(found.status);
  if (result.status == QueryStatus::kInvalid) return result;
  CoreContact c = core_contact(found);
  if (found.status == GjkStatus::kOverlapping) c.distance = 0.0;
  place(result, A, B, X_WA, c);
  if (found.status != GjkStatus::kOverlapping) remember(cache, found.separation);
  return result;
}

ContactResult collide(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                      QueryWorkspace& workspace, const QueryOptions& options, QueryCache* cache) {
  ContactResult result;
  if (!acceptable(A, X_WA, B, X_WB)) return result;
  const Pose X_AB = relative(X_WA, X_WB);
  if (has_closed_form(A.core(), B.core())) return by_formula(A, B, X_WA, X_AB);
  MinkowskiDifference D(A, B, X_AB);
  GjkOptions gjk_of = gjk_options(options, cache);
  gjk_of.boolean = false;
  const GjkResult found = gjk(D, gjk_of);
  result.gjk_iterations = found.iterations;
  result.status = status_of(found.status);
  if (result.status == QueryStatus::kInvalid) return result;
  CoreContact c = core_contact(found);
  if (found.status == GjkStatus::kOverlapping || found.distance <= kShallow * D.scale()) {
    const EpaResult deep = epa(D, found.simplex, workspace.epa, options.epa);
    result.epa_iterations = deep.iterations;
    result.status = deep.status == EpaStatus::kLimited ? QueryStatus::kLimited : QueryStatus::kConverged;
    c = {-deep.depth, deep.normal, deep.point_a, deep.point_b};
  }
  place(result, A, B, X_WA, c);
  remember(cache, -c.normal);
  return result;
}

OverlapStatus overlaps(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB, double margin,
                       const QueryOptions& options, QueryCache* cache) {
  if (!acceptable(A, X_WA, B, X_WB) || !(margin >= 0.0)) return OverlapStatus::kInvalid;
  const Pose X_AB = relative(X_WA, X_WB);
  if (has_closed_form(A.core(), B.core())) {
    const ContactResult contact = by_formula(A, B, X_WA, X_AB);
    if (contact.status == QueryStatus::kInvalid) return OverlapStatus::kInvalid;
    return contact.distance <= margin ? OverlapStatus::kOverlapping : OverlapStatus::kSeparated;
  }
  MinkowskiDifference D(A, B, X_AB);
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
