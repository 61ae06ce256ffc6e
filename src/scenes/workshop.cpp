#include "touchstone/scenes/workshop.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "touchstone/geometry/mesh.hpp"

namespace touchstone::workshop {
namespace {

constexpr double kSmallestCell = 0.02;  // m, of a height field

// Smooth interpolation between random values on a lattice: C1, no overshoot.
class Noise {
 public:
  Noise(int columns, int rows, int seed)
      : columns_(columns), values_(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows)) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    for (double& value : values_) value = uniform(random, 0.0, 1.0);
  }

  double at(double x, double y) const {
    const int i = static_cast<int>(x), j = static_cast<int>(y);
    const double s = smooth(x - i), t = smooth(y - j);
    return (1 - t) * ((1 - s) * value(i, j) + s * value(i + 1, j)) +
           t * ((1 - s) * value(i, j + 1) + s * value(i + 1, j + 1));
  }

 private:
  static double smooth(double s) { return s * s * (3.0 - 2.0 * s); }
  double value(int i, int j) const {
    return values_[static_cast<std::size_t>(j) * static_cast<std::size_t>(columns_) + static_cast<std::size_t>(i)];
  }

  int columns_;
  std::vector<double> values_;
};

}  // namespace

const Color& color(int index) {
  static const std::array<Color, 8> palette{Color{0.86, 0.55, 0.23, 1.0}, Color{0.27, 0.51, 0.71, 1.0},
                                            Color{0.80, 0.79, 0.75, 1.0}, Color{0.46, 0.62, 0.40, 1.0},
                                            Color{0.72, 0.36, 0.31, 1.0}, Color{0.55, 0.47, 0.65, 1.0},
                                            Color{0.90, 0.77, 0.42, 1.0}, Color{0.36, 0.40, 0.45, 1.0}};
  return palette[static_cast<std::size_t>(index) % palette.size()];
}

Shape box(const Vector3& half) { return {.type = ShapeType::kBox, .size = half}; }
Shape sphere(double radius) { return {.type = ShapeType::kSphere, .size = {radius, 0.0, 0.0}}; }
Shape cylinder(double radius, double half_length) {
  return {.type = ShapeType::kCylinder, .size = {radius, half_length, 0.0}};
}
Shape capsule(double radius, double half_length) {
  return {.type = ShapeType::kCapsule, .size = {radius, half_length, 0.0}};
}

Shape hull(const std::string& name, std::vector<Vector3> vertices) {
  TriangleMesh points;
  points.name = name;
  points.vertices = std::move(vertices);
  return {.type = ShapeType::kMesh, .mesh = std::make_shared<const TriangleMesh>(convex_hull(points))};
}

namespace {

ShapeElement element(const std::string& name, int body, const Shape& shape, const Stuff& stuff) {
  ShapeElement e;
  e.name = name;
  e.body = body;
  e.shape = shape;
  e.contact_dimension = stuff.contact_dimension;
  e.material.friction.x() = stuff.friction;
  e.material.restitution = stuff.restitution;
  e.material.stiffness = stuff.stiffness;
  e.material.dissipation = stuff.dissipation;
  e.material.relaxation_time = stuff.relaxation_time;
  e.color = stuff.color;
  return e;
}

}  // namespace

int add_part(ModelBuilder& b, const std::string& name, int parent, const Transform& pose, const Shape& shape,
             const Stuff& stuff) {
  Body body;
  body.name = name;
  body.parent = parent;
  body.pose = pose;
  body.inertia = mass_properties(shape, stuff.density);
  const int index = b.add_body(std::move(body));
  b.add_shape(element(name, index, shape, stuff));
  return index;
}

int add_free(ModelBuilder& b, const std::string& name, const Transform& pose, const Shape& shape, const Stuff& stuff) {
  const int index = add_part(b, name, 0, pose, shape, stuff);
  Joint joint;
  joint.name = name;
  joint.body = index;
  joint.type = JointType::kFree;
  b.add_joint(std::move(joint));
  return index;
}

int add_fixed(ModelBuilder& b, const std::string& name, const Transform& pose, const Shape& shape, const Stuff& stuff) {
  ShapeElement e = element(name, 0, shape, stuff);
  e.pose = pose;
  return b.add_shape(std::move(e));
}

int add_ground(ModelBuilder& b, double friction) {
  return add_fixed(b, "ground", {}, {.type = ShapeType::kPlane},
                   {.friction = friction, .color = {0.75, 0.76, 0.78, 1}});
}

double density_for(const Shape& shape, double mass) { return mass / volume(shape); }

Quaternion about(const Vector3& axis, double angle) { return Quaternion(Eigen::AngleAxisd(angle, axis.normalized())); }

double uniform(std::mt19937_64& random, double low, double high) {
  constexpr double kScale = 0x1p-53;
  return low + (high - low) * kScale * static_cast<double>(random() >> 11U);
}

std::shared_ptr<const HeightField> hills(const std::string& name, double radius_x, double radius_y, double height,
                                         double wavelength, int seed) {
  const auto cells = [&](double radius) {
    return std::max(2, static_cast<int>(std::ceil(2.0 * radius / std::max(kSmallestCell, wavelength / 8.0))));
  };
  const auto lattice = [&](double radius) { return static_cast<int>(std::ceil(2.0 * radius / wavelength)) + 2; };
  HeightField field;
  field.name = name;
  field.columns = cells(radius_x) + 1;
  field.rows = cells(radius_y) + 1;
  field.radius_x = radius_x;
  field.radius_y = radius_y;
  field.elevation = height;
  field.base = 0.1;
  const Noise noise(lattice(radius_x), lattice(radius_y), seed);
  for (int row = 0; row < field.rows; ++row) {
    for (int column = 0; column < field.columns; ++column) {
      const double x = 2.0 * radius_x * column / (field.columns - 1) / wavelength;
      const double y = 2.0 * radius_y * row / (field.rows - 1) / wavelength;
      field.values.push_back(noise.at(x, y));
    }
  }
  const auto [low, high] = std::minmax_element(field.values.begin(), field.values.end());
  const double base = *low, range = std::max(1e-12, *high - *low);
  for (double& value : field.values) value = (value - base) / range;
  return std::make_shared<const HeightField>(std::move(field));
}

void set_velocity(Scene& scene, const std::string& body, const Vector3& linear, const Vector3& angular) {
  const Model& model = *scene.model;
  const int joint = model.body_kernels[static_cast<std::size_t>(model.body(body))].first_joint;
  const int dof = model.joint_dof[static_cast<std::size_t>(joint)];
  scene.start.v.segment<3>(dof) = linear;
  scene.start.v.segment<3>(dof + 3) = angular;
}

}  // namespace touchstone::workshop
