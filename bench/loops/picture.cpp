#include "picture.hpp"

#include <cmath>
#include <numbers>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/data.hpp"
#include "touchstone/dynamics/kinematics.hpp"

namespace bench {
namespace {

using namespace touchstone;
using nlohmann::json;

std::vector<Vector3> ring(double radius, double z) {
  constexpr int kPoints = 12;
  std::vector<Vector3> points;
  for (int i = 0; i < kPoints; ++i) {
    const double angle = 2.0 * std::numbers::pi * i / kPoints;
    points.emplace_back(radius * std::cos(angle), radius * std::sin(angle), z);
  }
  return points;
}

void append(std::vector<Vector3>& points, const std::vector<Vector3>& more) {
  points.insert(points.end(), more.begin(), more.end());
}

void append_ball(std::vector<Vector3>& points, double radius, double z) {
  for (int i = -2; i <= 2; ++i) {
    const double angle = 0.25 * std::numbers::pi * i;
    append(points, ring(radius * std::cos(angle), z + radius * std::sin(angle)));
  }
}

// Points whose hull looks like the shape; none for what has no end.
std::vector<Vector3> points_of(const Shape& shape) {
  std::vector<Vector3> points;
  const Vector3& s = shape.size;
  switch (shape.type) {
    case ShapeType::kBox:
      for (const double x : {-1.0, 1.0}) {
        for (const double y : {-1.0, 1.0}) {
          for (const double z : {-1.0, 1.0}) points.emplace_back(x * s.x(), y * s.y(), z * s.z());
        }
      }
      break;
    case ShapeType::kSphere:
      append_ball(points, s.x(), 0.0);
      break;
    case ShapeType::kCapsule:
      append_ball(points, s.x(), -s.y());
      append_ball(points, s.x(), s.y());
      break;
    case ShapeType::kCylinder:
      append(points, ring(s.x(), -s.y()));
      append(points, ring(s.x(), s.y()));
      break;
    case ShapeType::kMesh:
      points = shape.mesh->vertices;
      break;
    default:
      break;
  }
  return points;
}

json list_of(const Vector3& p) {
  const auto rounded = [](double x) { return std::round(1e4 * x) / 1e4; };
  return {rounded(p.x()), rounded(p.y()), rounded(p.z())};
}

}  // namespace

json picture(const Scene& scene) {
  const Model& model = *scene.model;
  Data data(model);
  forward_kinematics(model, model.defaults, scene.start, data);
  json out{{"shapes", json::array()}, {"loops", json::array()}};
  for (const ShapeElement& element : model.shapes) {
    const std::vector<Vector3> points = points_of(element.shape);
    if (points.empty()) continue;
    const Transform pose = body_pose(data, element.body) * element.pose;
    json list = json::array();
    for (const Vector3& p : points) list.push_back(list_of(pose * p));
    const bool shell = element.shape.type == ShapeType::kMesh && element.shape.mesh->name.ends_with("/shell");
    out["shapes"].push_back({{"color", {element.color[0], element.color[1], element.color[2]}},
                             {"shell", shell},
                             {"points", std::move(list)}});
  }
  for (const LoopJoint& joint : model.loop_joints) {
    out["loops"].push_back(list_of((body_pose(data, joint.body_b) * joint.frame_b).position));
  }
  for (const Equality& equality : model.equalities) {
    if (equality.type != EqualityType::kConnect) continue;
    out["loops"].push_back(list_of(body_pose(data, equality.a) * equality.anchor_a));
  }
  return out;
}

}  // namespace bench
