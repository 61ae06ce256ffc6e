// One point of contact, as collision detection hands it to the assembly of the contact problem.
#pragma once

#include <array>
#include <cstdint>

#include "touchstone/collision/manifold/feature_name.hpp"
#include "touchstone/math/vec3.hpp"
#include "touchstone/model/elements.hpp"

namespace touchstone {

// The surface law of a pair of shapes, combined from their materials (see combine) or given by a ContactPair.
struct ContactMaterial {
  int dimension = 3;                                                // 1 frictionless, 3 sliding, 4 torsional, 6 rolling
  std::array<double, 5> friction{1.0, 1.0, 0.005, 0.0001, 0.0001};  // sliding t1, t2 (-), torsional, rolling t1, t2 (m)
  double restitution = 0.0;
  double stiffness = 0.0;        // N/m, of Hertz N/m^1.5; 0 = rigid
  bool hertz = false;            // the force grows with the power 3/2 of the deformation
  double dissipation = 0.0;      // s/m, Hunt-Crossley
  double relaxation_time = 0.0;  // s, linear damper
  Impedance impedance;
};

struct Contact {
  int shape_a = -1, shape_b = -1;  // shape_a < shape_b
  int body_a = -1, body_b = -1;
  Vec3 position;                  // midway between the two surfaces, world
  Mat3 frame = Mat3::identity();  // columns t1, t2, n in the world; n points from A to B; see contact_frame.hpp
  double distance = 0.0;          // signed, along the normal, m
  double margin = 0.0;            // the shapes are taken to touch at this distance (the model's margin), m
  std::uint64_t feature = 0;      // what touches what; with the shapes it names the point from step to step
  ActiveFeatures active;          // what its position depends on
  ContactMaterial material;

  Vec3 normal() const { return frame.c2; }
};

// The order of contacts.
inline bool by_shapes(const Contact& x, const Contact& y) {
  return x.shape_a != y.shape_a ? x.shape_a < y.shape_a : x.shape_b < y.shape_b;
}

}  // namespace touchstone
