// How the materials of two shapes become the law of their contact.
#pragma once

#include "touchstone/sim/detection/contact.hpp"

namespace touchstone {

// Neither a stiffness nor a modulus is given.
bool is_rigid(const Material& material);

// MuJoCo's rules, for what MuJoCo has: the shape of higher priority decides alone; else the larger dimension, the
// larger friction of each kind, and impedances averaged with the weights Material::mixing (direct stiffness and
// damping, which are negative solref, by the smaller value). Beyond MuJoCo: the larger restitution; stiffnesses in
// series; dissipation weighted by the share of the deformation that each side takes; relaxation times added; sliding
// friction 2 a b / (a + b) where both sides have a stiffness or a modulus (all as Drake does). Springs of Hertz are in
// series too, (F/k)^(2/3) added; with moduli k = 4/3 E* sqrt(R*), Hertz' law for bodies of the curvature 1/R* = 1/R_a +
// 1/R_b and 1/E* = (1 - nu_a^2)/E_a + (1 - nu_b^2)/E_b. Both sides have the same elastic law, or one is rigid
// (Model::validate).
struct ContactSide {
  const Material& material;
  int dimension;
  double radius = kInfinity;  // m, of curvature where it is touched; with a modulus only
};
ContactMaterial combine(const ContactSide& a, const ContactSide& b);

// How that law changes with the numbers of one side. Where the greater of two numbers counts, both of a tie do, as they
// grow. A stiffness is the modulus where the side has one; of a rigid side it has no rates.
struct SideRates {
  double friction = 0.0;  // sliding friction, by that of the side
  double restitution = 0.0;
  double stiffness = 0.0, dissipation_by_stiffness = 0.0;
  double dissipation = 0.0;
  double relaxation = 0.0;
};
SideRates rates_of(const ContactSide& side, const ContactSide& other);

// The radius of curvature that a shape is taken to have for Hertz: that of spheres, capsules, cylinders and the foot of
// cones, the mean one of ellipsoids, half of the least extent of boxes and meshes; infinite for planes and height
// fields.
double curvature_radius(const Shape& shape);

// What a ContactPair of the model says.
ContactMaterial material_of(const ContactPair& pair);

}  // namespace touchstone
