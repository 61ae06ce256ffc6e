// The derivative of the exponential of rotations: exp(w + dw) = exp(w) exp(J dw) with the right Jacobian J.
#pragma once

#include "touchstone/math/types.hpp"

namespace touchstone {

Matrix3 right_jacobian(const Vector3& w);
// Of rotations up to pi: log(R exp(d)) = log(R) + J^-1 d.
Matrix3 right_jacobian_inverse(const Vector3& w);

}  // namespace touchstone
