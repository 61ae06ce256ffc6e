// Penetration depth by the expanding polytope algorithm (van den Bergen, "Proximity Queries and Penetration Depth
// Computation on 3D Game Objects", 2001).
//
// Problem: min h(n) over unit vectors n, where h(n) = max { n.x : x in D } and the origin lies in D = A - B: how far B
//   must move, along n, until the cores only touch.
// Method: a convex polytope inside D grows by the support point beyond its face nearest to the origin. The distance of
//   that face is a lower bound of the depth, every h(n) met an upper bound.
// Robustness: distances of faces are signed, so that an origin slightly outside is accepted and its face expanded
//   first; a new point must lie clearly beyond a face to remove it; slivers, whose normals mean nothing, are never
//   chosen and go with their visible neighbours; a support point that is a vertex of its face ends the search; when
//   the topology or the pools give out, or the bounds cross, the best direction so far is the answer.
// Cost: 40 to 150 support points for smooth shapes; no allocation after the workspace is made.
#pragma once

#include <vector>

#include "touchstone/collision/narrow/minkowski.hpp"
#include "touchstone/collision/narrow/query_options.hpp"

namespace touchstone {

enum class EpaStatus : std::uint8_t {
  kConverged,
  kFlat,     // D has no volume: the depth is zero along the normal of its plane or line
  kLimited,  // iterations or precision ran out; depth and normal separate the cores, but may not be the least
};

struct EpaResult {
  EpaStatus status = EpaStatus::kFlat;
  double depth = 0.0;        // h(normal), m; negative by rounding errors only
  double lower_bound = 0.0;  // of the depth
  Vec3 normal;               // unit, from A to B, in the frame of A: moving B by depth * normal separates the cores
  Vec3 point_a, point_b;     // on the cores, in the frame of A; point_a - point_b = depth * normal
  int iterations = 0;
};

// The pools of EPA. One workspace serves any number of calls, one at a time.
class EpaWorkspace {
 public:
  explicit EpaWorkspace(int max_iterations = EpaOptions().max_iterations);

  struct Face {
    Vec3 normal;             // unit, outward
    double distance = 0.0;   // of its plane from the origin, positive when the origin is inside
    int vertices[3] = {};    // counter-clockwise from outside
    int neighbours[3] = {};  // across the edge from vertex k to vertex k + 1
    int neighbour_edges[3] = {};
    int created = 0;  // tells a reused place in the pool from what was there before
    bool alive = false, sliver = false;
  };
  struct Candidate {
    double distance;
    int face, created;
  };
  struct HorizonEdge {
    int face, edge;
  };

  std::vector<MinkowskiVertex> vertices;
  std::vector<Face> faces;
  std::vector<int> free_faces;  // places given back
  std::vector<int> fresh;       // the faces of the last step
  std::vector<Candidate> heap;
  std::vector<HorizonEdge> horizon, stack;
  int max_iterations;
};

// `simplex` is where GJK ended. options.max_iterations is cut to what the workspace was made for.
EpaResult epa(MinkowskiDifference& D, const Simplex& simplex, EpaWorkspace& workspace, const EpaOptions& options = {});

}  // namespace touchstone
