// How long pairs of shapes that were found apart need not be looked at again: lower bounds of their distances, used up
// by motion.
//
// Method: every shape has an odometer that adds up, from call to call, how far any of its points can have moved: the
//   way of the centre of a ball around it, plus the radius times |R - R_before|. A pair found d apart when its
//   odometers were at a and b is at least d - (a' - a) - (b' - b) apart when they are at a' and b'. This is the bound
//   of conservative advancement (Mirtich, "Impulse-based dynamic simulation of rigid body systems", 1996, ch. 2),
//   turned round: not how far a pair may advance, but whether it has advanced so far.
// Exactness: poses are all it looks at, so a body that the user puts elsewhere uses up its bounds like one that moves.
// Cost: a sum and a comparison for each pair that is skipped.
#pragma once

#include <span>
#include <vector>

#include "touchstone/base/index.hpp"
#include "touchstone/collision/broad/broad_phase.hpp"

namespace touchstone {

class Separations {
 public:
  // Forgets all pairs.
  void reset(int shapes);
  // Room for the pairs in slots below `count`; fresh slots know nothing.
  void prepare(int count, std::span<const int> fresh_slots);

  // A shape may have moved by `way` (m) since the last call, and contacts are looked for as if it moved by `ahead`
  // more. Not for shapes that stay where they are.
  void move(int shape, double way, double ahead) {
    odometer_[at(shape)] += way;
    spent_[at(shape)] = odometer_[at(shape)] + ahead;
  }

  // Whether the shapes are farther apart than `reach`, and will be after what they may move ahead.
  bool apart(const BroadPhase::Pair& pair, double reach) const {
    return room_[at(pair.slot)] > spent_[at(pair.a)] + spent_[at(pair.b)] + reach;
  }
  // The shapes are at least `distance` apart now, known to rounding of lengths of the size `scale`.
  void set(const BroadPhase::Pair& pair, double distance, double scale);

 private:
  std::vector<double> odometer_, spent_;  // by shape: m; the second with what it may move ahead
  std::vector<double> room_;              // by slot: the sum of both odometers at which the shapes may touch
};

}  // namespace touchstone
