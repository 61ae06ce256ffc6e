// The point of a simplex nearest to the origin, GJK's "distance sub-algorithm".
//
// As the signed volumes method of Montanari, Petrinic, Barbieri, "Improving the GJK algorithm for faster and more
// reliable distance queries between convex objects", 2017: descend only to those faces that have the origin on their
// outer side, and take the nearest answer. Where a volume or an area vanishes, its sign says nothing; then all faces
// are tried, so that degenerate simplices get the right answer too. Unlike there, areas and volumes are formed with
// vector products of edges, which lose fewer digits than coordinates when the simplex is small and far away.
#pragma once

#include "touchstone/math/vec3.hpp"

namespace touchstone {

struct SimplexProjection {
  Vec3 x;                  // the nearest point
  double weights[4] = {};  // convex weights of the vertices, zero for those not needed
  double squared = 0.0;    // |x|^2
  bool contains = false;   // a tetrahedron around the origin; then x = 0
};

// Of `count` (1 to 4) points. Not finite input gives a result that is not finite, never an index out of range.
SimplexProjection project_origin(const Vec3* points, int count);

}  // namespace touchstone
