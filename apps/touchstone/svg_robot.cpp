#include "svg_robot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone::cli {
namespace {

constexpr double kWidth = 1080.0;  // user units
constexpr double kMargin = 24.0;
constexpr double kSmallestExtent = 0.1;  // m
constexpr int kCircle = 24;              // corners of a drawn circle
constexpr double kPi = 3.14159265358979323846;
constexpr std::array<std::pair<double, double>, 4> kCorners{{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}};
const Vector3 kLight = Vector3(0.35, -0.65, 1.0).normalized();

using Points = std::vector<Vector2>;

// One thing to paint, in metres of the picture plane (x right, y up).
struct Patch {
  enum class Kind { kPolygon, kDisc, kStroke } kind = Kind::kPolygon;
  Points points;        // corners; centre; ends
  double radius = 0.0;  // disc, stroke
  Eigen::Vector3d color;
};

// Parallel projection.
struct Camera {
  Vector3 right, up, toward;

  explicit Camera(const Vector3& toward_viewer) : toward(toward_viewer.normalized()) {
    right = Vector3::UnitZ().cross(toward).normalized();
    up = toward.cross(right);
  }
  Vector2 project(const Vector3& p) const { return {right.dot(p), up.dot(p)}; }
  double nearness(const Vector3& p) const { return toward.dot(p); }
};

double cross2(const Vector2& a, const Vector2& b, const Vector2& c) {
  return (b.x() - a.x()) * (c.y() - a.y()) - (b.y() - a.y()) * (c.x() - a.x());
}

// Corners of the convex hull, counter-clockwise (monotone chain).
Points convex_hull(Points points) {
  std::sort(points.begin(), points.end(),
            [](const Vector2& a, const Vector2& b) { return a.x() < b.x() || (a.x() == b.x() && a.y() < b.y()); });
  Points hull;
  const auto add_chain = [&hull](auto first, auto last) {
    const std::size_t start = hull.size();
    for (auto p = first; p != last; ++p) {
      while (hull.size() >= start + 2 && cross2(hull[hull.size() - 2], hull.back(), *p) <= 0.0) hull.pop_back();
      hull.push_back(*p);
    }
    hull.pop_back();
  };
  if (points.size() < 3) return points;
  add_chain(points.begin(), points.end());
  add_chain(points.rbegin(), points.rend());
  return hull;
}

Eigen::Vector3d shaded(const Eigen::Vector4d& color, const Vector3& normal) {
  const double light = 0.68 + 0.34 * std::max(-0.4, normal.dot(kLight));
  return (color.head<3>() * light).cwiseMin(1.0).cwiseMax(0.0);
}

// Draws the shapes of one configuration.
class Painter {
 public:
  Painter(const Camera& camera, std::vector<Patch>& patches) : camera_(camera), patches_(patches) {}

  void paint(const Shape& shape, const Transform& X, const Eigen::Vector4d& color) {
    switch (shape.type) {
      case ShapeType::kSphere:
        disc(X.position, shape.size.x(), color);
        break;
      case ShapeType::kCapsule: {
        const Vector3 axis = X.rotation * Vector3(0, 0, shape.size.y());
        stroke(X.position - axis, X.position + axis, shape.size.x(), color);
        break;
      }
      case ShapeType::kBox:
        box(shape.size, X, color);
        break;
      case ShapeType::kCylinder:
        cylinder(shape.size.x(), shape.size.y(), X, color);
        break;
      case ShapeType::kEllipsoid:
        ellipsoid(shape.size, X, color);
        break;
      case ShapeType::kCone:
        cone(shape.size.x(), shape.size.y(), X, color);
        break;
      case ShapeType::kMesh:
        if (shape.mesh) outline(shape.mesh->vertices, X, color);
        break;
      case ShapeType::kPlane:
      case ShapeType::kHeightField:
        break;
    }
  }

 private:
  void disc(const Vector3& center, double radius, const Eigen::Vector4d& color) {
    patches_.push_back({Patch::Kind::kDisc, {camera_.project(center)}, radius, shaded(color, camera_.toward)});
  }

  void stroke(const Vector3& a, const Vector3& b, double radius, const Eigen::Vector4d& color) {
    // The normal of a rod's visible side.
    const Vector3 along = (b - a).normalized();
    const Vector3 normal = (camera_.toward - along.dot(camera_.toward) * along).normalized();
    patches_.push_back({Patch::Kind::kStroke, {camera_.project(a), camera_.project(b)}, radius, shaded(color, normal)});
  }

  void polygon(Points points, const Eigen::Vector4d& color, const Vector3& normal) {
    patches_.push_back({Patch::Kind::kPolygon, std::move(points), 0.0, shaded(color, normal)});
  }

  void box(const Vector3& half, const Transform& X, const Eigen::Vector4d& color) {
    for (int axis = 0; axis < 3; ++axis) {
      for (const double side : {-1.0, 1.0}) {
        Vector3 normal = Vector3::Zero();
        normal[axis] = side;
        normal = X.rotation * normal;
        if (normal.dot(camera_.toward) <= 0.0) continue;
        Points face;
        for (const auto& [s, t] : kCorners) {
          Vector3 corner;
          corner[axis] = side * half[axis];
          corner[(axis + 1) % 3] = s * half[(axis + 1) % 3];
          corner[(axis + 2) % 3] = t * half[(axis + 2) % 3];
          face.push_back(camera_.project(X * corner));
        }
        polygon(std::move(face), color, normal);
      }
    }
  }

  Points circle(double radius, double z, const Transform& X) const {
    Points points;
    for (int i = 0; i < kCircle; ++i) {
      const double angle = 2.0 * kPi * i / kCircle;
      points.push_back(camera_.project(X * Vector3(radius * std::cos(angle), radius * std::sin(angle), z)));
    }
    return points;
  }

  void cylinder(double radius, double half_length, const Transform& X, const Eigen::Vector4d& color) {
    const Vector3 axis = X.rotation * Vector3::UnitZ();
    const double side = axis.dot(camera_.toward) >= 0.0 ? 1.0 : -1.0;
    Points body = circle(radius, -half_length, X);
    Points face = circle(radius, side * half_length, X);
    const Points other = circle(radius, half_length, X);
    body.insert(body.end(), other.begin(), other.end());
    const Vector3 normal = camera_.toward - axis.dot(camera_.toward) * axis;
    polygon(convex_hull(std::move(body)), color, normal.norm() > 1e-9 ? normal.normalized() : camera_.toward);
    polygon(std::move(face), color, side * axis);
  }

  void cone(double radius, double half_height, const Transform& X, const Eigen::Vector4d& color) {
    Points points = circle(radius, -half_height, X);
    points.push_back(camera_.project(X * Vector3(0, 0, half_height)));
    polygon(convex_hull(std::move(points)), color, camera_.toward);
  }

  // The outline of an ellipsoid: support points in the directions of the picture plane.
  void ellipsoid(const Vector3& semi_axes, const Transform& X, const Eigen::Vector4d& color) {
    Points points;
    for (int i = 0; i < kCircle; ++i) {
      const double angle = 2.0 * kPi * i / kCircle;
      const Vector3 direction =
          X.rotation.conjugate() * (std::cos(angle) * camera_.right + std::sin(angle) * camera_.up);
      const Vector3 scaled = semi_axes.cwiseProduct(direction);
      points.push_back(camera_.project(X * (semi_axes.cwiseProduct(scaled) / scaled.norm())));
    }
    polygon(std::move(points), color, camera_.toward);
  }

  void outline(const std::vector<Vector3>& vertices, const Transform& X, const Eigen::Vector4d& color) {
    Points points;
    points.reserve(vertices.size());
    for (const Vector3& vertex : vertices) points.push_back(camera_.project(X * vertex));
    if (points.size() >= 3) polygon(convex_hull(std::move(points)), color, camera_.toward);
  }

  const Camera& camera_;
  std::vector<Patch>& patches_;
};

Eigen::Vector4d shape_color(const Model& model, const ShapeElement& shape) {
  const Eigen::Vector4d untouched = ShapeElement().color;
  if (shape.visual_material.empty() || shape.color != untouched) return shape.color;
  for (const VisualMaterial& material : model.visual_materials) {
    if (material.name == shape.visual_material) return material.color;
  }
  return shape.color;
}

// The shapes of one configuration, far ones first.
void paint_robot(const Model& model, const VectorX& q, const Camera& camera, Data& data, std::vector<Patch>& patches) {
  forward_kinematics(model, model.defaults, q, data);
  std::vector<double> nearness;
  nearness.reserve(static_cast<std::size_t>(model.nshape));
  for (int i = 0; i < model.nshape; ++i) nearness.push_back(camera.nearness(shape_pose(model, data, i).position));
  std::vector<int> order(static_cast<std::size_t>(model.nshape));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return nearness[static_cast<std::size_t>(a)] < nearness[static_cast<std::size_t>(b)];
  });
  Painter painter(camera, patches);
  for (const int i : order) {
    const ShapeElement& shape = model.shapes[static_cast<std::size_t>(i)];
    const Eigen::Vector4d color = shape_color(model, shape);
    if (color[3] > 0.0) painter.paint(shape.shape, shape_pose(model, data, i), color);
  }
}

// Maps metres of the picture plane to user units, y down.
class Sheet {
 public:
  Sheet(const std::vector<Patch>& patches, const Points& path) {
    low_.setConstant(1e30);
    high_.setConstant(-1e30);
    for (const Patch& patch : patches) {
      for (const Vector2& point : patch.points) include(point, patch.radius);
    }
    for (const Vector2& point : path) include(point, 0.0);
    scale_ = (kWidth - 2 * kMargin) / std::max(kSmallestExtent, high_.x() - low_.x());
  }
  double height() const { return 2 * kMargin + scale_ * (high_.y() - low_.y()); }
  double length(double metres) const { return scale_ * metres; }
  std::string point(const Vector2& p) const {
    return fmt::format("{:.1f} {:.1f}", kMargin + scale_ * (p.x() - low_.x()), kMargin + scale_ * (high_.y() - p.y()));
  }
  std::string at(const Vector2& p, const char* x, const char* y) const {
    return fmt::format("{}='{:.1f}' {}='{:.1f}'", x, kMargin + scale_ * (p.x() - low_.x()), y,
                       kMargin + scale_ * (high_.y() - p.y()));
  }

 private:
  void include(const Vector2& p, double radius) {
    low_ = low_.cwiseMin(p - Vector2::Constant(radius));
    high_ = high_.cwiseMax(p + Vector2::Constant(radius));
  }
  Vector2 low_, high_;
  double scale_ = 1.0;
};

std::string hex(const Eigen::Vector3d& color) {
  const auto byte = [](double c) { return static_cast<int>(std::lround(255.0 * c)); };
  return fmt::format("#{:02x}{:02x}{:02x}", byte(color.x()), byte(color.y()), byte(color.z()));
}

std::string patch_svg(const Patch& patch, const Sheet& sheet) {
  const std::string color = hex(patch.color);
  switch (patch.kind) {
    case Patch::Kind::kDisc:
      return fmt::format("<circle {} r='{:.1f}' fill='{}'/>", sheet.at(patch.points[0], "cx", "cy"),
                         sheet.length(patch.radius), color);
    case Patch::Kind::kStroke: {
      // A wider dark line below gives the rod its outline.
      const std::string ends = sheet.at(patch.points[0], "x1", "y1") + " " + sheet.at(patch.points[1], "x2", "y2");
      const double width = 2.0 * sheet.length(patch.radius);
      return fmt::format("<line {} class='edge' stroke-width='{:.1f}'/><line {} stroke='{}' stroke-width='{:.1f}'/>",
                         ends, width + 0.5, ends, color, width - 0.5);
    }
    case Patch::Kind::kPolygon: {
      std::string corners;
      for (const Vector2& point : patch.points)
        corners += fmt::format("{}{}", corners.empty() ? 'M' : 'L', sheet.point(point));
      return fmt::format("<path d='{}Z' fill='{}'/>", corners, color);
    }
  }
  return {};
}

}  // namespace

std::string robot_svg(const Model& model, const RobotPicture& picture) {
  const Camera camera(picture.toward_viewer);
  Data data(model);
  std::vector<Patch> patches;
  for (const VectorX& q : picture.configurations) paint_robot(model, q, camera, data, patches);
  Points path;
  std::transform(picture.path.begin(), picture.path.end(), std::back_inserter(path),
                 [&](const Vector3& p) { return camera.project(p); });
  if (patches.empty() && path.empty()) return {};

  const Sheet sheet(patches, path);
  std::string out = fmt::format("<svg class='robot' viewBox='0 0 {:.0f} {:.0f}' role='img' aria-label='{}'>", kWidth,
                                sheet.height(), "The robot at several moments of its flight");
  std::string line;
  for (const Vector2& p : path) line += fmt::format("{}{}", line.empty() ? 'M' : 'L', sheet.point(p));
  if (!line.empty()) out += fmt::format("<path class='path' d='{}'/>", line);
  for (const Patch& patch : patches) out += patch_svg(patch, sheet);
  return out + "</svg>";
}

}  // namespace touchstone::cli
