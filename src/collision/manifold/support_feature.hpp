// Support features: what part of a convex shape faces a direction, a vertex, an edge or a face.
//
// The support point of convex.hpp is one point. A box that lies on a floor touches it with a whole face, and a cylinder
// on its side with a line: the feature is the largest face or edge of the core at the support point that is
// perpendicular to the direction within kFeatureAngle.
#pragma once

#include <vector>

#include "touchstone/collision/manifold/feature_name.hpp"
#include "touchstone/collision/narrow/convex.hpp"

namespace touchstone {

// Sine of the angle within which faces and edges count as perpendicular to a direction: 5 degrees.
inline constexpr double kFeatureAngle = 0.08715574274765817;

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
