// Contact manifolds: up to four points that stand for the whole contact of two convex shapes.
//
//   QueryWorkspace workspace;
//   const Manifold contact = collide_manifold(crate, X_WC, floor, X_WF, 0.001, workspace);
//   for (const ManifoldPoint& point : contact) ...
//
// Method: collide() gives the normal; the support features of both shapes are intersected along it (contact_patch.hpp)
//   and reduced to the four of largest area. What touches at one point gives the witness points of collide().
// Exactness: the points lie on the surfaces, point_B - point_A = distance * normal, and the least distance is that of
//   collide() within kDepthTie of the size of the smaller feature (disks tilted by less than 1e-6 rad: 5e-8 of their
//   radius; with a cache that remembers four points of more: 1e-6). Faces of rounded shapes tilted by t are measured
//   along the normal, hence off by radius * (1 - cos t), t <= 5 degrees. Corners of A may hang over the edge of a face
//   of B by kTie of its size.
#pragma once

#include "touchstone/collision/manifold/contact_frame.hpp"
#include "touchstone/collision/manifold/feature_name.hpp"
#include "touchstone/collision/narrow/query.hpp"

namespace touchstone {

struct ManifoldPoint {
  Vec3 point_A, point_B;      // on the surfaces, in the world
  double distance = 0.0;      // along the normal, negative: penetration, m
  std::uint64_t feature = 0;  // unique in the pair, and the same from step to step for the same features
  ActiveFeatures active;
};

struct Manifold {
  QueryStatus status = QueryStatus::kInvalid;
  Vec3 normal;  // unit, from A to B, in the world
  int count = 0;
  ManifoldPoint points[4];
  ActiveFeatures active;
  int sub_shape_A = 0, sub_shape_B = 0;  // piece, triangle or cell that the (first) contact belongs to

  const ManifoldPoint* begin() const { return points; }
  const ManifoldPoint* end() const { return points + count; }
  bool valid() const { return status == QueryStatus::kConverged || status == QueryStatus::kLimited; }
};

// The points of contact that are no farther apart than `margin` (m); none when the shapes are. A cache also remembers
// which four points were chosen of more, and keeps them while they are nearly the best.
Manifold collide_manifold(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB, double margin,
                          QueryWorkspace& workspace, const QueryOptions& options = {}, QueryCache* cache = nullptr);

// The same for a contact that collide() has found, valid and no farther apart than the margin.
Manifold manifold_of_contact(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                             const ContactResult& contact, double margin, QueryWorkspace& workspace,
                             QueryCache* cache = nullptr);

}  // namespace touchstone
