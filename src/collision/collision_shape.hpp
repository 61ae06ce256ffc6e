// What a shape of a model is for collision: one convex, several, or a surface of triangles.
//
//   const CollisionShape crate = CollisionShape::make(box), ground = CollisionShape::make(terrain);
//   CollisionWorkspace workspace;       // one for each thread
//   PairCache cache;                    // one for each pair
//   std::vector<Manifold> manifolds;
//   collide(crate, X_WC, ground, X_WG, 0.001, workspace, &cache, manifolds);
#pragma once

#include <memory>

#include "touchstone/collision/surface/surface_contact.hpp"

namespace touchstone {

class CollisionShape {
 public:
  // Planes, primitives and mesh hulls are one convex; Shape::mesh_collision makes meshes triangles or pieces. `margin`
  // (m) grows the shape on all sides. Throws Error for missing or bad data.
  static CollisionShape make(const Shape& shape, double margin = 0.0);
  explicit CollisionShape(const ConvexShape& convex);

  // Convex pieces, in the frame of the shape; empty for a surface.
  const std::vector<ConvexShape>& pieces() const { return pieces_; }
  bool is_convex() const { return pieces_.size() == 1; }
  // Null for convex pieces.
  const TriangleSurface* surface() const { return surface_.get(); }
  double surface_radius() const { return radius_; }
  // The pieces by place; empty when there is one only.
  const Bvh& tree() const { return tree_; }

  // Local bounds, and bounds in the world (tight for convex shapes); infinite for planes.
  Bounds bounds() const { return local_; }
  Bounds bounds(const Pose& X_WS) const;

 private:
  CollisionShape() = default;

  std::vector<ConvexShape> pieces_;
  Bvh tree_;
  std::shared_ptr<const TriangleSurface> surface_;
  double radius_ = 0.0;  // of the surface
  Bounds local_{Vector3::Zero(), Vector3::Zero()};
};

// Memory for the queries of one thread.
struct CollisionWorkspace {
  QueryWorkspace query;
  SurfaceWorkspace surface;
};

// What a pair leaves for the next step.
struct PairCache {
  QueryCache query;
};

// Appends the manifolds of a pair: one for two convex shapes that touch, one for each pair of touching pieces, one for
// each normal on a surface. Ids are unique in the pair. Poses that are not finite append nothing and return kInvalid.
// A pair with a surface for which workspace.surface.allowance does not do is looked at with a smaller margin, and in
// the end as far as it goes: kLimited.
QueryStatus collide(const CollisionShape& A, const Pose& X_WA, const CollisionShape& B, const Pose& X_WB, double margin,
                    CollisionWorkspace& workspace, PairCache* cache, std::vector<Manifold>& out,
                    const QueryOptions& options = {});

// The distance of the nearest points of two shapes; not positive, without a meaningful normal, when they overlap.
// Surfaces count as thin here: a shape behind a surface is at a distance.
ContactResult distance(const CollisionShape& A, const Pose& X_WA, const CollisionShape& B, const Pose& X_WB,
                       CollisionWorkspace& workspace, const QueryOptions& options = {});

// Whether the shapes are at most `margin` apart; surfaces as in distance().
OverlapStatus overlaps(const CollisionShape& A, const Pose& X_WA, const CollisionShape& B, const Pose& X_WB,
                       double margin, CollisionWorkspace& workspace, const QueryOptions& options = {});

// The first point of a ray. Surfaces are hit from the front only.
RayResult raycast(const CollisionShape& shape, const Pose& X_WS, Vec3 origin_W, Vec3 direction_W,
                  const RayOptions& options = {});

}  // namespace touchstone
