// Bounds of what finding contacts may cost.
#pragma once

#include <cstddef>

namespace touchstone {

// What surfaces of triangles may cost in one call, whatever the poses and velocities: far inside each other, or at
// speeds that sweep over all of a scene in a step, every triangle is near every other. More contacts of one pair than
// these would say nothing new about it, and could not be solved for in a reasonable time.
struct CollisionLimits {
  static constexpr std::size_t kVisits = std::size_t{1} << 22;       // of triangles, all pairs
  static constexpr std::size_t kLeastVisits = std::size_t{1} << 12;  // of one pair, also when these are used up
  static constexpr std::size_t kContactsOfPair = 512;                // with a surface or with pieces
  static constexpr std::size_t kContacts = std::size_t{1} << 14;     // of all such pairs;
  static constexpr std::size_t kLeastContacts = 4;                   // then so many for each, the deepest
};

}  // namespace touchstone
