#include "scene_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <fmt/core.h>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/data.hpp"
#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone::cli {
namespace {

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

Json list_of(const Vector3& p) {
  const auto rounded = [](double x) { return std::round(1e4 * x) / 1e4; };
  return {rounded(p.x()), rounded(p.y()), rounded(p.z())};
}

using Point = std::array<double, 2>;

struct Outline {
  double depth = 0.0;  // towards us
  std::vector<Point> points;
  const Json* shape = nullptr;
};

// To the right, up, and towards us.
std::array<double, 3> seen(const Json& p) {
  constexpr double kTurn = 35.0 * std::numbers::pi / 180.0, kTilt = 18.0 * std::numbers::pi / 180.0;
  const double x = p.at(0), y = p.at(1), z = p.at(2);
  const double right = x * std::cos(kTurn) - y * std::sin(kTurn), away = x * std::sin(kTurn) + y * std::cos(kTurn);
  return {right, z * std::cos(kTilt) + away * std::sin(kTilt), z * std::sin(kTilt) - away * std::cos(kTilt)};
}

// One half of the convex hull of points in order (Andrew's monotone chain), without its last point.
template <typename Iterator>
void append_half_hull(Iterator begin, const Iterator& end, std::vector<Point>& hull) {
  const std::size_t first = hull.size();
  for (; begin != end; ++begin) {
    const Point& p = *begin;
    while (hull.size() > first + 1) {
      const Point &a = hull[hull.size() - 2], &b = hull.back();
      if ((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 0.0) break;
      hull.pop_back();
    }
    hull.push_back(p);
  }
  hull.pop_back();
}

std::vector<Point> hull_of(std::vector<Point> points) {
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  if (points.size() < 3) return points;
  std::vector<Point> hull;
  append_half_hull(points.begin(), points.end(), hull);
  append_half_hull(points.rbegin(), points.rend(), hull);
  return hull;
}

std::vector<Outline> outlines_of(const Json& picture) {
  std::vector<Outline> outlines;
  for (const Json& shape : picture.at("shapes")) {
    Outline outline;
    outline.shape = &shape;
    std::vector<Point> points;
    for (const Json& p : shape.at("points")) {
      const auto [right, up, near] = seen(p);
      points.push_back({right, up});
      outline.depth += near / static_cast<double>(shape["points"].size());
    }
    outline.points = hull_of(std::move(points));
    outlines.push_back(std::move(outline));
  }
  std::stable_sort(outlines.begin(), outlines.end(),
                   [](const Outline& a, const Outline& b) { return a.depth < b.depth; });
  return outlines;
}

}  // namespace

Json scene_picture(const Scene& scene) {
  const Model& model = *scene.model;
  Data data(model);
  forward_kinematics(model, model.defaults, scene.start, data);
  Json out{{"shapes", Json::array()}, {"loops", Json::array()}};
  for (const ShapeElement& element : model.shapes) {
    const std::vector<Vector3> points = points_of(element.shape);
    if (points.empty()) continue;
    const Transform pose = body_pose(data, element.body) * element.pose;
    Json list = Json::array();
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

std::string picture_svg(const Json& picture) {
  constexpr double kWidth = 220.0, kHeight = 180.0, kMargin = 10.0;
  const std::vector<Outline> outlines = outlines_of(picture);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Point low{kInfinity, kInfinity}, high{-kInfinity, -kInfinity};
  for (const Outline& outline : outlines) {
    for (const Point& p : outline.points) {
      for (std::size_t k = 0; k < 2; ++k) {
        low.at(k) = std::min(low.at(k), p.at(k));
        high.at(k) = std::max(high.at(k), p.at(k));
      }
    }
  }
  if (!(low[0] <= high[0])) return "";
  const double extent =
      std::max({(high[0] - low[0]) / (kWidth - 2 * kMargin), (high[1] - low[1]) / (kHeight - 2 * kMargin), 1e-9});
  const auto place = [&](double right, double up) {
    return Point{(right - 0.5 * (low[0] + high[0])) / extent + 0.5 * kWidth,
                 (0.5 * (low[1] + high[1]) - up) / extent + 0.5 * kHeight};
  };
  std::string out = fmt::format("<svg viewBox='0 0 {} {}' role='img'>", kWidth, kHeight);
  for (const Outline& outline : outlines) {
    std::string points;
    for (const Point& p : outline.points) {
      const Point at = place(p[0], p[1]);
      points += fmt::format("{:.1f},{:.1f} ", at[0], at[1]);
    }
    const auto channel = [&](std::size_t k) { return 255.0 * outline.shape->at("color").at(k).get<double>(); };
    out += fmt::format(
        "<polygon points='{}' fill='rgb({:.0f},{:.0f},{:.0f})' fill-opacity='{}' stroke='var(--edge)' "
        "stroke-opacity='0.5' stroke-width='0.5'/>",
        points, channel(0), channel(1), channel(2), outline.shape->at("shell").get<bool>() ? 0.25 : 0.85);
  }
  for (const Json& loop : picture.at("loops")) {
    const auto [right, up, near] = seen(loop);
    const Point at = place(right, up);
    out += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='2.4' fill='var(--six)'/>", at[0], at[1]);
  }
  return out + "</svg>";
}

}  // namespace touchstone::cli
