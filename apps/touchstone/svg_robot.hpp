// A drawing of a model in several configurations at once, as SVG text.
#pragma once

#include <string>
#include <vector>

#include "touchstone/model/model.hpp"

namespace touchstone::cli {

struct RobotPicture {
  std::vector<VectorX> configurations;      // drawn in this order, each over the ones before
  std::vector<Vector3> path;                // a dashed line behind the robots, may be empty
  Vector3 toward_viewer{0.42, -1.0, 0.32};  // seen from there, infinitely far away; z points up
};

// Spheres, capsules, boxes, cylinders and ellipsoids with flat shading; meshes as the outline of their hull. Planes
// and height fields are left out.
std::string robot_svg(const Model& model, const RobotPicture& picture);

}  // namespace touchstone::cli
