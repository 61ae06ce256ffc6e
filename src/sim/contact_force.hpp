// What a contact did in a step.
#pragma once

#include "touchstone/sim/detection/contact.hpp"

namespace touchstone {

// A contact of the last step with what it did.
struct ContactForce {
  const Contact* contact = nullptr;
  Vec3 force;        // N, world axes, on body b at the contact's position; -force acts on body a
  Vec3 torque;       // N m, world axes: torsional and rolling friction
  Vec3 local_force;  // N, in the contact frame: t1, t2, n
};

}  // namespace touchstone
