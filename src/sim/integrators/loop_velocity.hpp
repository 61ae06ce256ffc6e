// What loops hold the velocity against in midpoint rules: J(q_m) (v + v')/2 = 0 turns whatever the old velocity has
// across a loop round, step after step. Such an alternation does no work, but where a mechanism turns it may grow until
// it is all that moves. It is taken away here: the third difference of the last four velocities is eight times an
// alternation, and for a smooth motion of third order in the step.
#pragma once

#include "touchstone/sim/step_context.hpp"

namespace touchstone {

inline bool may_have_loops(const Model& model) { return !model.equalities.empty() || !model.loop_joints.empty(); }

constexpr double kAlternationShare = 0.25;  // that a step takes away: what is left of an alternation after it is 0.71

// Subtracts a share of the alternation from a velocity; nothing before there were four of one motion.
inline void damp_alternation(StepContext& s, VectorX& velocity) {
  const Eigen::Index n = s.model.nv;
  const auto old = [&](Eigen::Index k) { return s.left_velocity.segment(k * n, n); };
  s.damps_alternation = s.left_velocity.allFinite();
  if (!s.damps_alternation) return;
  velocity -= kAlternationShare / 8.0 * (old(0) - old(3) + 3.0 * (old(2) - old(1)));
}

}  // namespace touchstone
