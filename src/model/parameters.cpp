#include "touchstone/model/parameters.hpp"

namespace touchstone {

MassProperties Parameters::mass_properties(int body) const {
  const BodyInertia& b = body_inertia[body];
  return {b.mass, b.com.eigen(), b.inertia.eigen()};
}

void Parameters::set_mass_properties(int body, const MassProperties& properties) {
  BodyInertia& b = body_inertia[body];
  b.mass = properties.mass;
  b.com = Vec3(properties.com);
  b.inertia = Mat3(properties.inertia);
}

}  // namespace touchstone
