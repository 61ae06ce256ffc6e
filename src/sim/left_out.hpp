// Contacts and limits that take no part in the problem of a step, because nothing pushes them.
//
// Problem: a surface that is near counts as a contact before it touches (docs/detection.md), and most of those stay
//   open: two of three on a robot that walks. Rows of zero impulse cost as much as others in G, in the solver and in
//   the certificate.
// Method: a contact or limit that had no impulse and opened in the step before, and goes on opening with the velocity
//   of the bodies as it is, is left out. That velocity predicts more than free motion does, which lets everything fall.
//   The velocity that comes out says whether it stays open: then zero is its impulse, exactly. What does not takes part
//   in another round; after a few of them, or if what is left was not solved, everything does.
// Cost: a walk over the rows; of what is left out one product with the velocity.
#pragma once

#include <span>
#include <vector>

#include "touchstone/sim/constraints.hpp"

namespace touchstone {

class LeftOut {
 public:
  // From the warm start, impulses and velocities, which are not numbers where nothing is known, of a step of h seconds.
  // Returns whether there are any.
  bool choose(const Constraints& constraints, const VectorX& lambda, const VectorX& u, double h);
  // Everything takes part.
  void clear() { is_left_out_.clear(); }
  // nblock: 1 for what is left out. Empty: nothing is.
  std::span<const char> blocks() const { return is_left_out_; }
  // Whether all of it stays open with this velocity (nv); what does not takes part from now on. u gets what its rows
  // see then.
  bool admit_closing(const Model& model, const Constraints& constraints, const VectorX& v, VectorX& u);

 private:
  std::vector<char> is_left_out_;
};

}  // namespace touchstone
