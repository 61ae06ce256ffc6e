// Names of the vertices, edges, faces and smooth parts of a convex shape.
#pragma once

#include <cstdint>

namespace touchstone {

enum class FeatureType : std::uint8_t {
  kVertex,
  kEdge,    // also the side of a cylinder or cone, and a segment
  kFace,    // also a cap of a cylinder, the base of a cone, a half-space
  kSmooth,  // a point of a curved surface: it moves over the body when the normal turns
};

// The name of a feature.
//   vertex  first: as ConvexShape::support reports it (side lines: 0 at the upper and 1 at the lower end)
//   edge    first < second: its vertices
//   face    first: polytope: its index; box: 2 axis + (1 if it looks down); caps: 0 upper, 1 lower; triangle: 0 front,
//           1 back; half-space: 0
//   smooth  first: 0; on the rim of a disk: 8 cap + k, with k = 0..3 for the fixed points, 4 for the deepest, 5 and 6
//           where an edge or another rim crosses it, 7 for any other
struct FeatureName {
  FeatureType type = FeatureType::kSmooth;
  int first = 0, second = 0;
  bool operator==(const FeatureName&) const = default;
};

inline FeatureName vertex_name(int v) { return {FeatureType::kVertex, v, 0}; }
inline FeatureName edge_name(int v, int w) { return {FeatureType::kEdge, v < w ? v : w, v < w ? w : v}; }
inline FeatureName face_name(int f) { return {FeatureType::kFace, f, 0}; }
inline FeatureName smooth_name(int k) { return {FeatureType::kSmooth, k, 0}; }

// The features of the cores that made a point or a manifold: what derivatives of the contact depend on. For a manifold
// these are the support features along the normal: a face of A (or else of B) means that the normal turns with that
// body; two edges, that it is their cross product; a vertex or an edge against a smooth point, or two smooth ones, that
// it follows the curvature. For a point they say how it moves: a vertex with its body, a crossing of two edges with
// both.
struct ActiveFeatures {
  FeatureName A, B;
};

}  // namespace touchstone
