// The configuration manifold: q lives on a product of lines, rotations and poses; v is tangent to it.
#pragma once

#include <random>
#include <span>

#include "touchstone/base/index.hpp"
#include "touchstone/model/model.hpp"
#include "touchstone/model/state.hpp"

namespace touchstone {

// q moved along the constant velocity v for the time h. `q_next` may be the same memory as `q`.
void integrate(const Model& model, const ConstVectorRef& q, const ConstVectorRef& v, double h, VectorRef q_next);
// The same for some joints; the entries of the others are left alone.
void integrate(const Model& model, std::span<const IndexRange> joints, const ConstVectorRef& q, const ConstVectorRef& v,
               double h, VectorRef q_next);

// The velocity that takes q0 to q1 in unit time: integrate(q0, difference(q0, q1), 1) = q1.
void difference(const Model& model, const ConstVectorRef& q0, const ConstVectorRef& q1, VectorRef v);

// The point at s in [0, 1] on the geodesic from q0 to q1.
void interpolate(const Model& model, const ConstVectorRef& q0, const ConstVectorRef& q1, double s, VectorRef q);

// Within the limits where there are any; otherwise angles in [-pi, pi], positions in [-1, 1] about the reference,
// orientations uniform.
void random_configuration(const Model& model, std::mt19937_64& random, VectorRef q);

// Scales quaternions to unit length (a zero one becomes the identity).
void normalize(const Model& model, VectorRef q);

}  // namespace touchstone
