// The rotation group: exponential, logarithm, and the pose notations of the robot formats.
#pragma once

#include "touchstone/math/types.hpp"

namespace touchstone {

// Unit quaternion of the rotation by the vector w (angle |w| about w/|w|). Accurate down to w = 0.
Quaternion so3_exp(const Vector3& w);

// The quaternion w, x, y, z that starts at entry i of a configuration, as it stands there.
inline Quaternion quaternion_at(const ConstVectorRef& q, int i) { return {q[i], q[i + 1], q[i + 2], q[i + 3]}; }

// The rotation vector of a unit quaternion, of length at most pi.
Vector3 so3_log(const Quaternion& q);

// Matrix of the cross product: skew(a) b = a x b.
Matrix3 skew(const Vector3& a);

// A rotation whose z axis is `direction` (need not be unit length), by the shortest arc from z.
Quaternion rotation_from_z(const Vector3& direction);

// Uniform interpolation along the shortest arc, s in [0, 1].
Quaternion so3_interpolate(const Quaternion& a, const Quaternion& b, double s);

}  // namespace touchstone
