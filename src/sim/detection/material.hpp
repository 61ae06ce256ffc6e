// How the materials of two shapes become the law of their contact.
#pragma once

#include "touchstone/sim/detection/contact.hpp"

namespace touchstone {

// MuJoCo's rules, for what MuJoCo has: the shape of higher priority decides alone; else the larger dimension, the
// larger friction of each kind, and impedances averaged with the weights Material::mixing (direct stiffness and
// damping, which are negative solref, by the smaller value). Beyond MuJoCo: the larger restitution; stiffnesses in
// series; dissipation weighted by the share of the deformation that each side takes; relaxation times added (all as
// Drake does).
ContactMaterial combine(const Material& a, int dimension_a, const Material& b, int dimension_b);

// What a ContactPair of the model says.
ContactMaterial material_of(const ContactPair& pair);

}  // namespace touchstone
