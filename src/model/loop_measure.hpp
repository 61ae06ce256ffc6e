// The measures that loop joints hold or have as coordinates (loop_joint.hpp).
#pragma once

#include <cstdint>

#include "touchstone/model/elements.hpp"

namespace touchstone {

// X, Y, Z: of the origin of frame b along the axes of frame a. Turn*: 2 vec(q), q the rotation from a to b: all three
// vanish only where the axes agree. Tilt*: the same of the shortest rotation that takes z of a to z of b. Twist: about
// z. Square: z of a against x of b. First, Second: angles of a universal joint, about z of a and x of b. Euler*: of a
// gimbal, about z, x, y in this order. Spin*: the rotation vector, and angular velocities about the axes of frame b.
enum class LoopMeasure : std::uint8_t {
  kX,
  kY,
  kZ,
  kTurnX,
  kTurnY,
  kTurnZ,
  kTiltX,
  kTiltY,
  kTwist,
  kSquare,
  kFirst,
  kSecond,
  kEuler1,
  kEuler2,
  kEuler3,
  kSpinX,
  kSpinY,
  kSpinZ,
  kDistance,
  kTravel,  // z less pitch times twist
  kNone,
};

// What a row of a type holds at zero.
LoopMeasure held_measure(LoopJointType type, int row);
// What a coordinate of a type is.
LoopMeasure free_measure(LoopJointType type, int coordinate);

}  // namespace touchstone
