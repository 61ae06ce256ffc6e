// What the scenes are made of: bodies of one shape, ground, terrain. Not for users of the library.
#pragma once

#include <random>
#include <string>

#include "touchstone/model/builder.hpp"
#include "touchstone/scenes/scene.hpp"

namespace touchstone::workshop {

using Color = Eigen::Vector4d;
const Color& color(int index);  // of a palette that repeats

// Density, surface and look of a part.
struct Stuff {
  double density = 1000.0;  // kg/m^3
  double friction = 0.5;
  double restitution = 0.0;
  double stiffness = 0.0;        // N/m; 0: rigid
  double dissipation = 0.0;      // s/m
  double relaxation_time = 0.0;  // s
  int contact_dimension = 3;
  Color color{0.86, 0.55, 0.23, 1.0};
};

Shape box(const Vector3& half);
Shape sphere(double radius);
Shape cylinder(double radius, double half_length);
Shape capsule(double radius, double half_length);
Shape hull(const std::string& name, std::vector<Vector3> vertices);

// A body of one shape with mass; the second form floats freely. Return its index.
int add_part(ModelBuilder& b, const std::string& name, int parent, const Transform& pose, const Shape& shape,
             const Stuff& stuff);
int add_free(ModelBuilder& b, const std::string& name, const Transform& pose, const Shape& shape, const Stuff& stuff);

// Shapes of the world.
int add_fixed(ModelBuilder& b, const std::string& name, const Transform& pose, const Shape& shape, const Stuff& stuff);
int add_ground(ModelBuilder& b, double friction);

// The density that gives a shape this mass.
double density_for(const Shape& shape, double mass);

Quaternion about(const Vector3& axis, double angle);

// Numbers in [low, high) that are the same on every machine.
double uniform(std::mt19937_64& random, double low, double high);

// Hills of random height: smooth (bumps of `wavelength`), `height` from the lowest to the highest point, flat around
// the origin's edge nowhere. Rows along y.
std::shared_ptr<const HeightField> hills(const std::string& name, double radius_x, double radius_y, double height,
                                         double wavelength, int seed);

// The free joint's part of the velocity.
void set_velocity(Scene& scene, const std::string& body, const Vector3& linear,
                  const Vector3& angular = Vector3::Zero());

}  // namespace touchstone::workshop
