// Support features: what part of a convex shape faces a direction, a vertex, an edge or a face.
//
// The support point of convex.hpp is one point. A box that lies on a floor touches it with a whole face, and a cylinder
// on its side with a line: the feature is the largest face or edge of the core at the support point that is
// perpendicular to the direction within kFeatureAngle.
#pragma once

#include <vector>

#include "touchstone/geometry/convex.hpp"

namespace touchstone {

// Sine of the angle within which faces and edges count as perpendicular to a direction: 5 degrees.
inline constexpr double kFeatureAngle = 0.08715574274765817;

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

struct FeatureVertex {
  Vec3 point;
  int name = 0;
};

struct SupportFeature {
  FeatureName name;
  // The ends of an edge, the loop of a face (counter-clockwise from outside); empty for a disk or a half-space; else
  // the support point.
  std::vector<FeatureVertex> vertices;
  Vec3 normal;        // of a face, unit, outward
  bool disk = false;  // a face that is a disk around `centre`
  Vec3 centre;
  double radius = 0.0;
  bool unbounded = false;  // a half-space; `centre` is a point of its plane

  bool is_point() const { return name.type == FeatureType::kVertex || name.type == FeatureType::kSmooth; }
  bool is_edge() const { return name.type == FeatureType::kEdge; }
  bool is_face() const { return name.type == FeatureType::kFace; }
};

// The feature of the core of `shape` along the unit vector d, in the frame of the shape. `feature` is overwritten; its
// memory is reused.
void find_support_feature(const ConvexShape& shape, Vec3 d, SupportFeature& feature);

}  // namespace touchstone
