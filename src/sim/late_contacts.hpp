// Contacts that a step meets on its way and that nobody could see from its start.
//
// Contacts are looked for as far as bodies move with the velocities at the start of a step, and are planes there:
// where surfaces are nearest, across the line between them. Two things are not seen so. A body that is struck within
// the step moves otherwise than it promised; a ball shot into a row of balls that stand apart would end inside the
// first of them. And a body that turns far in a step brings down an end that was not the nearest: a rod that lies
// with one end on a drum and is slapped onto it.
//
// So the step that was solved is tried. Where its velocities differ from those at the start, or turn bodies, by so much
// that it matters, the configuration at its end is searched for overlaps that are deeper than they were. Each becomes a
// contact of the step: the two points, taken back to where they are now, and the normal at the end. Then the step is
// solved again with them. Every round reaches one body farther; what the last does not reach is an overlap, which the
// position pass takes away.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "touchstone/dynamics/data.hpp"
#include "touchstone/sim/detection/detector.hpp"

namespace touchstone {

class LateContacts {
 public:
  LateContacts(const Model& model, std::shared_ptr<const CollisionModel> shapes, const CollisionOptions& options,
               double slop);

  // Whether the velocity v moves a point of some shape, in `time`, otherwise than the velocities in `data` do and
  // straight, by more than the margin in which contacts are reported anyway. Remembers of which bodies.
  bool surprises(const Model& model, const VectorX& v, double time, Data& data);

  // Overlaps of bodies that surprised, at `end`, where they have got to from `start`, that are deeper than there, as
  // contacts of the start.
  // `known`: the contacts of the step.
  std::span<const Contact> find(const Parameters& parameters, const Data& start, const Data& end,
                                std::span<const Contact> known);

  // Forgets earlier calls.
  void reset() { detector_.reset(); }
  // Other bodies sleep than before: it has not followed them to where they are.
  void change_scope() { detector_.place_again(); }

 private:
  bool take(Contact contact, const Data& start, const Data& end, std::span<const Contact> known);

  CollisionDetector detector_;
  double tolerance_;                   // m
  std::vector<double> reach_;          // by body: how far its shapes reach from its origin, m; negative: it has none
  std::vector<char> surprising_;       // by body
  std::vector<Motion> next_velocity_;  // by body, as Data::velocity
  std::vector<Contact> found_;
};

}  // namespace touchstone
