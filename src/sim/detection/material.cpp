#include "touchstone/sim/detection/material.hpp"

#include <algorithm>

namespace touchstone {
namespace {

ContactMaterial alone(const Material& m, int dimension) {
  ContactMaterial c;
  c.dimension = dimension;
  c.friction = {m.friction[0], m.friction[0], m.friction[1], m.friction[2], m.friction[2]};
  c.restitution = m.restitution;
  c.stiffness = m.stiffness;
  c.dissipation = m.dissipation;
  c.relaxation_time = m.relaxation_time;
  c.impedance = m.impedance;
  return c;
}

// Below this, MuJoCo takes a mixing weight for zero.
constexpr double kLeastMixing = 1e-15;

double share_of_a(double mixing_a, double mixing_b) {
  if (mixing_a >= kLeastMixing && mixing_b >= kLeastMixing) return mixing_a / (mixing_a + mixing_b);
  if (mixing_a < kLeastMixing && mixing_b < kLeastMixing) return 0.5;
  return mixing_a < kLeastMixing ? 0.0 : 1.0;
}

Impedance mix(const Impedance& a, const Impedance& b, double share) {
  Impedance m;
  const bool standard = a.solref[0] > 0.0 && b.solref[0] > 0.0;
  for (std::size_t k = 0; k < a.solref.size(); ++k) {
    m.solref[k] = standard ? share * a.solref[k] + (1.0 - share) * b.solref[k] : std::min(a.solref[k], b.solref[k]);
  }
  for (std::size_t k = 0; k < a.solimp.size(); ++k) m.solimp[k] = share * a.solimp[k] + (1.0 - share) * b.solimp[k];
  return m;
}

}  // namespace

ContactMaterial combine(const Material& a, int dimension_a, const Material& b, int dimension_b) {
  if (a.priority != b.priority) return a.priority > b.priority ? alone(a, dimension_a) : alone(b, dimension_b);
  ContactMaterial c;
  c.dimension = std::max(dimension_a, dimension_b);
  const Vector3 friction = a.friction.cwiseMax(b.friction);
  c.friction = {friction[0], friction[0], friction[1], friction[2], friction[2]};
  c.restitution = std::max(a.restitution, b.restitution);
  const bool rigid_a = a.stiffness <= 0.0, rigid_b = b.stiffness <= 0.0;
  if (rigid_a || rigid_b) {  // the soft one takes the whole deformation
    c.stiffness = rigid_a ? b.stiffness : a.stiffness;
    c.dissipation = rigid_a && rigid_b ? std::max(a.dissipation, b.dissipation) : (rigid_a ? b : a).dissipation;
  } else {
    const double sum = a.stiffness + b.stiffness;
    c.stiffness = a.stiffness * b.stiffness / sum;
    c.dissipation = (b.stiffness * a.dissipation + a.stiffness * b.dissipation) / sum;
  }
  c.relaxation_time = (rigid_a ? 0.0 : a.relaxation_time) + (rigid_b ? 0.0 : b.relaxation_time);
  c.impedance = mix(a.impedance, b.impedance, share_of_a(a.mixing, b.mixing));
  return c;
}

ContactMaterial material_of(const ContactPair& pair) {
  ContactMaterial c;
  c.dimension = pair.contact_dimension;
  c.friction = pair.friction;
  c.impedance = pair.impedance;
  return c;
}

}  // namespace touchstone
