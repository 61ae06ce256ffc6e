// The spring and damper that a solref stands for.
//
// MuJoCo writes it in one of two ways: (time constant, damping ratio), both positive, or (-stiffness, -damping),
// neither positive. Numbers of mixed signs count as the default, there and here.
#pragma once

#include <array>

#include "touchstone/model/elements.hpp"

namespace touchstone {

// x'' = -damping x' - stiffness x: both for a unit of mass.
struct ReferenceSpring {
  double stiffness = 0.0;  // 1/s^2
  double damping = 0.0;    // 1/s

  // damping / (2 sqrt(stiffness)); infinite without a spring.
  double damping_ratio() const;
  // Whether it swings back. A ratio within a thousandth of 1 counts as 1: files round their numbers.
  bool is_underdamped() const;
};

bool has_mixed_signs(const std::array<double, 2>& solref);

// `least_time_constant` bounds that of the first way from below, s.
ReferenceSpring reference_spring(const std::array<double, 2>& solref, double least_time_constant = 0.0);

}  // namespace touchstone
