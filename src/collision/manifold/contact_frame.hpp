// Frames for contact forces: columns t1, t2, n, right-handed and orthonormal, with the normal last.
#pragma once

#include "touchstone/math/vec3.hpp"

namespace touchstone {

// The frame of a unit normal. It is a smooth function of the normal except at one point, n = -(0.48, 0.64, 0.6), where
// no choice can be (hairy ball theorem) and a fixed frame is returned; the exception lies away from the axes, which
// are the most common normals. contact_frame((0, 0, 1)) is the identity.
Mat3 contact_frame(Vec3 normal);

// The frame whose t1 is the previous t1 turned the shortest way into the new tangent plane. Along a trajectory of
// normals that turn by less than 90 degrees a step it has no exceptions at all. A previous tangent that is zero or
// along the normal gives contact_frame(normal).
Mat3 contact_frame(Vec3 normal, Vec3 previous_t1);

// The frame that MuJoCo gives a unit normal: t1 is the y axis of the world, or the z axis where |n_y| >= 1/2, made
// perpendicular to the normal. It jumps where |n_y| = 1/2. The normals n and -n have the same t1.
Mat3 mujoco_contact_frame(Vec3 normal);

// The same for a plane and a capsule, where t1 follows the axis of the capsule, a unit vector. A capsule that stands
// on the plane has t1 = x, or mujoco_contact_frame(normal) if that is the normal.
Mat3 mujoco_contact_frame(Vec3 normal, Vec3 axis);

}  // namespace touchstone
