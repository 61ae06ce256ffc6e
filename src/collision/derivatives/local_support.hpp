// What a convex core looks like around a support point: how the point moves when the direction turns.
//
// Along a unit vector n the support point p(n) of a core obeys, to first order and in the frame of the shape,
//     dp = E x + C dn,   E' dn = 0
// with the directions E in which the point may slide (none at a vertex or on a curved surface, one on an edge or the
// side of a cylinder or cone, two on a face) and the curvature C, the Hessian of the support function where that
// exists (004, "Differentiable collision detection", IV): zero at vertices, edges and faces.
#pragma once

#include <cstdint>

#include "touchstone/collision/narrow/convex.hpp"
#include "touchstone/math/types.hpp"

namespace touchstone {

enum class SupportKind : std::uint8_t {
  kVertex,
  kEdge,
  kFace,
  kRim,     // of a cap of a cylinder, of the base of a cone
  kSide,    // of a cylinder, a cone
  kSmooth,  // an ellipsoid
};

struct LocalSupport {
  SupportKind kind = SupportKind::kVertex;
  Vec3 point;
  int slides = 0;
  Vec3 slide[2];                // unit, orthogonal to n, and to each other
  double tilt[2] = {0.0, 0.0};  // what slide' dn would make the feature lie across n exactly
  Matrix3 curvature = Matrix3::Zero();
  // Of cores with corners: those that span the feature, and the weights that make the point of them.
  int corners = 0;
  int corner[3] = {-1, -1, -1};  // as ConvexShape::support reports them
  Vec3 place[3];
  double weight[3] = {0.0, 0.0, 0.0};
};

// `n` is a unit vector, `point` the support point along it as a query has found it, both in the frame of the shape.
// Edges and faces count whose angle with the plane across n is at most `tolerance` (rad) and that have the point in
// their inside; a point on the border of a feature belongs to the smaller one.
LocalSupport find_local_support(const ConvexShape& shape, Vec3 n, Vec3 point, double tolerance);

// The support point after the direction has become n and the point has slid by x (m, along the slides).
Vec3 move_support(const ConvexShape& shape, const LocalSupport& local, Vec3 n, const double* x);

// By a size of the shape (Shape::size[index]): how the point moves at fixed n and slides, and what E' dn is then (the
// slope of a side changes with the sizes of a cone). A radius that is the whole shape's (sphere, capsule) counts as
// motion along n.
struct SizeChange {
  Vec3 point;
  double turn[2] = {0.0, 0.0};
};
int size_count(CoreType core);
SizeChange size_change(const ConvexShape& shape, const LocalSupport& local, Vec3 n, int index);

// By a coordinate of a corner of the feature.
SizeChange corner_change(const LocalSupport& local, Vec3 n, int corner, int axis);

}  // namespace touchstone
