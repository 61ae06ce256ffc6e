// The contacts of one step as arrays, copied so that they stay what they were.
#pragma once

#include <vector>

#include "touchstone/sim/simulator.hpp"

namespace touchstone::python {

struct PyContacts {
  explicit PyContacts(const Simulator& sim);
  std::size_t count() const { return distance.size(); }

  std::vector<int> body_a, body_b, shape_a, shape_b;   // n
  std::vector<double> position, force, torque, local;  // n x 3
  std::vector<double> frame;                           // n x 3 x 3, rows of the rotation; columns t1, t2, n
  std::vector<double> distance, friction;              // n
  ModelPtr model;
};

}  // namespace touchstone::python
