// Operations on triangle meshes.
#pragma once

#include "touchstone/geometry/shape.hpp"

namespace touchstone {

// Merges vertices that agree to the last bit and drops triangles that collapse.
void merge_vertices(TriangleMesh& mesh);

// The convex hull with outward triangles (qhull). Throws Error for fewer than four points or a flat set.
TriangleMesh convex_hull(const TriangleMesh& mesh);

// Axis-aligned bounds.
struct Bounds {
  Vector3 lower, upper;
};

// Wider by so much on every side.
inline Bounds grown(Bounds box, double by) {
  box.lower.array() -= by;
  box.upper.array() += by;
  return box;
}
Bounds bounds(const TriangleMesh& mesh);
// Local bounds of a finite shape (planes give infinite ones).
Bounds bounds(const Shape& shape);

}  // namespace touchstone
