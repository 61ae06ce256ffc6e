// Poses, dof axes, velocities and accelerations of all bodies; Jacobians; centre of mass, energy, momentum.
#pragma once

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/data.hpp"

namespace touchstone {

// Fills X_WB, reference_point, S, body_com from q and the mocap poses; the second form leaves mocap bodies at their
// reference poses.
void forward_kinematics(const Model& model, const Parameters& parameters, const State& state, Data& data);
void forward_kinematics(const Model& model, const Parameters& parameters, const ConstVectorRef& q, Data& data);

// Fills velocity. Needs forward_kinematics.
void forward_velocity(const Model& model, const ConstVectorRef& v, Data& data);

// Fills acceleration (spatial, without gravity) for the joint accelerations a. Needs forward_velocity with the same v.
void forward_acceleration(const Model& model, const ConstVectorRef& v, const ConstVectorRef& a, Data& data);

// --- quantities of bodies and points, read from the workspace ---

Transform body_pose(const Data& data, int body);
Transform site_pose(const Model& model, const Data& data, int site);
Transform shape_pose(const Model& model, const Data& data, int shape);

// Velocity of the body-fixed point at p (world).
inline Vec3 velocity_at(const Model& model, const Data& data, int body, Vec3 p) {
  const int tree = model.body_kernels[at(body)].tree;
  if (tree < 0) return {};
  const Motion& v = data.velocity[at(body)];
  return v.linear + cross(v.angular, p - data.reference_point[at(tree)]);
}

// [linear; angular] velocity of the body-fixed point at `point` (world), world axes.
Vector6 point_velocity(const Model& model, const Data& data, int body, const Vector3& point);
// [linear; angular] classical acceleration (d/dt of point_velocity following the material point).
Vector6 point_acceleration(const Model& model, const Data& data, int body, const Vector3& point);

// 6 x nv, rows [linear; angular], world axes: point_velocity = J v. Columns of dofs that do not move the body are zero.
void point_jacobian(const Model& model, const Data& data, int body, const Vector3& point, Eigen::Ref<Matrix6X> J);
// Its time derivative following the material point: point_acceleration = J a + Jdot v. Needs forward_velocity with v.
void point_jacobian_dot(const Model& model, const Data& data, const ConstVectorRef& v, int body, const Vector3& point,
                        Eigen::Ref<Matrix6X> J_dot);

// In the axes of the body and at its origin ("local" in Pinocchio's words): J_B = [R' J_lin; R' J_ang].
void body_jacobian_local(const Model& model, const Data& data, int body, Eigen::Ref<Matrix6X> J);
// A site's: at its origin, world axes.
void site_jacobian(const Model& model, const Data& data, int site, Eigen::Ref<Matrix6X> J);

// --- whole model ---

Vector3 center_of_mass(const Model& model, const Parameters& parameters, const Data& data);
// 3 x nv. Needs crba (its composite inertias).
void center_of_mass_jacobian(const Model& model, const Parameters& parameters, const Data& data,
                             Eigen::Ref<Eigen::Matrix3Xd> J);
// Gravitational energy (zero at the world's origin) plus that of joint and tendon springs; the form with a state adds
// the springs of loop joints. Needs forward_kinematics.
double potential_energy(const Model& model, const Parameters& parameters, const ConstVectorRef& q, const Data& data);
double potential_energy(const Model& model, const Parameters& parameters, const State& state, const Data& data);
// Includes armature. Needs forward_velocity.
double kinetic_energy(const Model& model, const Parameters& parameters, const ConstVectorRef& v, const Data& data);

struct Momentum {
  Vector3 linear;   // kg m/s
  Vector3 angular;  // kg m^2/s, about `about`
};
// Of all moving bodies (without armature). Needs forward_velocity.
Momentum momentum(const Model& model, const Parameters& parameters, const Data& data, const Vector3& about);

}  // namespace touchstone
