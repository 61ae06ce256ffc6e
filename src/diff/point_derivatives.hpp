// Analytic derivatives of the kinematics of points of bodies: of velocity, acceleration and Jacobian, by q and v. In
// the tangent space of the configuration manifold (dynamics_derivatives.hpp); the point moves with its body.
#pragma once

#include "touchstone/diff/axis_rates.hpp"
#include "touchstone/dynamics/data.hpp"

namespace touchstone {

using Matrix6XRef = Eigen::Ref<Matrix6X>;

// Rows are [linear; angular] in world axes, as those of point_velocity and point_acceleration (the classical one),
// columns are dofs; by v and by a these have the Jacobian (dynamics/kinematics.hpp), accelerations by v: below.
class PointDerivatives {
 public:
  explicit PointDerivatives(const Model& model) : rates_(model) {}

  // Velocities and accelerations of all bodies, in data.velocity and data.acceleration (without gravity). Needs
  // forward_kinematics; so do the queries below, for the same v and a.
  void compute(const Model& model, const ConstVectorRef& v, const ConstVectorRef& a, Data& data);

  void velocity(const Model& model, const Data& data, int body, const Vector3& point, Matrix6XRef by_q) const;
  void acceleration(const Model& model, const Data& data, int body, const Vector3& point, Matrix6XRef by_q,
                    Matrix6XRef by_v) const;

 private:
  AxisRates rates_;
};

// dJ/dq_k of point_jacobian: the derivative of the Jacobian when the configuration moves along dof k. Needs
// forward_kinematics.
void point_jacobian_derivative(const Model& model, const Data& data, int body, const Vector3& point, int k,
                               Matrix6XRef by_q_k);

}  // namespace touchstone
