// Distances, overlaps and rays of collision shapes: the nearest of their pieces and triangles.
#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/collision/collision_shape.hpp"

namespace touchstone {
namespace {

bool is_finite(const Pose& X) { return finite(X.p) && finite(X.R.c0) && finite(X.R.c1) && finite(X.R.c2); }

// A piece, or a triangle as a convex.
ConvexShape part(const CollisionShape& shape, int index) {
  if (shape.surface() == nullptr) return shape.pieces()[static_cast<std::size_t>(index)];
  const SurfaceTriangle t = shape.surface()->triangle(index);
  return ConvexShape::triangle(t.vertices[0], t.vertices[1], t.vertices[2], shape.surface_radius());
}

void parts_near(const CollisionShape& shape, const Bounds& box, std::vector<int>& parts) {
  parts.clear();
  if (shape.surface() != nullptr) return shape.surface()->overlapping(grown(box, shape.surface_radius()), parts);
  if (shape.is_convex()) return parts.push_back(0);
  shape.tree().overlapping(box, [&](int i) {
    parts.push_back(i);
    return true;
  });
}

// Calls visit(part of A, part of B) for all whose boxes are no farther apart than `reach`, until it returns false.
template <typename Visit>
void pairs_near(const CollisionShape& A, const CollisionShape& B, const Pose& X_AB, const Pose& X_BA, double reach,
                CollisionWorkspace& workspace, const Visit& visit) {
  std::vector<int>&parts_A = workspace.surface.triangles, &parts_B = workspace.surface.other_triangles;
  parts_near(A, grown(B.bounds(X_AB), reach), parts_A);
  for (const int i : parts_A) {
    const ConvexShape a = part(A, i);
    parts_near(B, grown(a.bounds(X_BA), reach), parts_B);
    for (const int j : parts_B) {
      if (!visit(a, part(B, j))) return;
    }
  }
}

// The gap between two boxes; 0 when they overlap or are infinite.
double gap(const Bounds& a, const Bounds& b) {
  const double d = (a.lower - b.upper).cwiseMax(b.lower - a.upper).cwiseMax(0.0).norm();
  return std::isfinite(d) ? d : 0.0;
}

}  // namespace

// Parts within a reach that grows until the nearest found is within it.
ContactResult distance(const CollisionShape& A, const Pose& X_WA, const CollisionShape& B, const Pose& X_WB,
                       CollisionWorkspace& workspace, const QueryOptions& options) {
  if (A.is_convex() && B.is_convex()) return distance(A.pieces()[0], X_WA, B.pieces()[0], X_WB, options);
  ContactResult best;
  if (!is_finite(X_WA) || !is_finite(X_WB)) return best;
  const Pose X_AB = relative(X_WA, X_WB), X_BA = relative(X_WB, X_WA);
  const Bounds box_A = A.bounds(), box_B = B.bounds(X_AB);
  const double sizes[2] = {(box_A.upper - box_A.lower).norm(), (box_B.upper - box_B.lower).norm()};
  const double nearest_box = gap(box_A, box_B), smaller = std::min(sizes[0], sizes[1]);
  const double all = nearest_box + sizes[0] + sizes[1];
  double reach = std::isfinite(all) ? nearest_box + std::max(0.05 * smaller, 1e-3 * all) : kInfinity;
  for (bool last = false; !last;) {
    last = !(reach < all);
    pairs_near(A, B, X_AB, X_BA, reach, workspace, [&](const ConvexShape& a, const ConvexShape& b) {
      const ContactResult found = distance(a, X_WA, b, X_WB, options);
      if (found.valid() && (!best.valid() || found.distance < best.distance)) best = found;
      return !(best.valid() && best.distance <= 0.0);
    });
    last = last || (best.valid() && best.distance <= reach);
    reach = best.valid() ? best.distance : 2.0 * reach;
  }
  return best;
}

OverlapStatus overlaps(const CollisionShape& A, const Pose& X_WA, const CollisionShape& B, const Pose& X_WB,
                       double margin, CollisionWorkspace& workspace, const QueryOptions& options) {
  if (A.is_convex() && B.is_convex()) return overlaps(A.pieces()[0], X_WA, B.pieces()[0], X_WB, margin, options);
  if (!is_finite(X_WA) || !is_finite(X_WB) || !(margin >= 0.0)) return OverlapStatus::kInvalid;
  OverlapStatus result = OverlapStatus::kSeparated;
  const Pose X_AB = relative(X_WA, X_WB), X_BA = relative(X_WB, X_WA);
  pairs_near(A, B, X_AB, X_BA, margin, workspace, [&](const ConvexShape& a, const ConvexShape& b) {
    const OverlapStatus status = overlaps(a, X_WA, b, X_WB, margin, options);
    if (status != OverlapStatus::kSeparated) result = status;
    return status != OverlapStatus::kOverlapping;
  });
  return result;
}

RayResult raycast(const CollisionShape& shape, const Pose& X_WS, Vec3 origin_W, Vec3 direction_W,
                  const RayOptions& options) {
  if (shape.is_convex()) return raycast(shape.pieces()[0], X_WS, origin_W, direction_W, options);
  const double length = norm(direction_W);
  if (!is_finite(X_WS) || !finite(origin_W) || !(length > 0.0) || !std::isfinite(length)) return {};
  const Vec3 origin = transpose_times(X_WS.R, origin_W - X_WS.p);
  const Vec3 direction = transpose_times(X_WS.R, direction_W * (1.0 / length));
  RayResult best;
  best.status = RayStatus::kMiss;
  if (shape.surface() != nullptr) {
    best = shape.surface()->raycast(origin, direction, options.max_distance);
  } else {
    shape.tree().along_ray(origin, direction, options.max_distance, [&](int i, double& limit) {
      RayOptions nearer = options;
      nearer.max_distance = limit;
      const RayResult found = raycast(shape.pieces()[static_cast<std::size_t>(i)], Pose(), origin, direction, nearer);
      const bool counts = found.status != RayStatus::kMiss && found.status != RayStatus::kInvalid;
      if (!counts || best.status == RayStatus::kInside) return;
      best = found;
      limit = std::min(limit, found.distance);
    });
  }
  best.point = X_WS * best.point;
  best.normal = X_WS.R * best.normal;
  if (best.status == RayStatus::kInside) best.point = origin_W;
  return best;
}

}  // namespace touchstone
