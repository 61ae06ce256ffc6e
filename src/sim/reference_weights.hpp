// Sizes of bodies and joints at the reference configuration: how much they move for a unit of impulse, and how far a
// turn of one radian moves a typical point. Computed once for a model.
#pragma once

#include <vector>

#include "touchstone/model/model.hpp"

namespace touchstone {

struct ReferenceWeights {
  explicit ReferenceWeights(const Model& model);

  // Mean diagonal of J M^-1 J' for the centre of mass of a body: what MuJoCo softens contacts with (its invweight0).
  std::vector<Vector2> body;  // nbody: linear (1/kg), angular (1/(kg m^2)); 0 for what does not move
  VectorX dof;                // nv: mean diagonal of M^-1 over the dofs of one kind of a joint
  VectorX tendon;             // ntendon: J M^-1 J'

  // Body lengths, m: radii of gyration. They turn rad/s into m/s in the certificate.
  std::vector<double> body_length;  // nbody: of the body about its centre of mass
  VectorX dof_length;               // nv: of all that the dof moves, about its axis; 1 for translations
  VectorX tendon_length;            // ntendon
};

}  // namespace touchstone
