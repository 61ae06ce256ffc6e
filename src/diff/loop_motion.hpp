// Rows of loop joints and how they change with the configuration. A row is linear.(v_b - v_a) + angular.(w_b - w_a) at
// the origin of frame b; model/loop_joint.hpp also has the rates of both gradients for frames that move, so that frames
// which move as a dof moves them give the derivative along that dof.
#pragma once

#include "touchstone/diff/pair_motion.hpp"
#include "touchstone/model/loop_joint.hpp"
#include "touchstone/sim/constraints.hpp"

namespace touchstone {

// Whether the rows of a kind are those of a loop joint or of its coordinates.
bool is_loop_kind(ConstraintKind kind);

// What is held by a joint, or one row that is a sum of its coordinates.
struct LoopBlock {
  const LoopJoint& joint;
  bool is_held = false;   // what the joint holds
  bool is_angle = false;  // the whole angle of a spherical joint, times gear[0]
  double gear[kMostLoopCoordinates] = {};

  int count() const { return is_held ? row_count(joint.type) : 1; }
  // Gradients and their rates; values are not asked for.
  void rows(const LoopFrames& frames, LoopRow* out) const;
  // How the sum of the coordinates' values changes, which of a spherical joint is no row.
  double value_rate(const LoopFrames& frames) const;
};

// That of a constraint of such a kind.
LoopBlock loop_block(const Model& model, const Constraint& constraint);

// The frames of a joint, moving as the k-th dof of the motion moves them; at rest if k < 0.
LoopFrames frames_along(const Data& data, const LoopJoint& joint, const PairMotion& motion, int k);

// Columns for the bodies of a joint, at the origin of frame b.
void begin_loop_motion(const Model& model, const Data& data, const LoopJoint& joint, PairMotion& motion);

// How the velocities of the rows change along the k-th dof while the numbers v stay (relative_velocity_rate).
void loop_row_rate(const Model& model, const Data& data, const std::vector<Motion>& V_S, const LoopBlock& block,
                   const PairMotion& motion, int k, double* values);

// Adds the derivative of J' impulse that is due to the motion of point and gradients (nv x nv).
void add_loop_force_derivatives(const Data& data, const LoopBlock& block, const double* impulse, PairMotion& motion,
                                RowMatrixRef out);

}  // namespace touchstone
