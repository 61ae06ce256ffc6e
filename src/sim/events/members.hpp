// The constraints that take part in smooth motion between two events, and how.
#pragma once

#include <cstdint>

#include "touchstone/sim/constraints.hpp"

namespace touchstone {

enum class Mode : std::uint8_t {
  kOpen,   // no force
  kHeld,   // closed: all rows of an equality, the row of a limit, all rows of a contact that sticks, dry friction that
           // holds
  kSlide,  // a contact that slides in a known direction, dry friction against a known sign
};

// A block of the contact problem as long as modes last.
struct Member {
  Constraint constraint;  // which; contacts: by their place among those that are closed
  BlockType type = BlockType::kEquality;
  Mode mode = Mode::kOpen;
  bool is_slow = false;    // slip began at rest: its direction is that of the acceleration
  bool is_steady = false;  // a slow slip in balance across its direction, which is found by SlipDirections
  // Where it slides, in world axes: velocity and angular velocity of b against a. Dry friction: the sign in linear.x().
  Vec3 linear, angular;
  // Forces when the modes were chosen: where rows say the same twice, those of later moments are near to them.
  // Contacts: in world axes; else the first and the last three rows.
  Vec3 force, torque;
  double target = 0.0;  // m: the gap that is kept; below zero where bodies overlapped from the start
};

}  // namespace touchstone
