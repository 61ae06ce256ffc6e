// The gyroscopic torque of free bodies, taken so that spinning costs and gains no energy.
//
// With the torque of the start of the step, I (w' - w) = -h w x I w, the energy of a spinning body grows by
// h^2/2 |w x I w|^2 (metric I^-1) in every step, in proportion to the square of the energy: from a spin of so many
// radians a step on, within a few turns without bound. The implicit midpoint rule
//
//   I (w' - w) + h wm x I wm = 0,     wm = (w + w') / 2
//
// keeps w' I w and |I w|, of second order (both are quadratic invariants; Hairer, Lubich and Wanner 2006, IV.2). It is
// solved by Newton's method in the body frame, at most kMostSteps of them; then w' is scaled to the energy of w, so
// that nothing grows where steps are too long for it to converge.
#pragma once

#include "touchstone/dynamics/data.hpp"
#include "touchstone/model/state.hpp"

namespace touchstone {

// Adds to data.smooth_force what makes the motion of a step h of every free body (Model::free_joints), welded parts
// included, that of the rule above. Needs compute_smooth_force (M, bias). Bodies with armature, with more joints or in
// loops keep the torque of the start, so that reduced and maximal coordinates have the same accelerations.
void conserve_spin(const Model& model, const Parameters& parameters, const State& state, double h, Data& data);

// Of a joint in Model::free_joints: whether its spin is conserved. Armature may be given while running.
bool conserves_spin(const Model& model, const Parameters& parameters, int joint);
// Of a free joint with the first dof `dof`, alone in its tree: the inertia about the centre of mass, body frame.
Matrix3 central_inertia(const Model& model, const VectorX& M, int dof);

// w' of a body with the inertia I about its centre of mass and the angular velocity w, without other torques.
Vector3 next_spin(const Matrix3& I, const Vector3& w, double h);

}  // namespace touchstone
