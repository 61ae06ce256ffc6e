// Inertial parameters of bodies: the linear form that forces depend on linearly (tau = Y pi), and a form that is
// physical whatever its numbers, for identification and learning.
#pragma once

#include "touchstone/dynamics/data.hpp"

namespace touchstone {

inline constexpr int kInertialParameters = 10;
using Vector10 = Eigen::Matrix<double, kInertialParameters, 1>;
using Matrix10 = Eigen::Matrix<double, kInertialParameters, kInertialParameters>;

// pi = [m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz]: moments about the origin of the body, in its axes (Pinocchio's
// order). m must be positive on the way back.
Vector10 inertial_parameters(const BodyInertia& inertia);
BodyInertia body_inertia(const Vector10& parameters);

// The log-Cholesky form (Rucker and Wensing, "Smooth Parameterization of Rigid-Body Inertia", RA-L 2022): every theta
// in R^10 is a body with positive mass and a moment of inertia that some distribution of matter has.
//   theta = [alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3]
//   U = e^alpha [e^d1 s12 s13 t1; 0 e^d2 s23 t2; 0 0 e^d3 t3; 0 0 0 1],   int [r; 1] [r; 1]' dm = U U'
// If `by_theta` is not null: d pi / d theta.
Vector10 from_log_cholesky(const Vector10& theta, Matrix10* by_theta = nullptr);
// Throws Error for parameters that no body with volume has (a point, a rod, a triangle inequality that is violated).
Vector10 to_log_cholesky(const Vector10& parameters);

// The regressor Y (nv x 10 nbody): rnea's tau = Y(q, v, a) pi, pi of all bodies one after another (the world first,
// whose columns are zero). So it is also dtau/dpi, and -M^-1 Y is the derivative of forward dynamics. Computes
// kinematics, velocities and accelerations on the way.
void regressor(const Model& model, const Parameters& parameters, const ConstVectorRef& q, const ConstVectorRef& v,
               const ConstVectorRef& a, Data& data, Eigen::Ref<MatrixX> Y);

}  // namespace touchstone
