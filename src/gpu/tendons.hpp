// Springs, dampers and actuators of fixed tendons, implicit where their joints lie on one path, as those of joints are:
// A has entries for them (dynamics/free_motion.cpp). There are few, so one lane does it, in their order.
#pragma once

#include "touchstone/gpu/inertia.hpp"
#include "touchstone/gpu/transmission.hpp"

namespace touchstone::gpu {

struct TendonSpring {
  double stretch, rate, stiffness, damping;  // stiffness: 0 while it is slack
};

template <typename Real>
TOUCHSTONE_LANE TendonSpring tendon_spring(const ModelView& m, const Scratch<Real>& s, int t) {
  double length = 0.0, rate = 0.0;
  for (int k = m.spring_start[t]; k < m.spring_start[t + 1]; ++k) {
    length += m.spring_coefficient[k] * s.q[m.spring_q[k]];
    rate += m.spring_coefficient[k] * s.v[m.spring_dof[k]];
  }
  const double* numbers = m.spring_numbers + kSpringNumbers * t;  // stiffness, damping, band
  const double stretch = length - clamp(length, numbers[2], numbers[3]);
  return {stretch, rate, stretch != 0.0 ? numbers[0] : 0.0, numbers[1]};
}

// Adds the forces, at the velocity of the start and the position a step ahead. By one lane.
template <typename Real>
TOUCHSTONE_LANE void add_tendon_forces(const ModelView& m, Scratch<Real>& s) {
  for (int t = 0; t < m.sizes.tendon_springs; ++t) {
    const TendonSpring spring = tendon_spring(m, s, t);
    const double force =
        -spring.stiffness * (spring.stretch + m.settings.time_step * spring.rate) - spring.damping * spring.rate;
    for (int k = m.spring_start[t]; k < m.spring_start[t + 1]; ++k)
      s.tau[m.spring_dof[k]] += m.spring_coefficient[k] * force;
  }
}

// Adds gain c c' to the rows of A, c the coefficients of dofs on one path: entries from `first` on of both arrays.
TOUCHSTONE_LANE void add_path_gain(const ModelView& m, const int* dof, const double* coefficient, int first, int end,
                                   double gain, double* L) {
  for (int a = first; a < end; ++a) {
    for (int b = first; b <= a; ++b) {
      const int i = dof[a], j = dof[b], deep = i > j ? i : j, high = i > j ? j : i;
      const double value = gain * coefficient[a] * coefficient[b];
      const int ancestors = m.row_start[high + 1] - m.row_start[high] - 1;
      L[m.row_start[deep] + ancestors] += i == j && a != b ? 2.0 * value : value;
    }
  }
}

TOUCHSTONE_LANE void add_tendon_gain(const ModelView& m, int t, double gain, double* L) {
  add_path_gain(m, m.spring_dof, m.spring_coefficient, m.spring_start[t], m.spring_start[t + 1], gain, L);
}

// Of an actuator at a tendon.
TOUCHSTONE_LANE void add_pull_gain(const ModelView& m, int u, double gain, double* L) {
  const double gear = m.actuator_gear[u];
  add_path_gain(m, m.pull_dof, m.pull_coefficient, m.pull_start[u], m.pull_start[u + 1], gain * gear * gear, L);
}

template <typename Real>
TOUCHSTONE_LANE void add_tendon_gains(const ModelView& m, Scratch<Real>& s) {
  const double h = m.settings.time_step;
  for (int t = 0; t < m.sizes.tendon_springs; ++t) {
    const TendonSpring spring = tendon_spring(m, s, t);
    add_tendon_gain(m, t, h * spring.damping + h * h * spring.stiffness, s.L);
  }
}

}  // namespace touchstone::gpu
