#include "touchstone/sim/detection/material.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/geometry/mesh.hpp"

namespace touchstone {
namespace {

// What a side gives way in the sum of both, in the units of its law; 0 for what is rigid.
double give(const Material& m) {
  if (m.youngs_modulus > 0.0) return (1.0 - m.poisson_ratio * m.poisson_ratio) / m.youngs_modulus;
  if (!(m.stiffness > 0.0)) return 0.0;
  return m.hertz ? std::cbrt(1.0 / (m.stiffness * m.stiffness)) : 1.0 / m.stiffness;
}

// Two springs in series, at least one of which is not rigid; each side dissipates by its share of the deformation.
void set_elasticity(const ContactSide& a, const ContactSide& b, ContactMaterial& c) {
  const Material& soft = is_rigid(a.material) ? b.material : a.material;
  const double give_a = give(a.material), give_b = give(b.material), sum = give_a + give_b;
  c.hertz = soft.hertz || soft.youngs_modulus > 0.0;
  if (soft.youngs_modulus > 0.0) {
    c.stiffness = 4.0 / 3.0 * std::sqrt(1.0 / (1.0 / a.radius + 1.0 / b.radius)) / sum;
  } else {
    c.stiffness = c.hertz ? 1.0 / (sum * std::sqrt(sum)) : 1.0 / sum;
  }
  c.dissipation = (give_a * a.material.dissipation + give_b * b.material.dissipation) / sum;
  c.relaxation_time =
      (give_a > 0.0 ? a.material.relaxation_time : 0.0) + (give_b > 0.0 ? b.material.relaxation_time : 0.0);
}

// Of two surfaces: the larger coefficients, as MuJoCo has it. Where both are given in physical units, sliding friction
// is 2 a b / (a + b), as Drake has it: what is slippery stays so.
Vector3 friction_of(const Material& a, const Material& b) {
  Vector3 friction = a.friction.cwiseMax(b.friction);
  const double sum = a.friction[0] + b.friction[0];
  if (!is_rigid(a) && !is_rigid(b) && sum > 0.0) friction[0] = 2.0 * a.friction[0] * b.friction[0] / sum;
  return friction;
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

bool is_rigid(const Material& m) { return !(m.stiffness > 0.0) && !(m.youngs_modulus > 0.0); }

ContactMaterial combine(const ContactSide& a, const ContactSide& b) {
  if (a.material.priority != b.material.priority) {  // the surface of one on something rigid
    const ContactSide& first = a.material.priority > b.material.priority ? a : b;
    Material rigid = first.material;
    rigid.stiffness = rigid.youngs_modulus = 0.0;
    return combine(first, {rigid, first.dimension, (&first == &a ? b : a).radius});
  }
  ContactMaterial c;
  c.dimension = std::max(a.dimension, b.dimension);
  const Vector3 friction = friction_of(a.material, b.material);
  c.friction = {friction[0], friction[0], friction[1], friction[2], friction[2]};
  c.restitution = std::max(a.material.restitution, b.material.restitution);
  if (!is_rigid(a.material) || !is_rigid(b.material)) set_elasticity(a, b, c);
  c.impedance = mix(a.material.impedance, b.material.impedance, share_of_a(a.material.mixing, b.material.mixing));
  return c;
}

SideRates rates_of(const ContactSide& side, const ContactSide& other) {
  const Material &own = side.material, &that = other.material;
  SideRates rates;
  if (own.priority < that.priority) return rates;
  const bool is_alone = own.priority > that.priority;
  const double a = own.friction[0], b = that.friction[0];
  if (is_alone || is_rigid(own) || is_rigid(that)) {
    rates.friction = is_alone || a >= b ? 1.0 : 0.0;
  } else {
    rates.friction = a + b > 0.0 ? 2.0 * b * b / ((a + b) * (a + b)) : 0.0;
  }
  rates.restitution = is_alone || own.restitution >= that.restitution ? 1.0 : 0.0;
  if (is_rigid(own)) return rates;
  const ContactMaterial c = combine(side, other);
  const bool has_modulus = own.youngs_modulus > 0.0, is_spring_of_hertz = own.hertz && !has_modulus;
  const double give_own = give(own), sum = give_own + (is_alone ? 0.0 : give(that));
  const double number = has_modulus ? own.youngs_modulus : own.stiffness;
  const double give_rate = -(is_spring_of_hertz ? 2.0 / 3.0 : 1.0) * give_own / number;
  rates.stiffness = -(is_spring_of_hertz ? 1.5 : 1.0) * c.stiffness / sum * give_rate;
  rates.dissipation_by_stiffness = (own.dissipation - c.dissipation) / sum * give_rate;
  rates.dissipation = give_own / sum;
  rates.relaxation = 1.0;
  return rates;
}

double curvature_radius(const Shape& shape) {
  const Vector3& size = shape.size;
  switch (shape.type) {
    case ShapeType::kSphere:
    case ShapeType::kCapsule:
    case ShapeType::kCylinder:
    case ShapeType::kCone:
      return size[0];
    case ShapeType::kEllipsoid:
      return std::cbrt(size.prod());
    case ShapeType::kBox:
      return size.minCoeff();
    case ShapeType::kMesh: {
      const Bounds box = bounds(*shape.mesh);
      return 0.5 * (box.upper - box.lower).minCoeff();
    }
    default:
      return kInfinity;
  }
}

ContactMaterial material_of(const ContactPair& pair) {
  ContactMaterial c;
  c.dimension = pair.contact_dimension;
  c.friction = pair.friction;
  c.impedance = pair.impedance;
  return c;
}

}  // namespace touchstone
